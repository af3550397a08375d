// SPDX-License-Identifier: Apache-2.0
// Rule files after sema: backends, devices, rules, and how partitions grow. grammar/rules.md gives the meanings.
//
// A RuleSet is checked: names resolve, types and units fit. It holds what was registered (`-r`); which backends are
// active is the driver's business.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/ir/placement/split.h"
#include "compiler/ir/rules/cluster.h"
#include "compiler/ir/rules/expr.h"
#include "compiler/ir/rules/link.h"
#include "compiler/ir/rules/pattern.h"
#include "compiler/ir/rules/runtimes.h"
#include "compiler/ir/rules/template.h"
#include "runtime/core/attributes.h"

namespace collage::ir {

/// What floats are rounded to before and after each operator: F16 or BF16.
using Precision = runtime::StorageType;

/// `memory sram 512 KiB`: beside the one that values lie in.
struct NamedMemory {
  std::string name;
  double bytes = 0;
  support::Span span;

  friend bool operator==(const NamedMemory& a, const NamedMemory& b) { return a.name == b.name && a.bytes == b.bytes; }
};

struct DeviceDecl {
  std::string name;
  int count = 1;
  std::optional<double> memory_bytes;
  std::optional<double> power;  ///< watts, while it works
  std::vector<Link> links;
  std::vector<std::string> queues;
  support::Span span;
  Duration launch{};                      ///< what every launch costs
  std::optional<double> scratch_bytes{};  ///< memory beside the arithmetic, for one tile at a time
  std::optional<Precision> precision{};   ///< of rules that state none
  std::vector<NamedMemory> memories{};    ///< for workspaces
  /// By instance: the number of the host at which it stands, which `host` in its links means; empty: all at the first.
  std::vector<int> hosts{};
};

/// `switch pcie { link host bandwidth 16 GB/s }`: joins links, and holds no bytes.
struct SwitchDecl {
  std::string name;
  std::vector<Link> links;
  support::Span span;
};

struct AttrDecl {
  std::string name;
  ExprType type = ExprType::Number;  ///< Number, Bool or String
  Unit unit = Unit::None;            ///< of a Number, which then is a double in SI
  bool is_integer = false;           ///< of a Number; it and a Bool are held as int64
  runtime::AttrValue fallback;
  std::vector<runtime::AttrValue> allowed;  ///< empty: anything of the type
  support::Span span;
};

/// A name bound by a pattern. May be absent where it stands under `?` or in some alternatives only.
struct Capture {
  std::string name;
  ExprType type = ExprType::Value;  ///< Value, Node or Values. A Node used as a value is its first result.
  bool may_be_absent = false;
  support::Span span;
  int first_operand = -1;  ///< Values: the first operand of its node that it stands for; it is bound to the node
};

/// `where CONDITION else "text {expr}"`. Holds if a capture in it is absent.
struct Clause {
  Expr condition;
  std::vector<std::variant<std::string, Expr>> reason;  ///< pieces of the message; empty: the condition's own text
  std::string source;                                   ///< the condition as written
  support::Span span;
  bool is_workspace = false;  ///< `workspace sram = EXPR`, as EXPR <= size: what speaks of an absent capture counts 0
};

/// `needs "onednn" >= "2.6"`, `needs other`
struct Need {
  bool is_library = false;  ///< else a backend
  std::string name;
  std::string comparison;  ///< `>=` and its like; empty: it must be there, in whatever version
  std::string version;
  support::Span span;
};

/// `inner c uses 1`: read inside the match only, and so often where that is said.
struct Inner {
  int capture = -1;
  std::optional<int> uses;
  support::Span span;
};

/// `split c along channels into devices(npu)`: the match may also run cut along an axis of `c`, on several instances
/// of the device at once.
struct SplitClause {
  int capture = -1;
  SplitAxis axis = SplitAxis::Batch;
  std::string device;
  support::Span span;         ///< of the axis
  support::Span device_span;  ///< of the device's name
};

/// `knob tile in {8, 16}`: the backend's own choice; the cheapest value is taken.
struct Knob {
  std::string name;
  ExprType type = ExprType::Number;  ///< Number, Bool or String
  Unit unit = Unit::None;
  std::vector<runtime::AttrValue> values;
  support::Span span;
};

/// Format of one boundary value of a match: `x: NHWC f16`, `y: as x`; of all that no other clause names: `_: NHWC`.
struct FormatClause {
  int capture = -1;                           ///< -1: of the values without a clause
  bool any = false;                           ///< reads whatever plain layout it gets
  std::optional<std::string> layout{};        ///< nothing: the backend's
  std::optional<runtime::Storage> storage{};  ///< nothing: the backend's
  int same_as = -1;                           ///< capture; -1: the others count
  support::Span span;
};

/// True if both say the same of the same value, wherever they stand.
bool is_same(const FormatClause& a, const FormatClause& b);

struct LoweringArg {
  std::string name;
  int capture = -1;  ///< or an expression:
  std::optional<Expr> value;
  std::string encoding{};  ///< of a captured constant: `encode(w, "OHWI")`, a chain as in runtime/encodings
  support::Span span{};
};

/// An operand of a kernel with `semantics`: `b?` may be absent.
struct KernelParameter {
  std::string name;
  bool may_be_absent = false;
};

struct Lowering {
  LoweringKind kind = LoweringKind::HostJit;
  std::string symbol;  ///< what the runtime is asked for; of Inline the library, of C the function
  std::vector<LoweringArg> args;
  support::Span span;
  std::optional<Template> meaning{};          ///< what the runtime computes for it; absent: what the pattern means
  std::vector<KernelParameter> parameters{};  ///< of the `semantics` that say so, as they declare them

  /// Index into `parameters`; -1 if there is none of this name.
  int find_parameter(std::string_view name) const;
};

/// One way to run a match. What it does not state itself is the rule's: cost, lowering; knobs and the clauses that use
/// them come on top of the rule's. A rule that has no `kernel` is one without a name.
struct Kernel {
  std::string name;
  std::vector<Need> needs;
  std::vector<Clause> clauses;
  std::vector<Knob> knobs;
  std::optional<Expr> cost;  ///< as Rule::cost
  bool measured = false;
  std::string cost_program{};  ///< that is asked, where it is `measured` by one
  Lowering lowering;
  support::Span span;
  std::vector<FormatClause> formats{};  ///< its own, and the rule's of values that these do not name
  int format_group = 0;                 ///< kernels of one group have the same formats; matches are one per group
};

/// What a test says of its match besides the nodes: `by wide{tile = 16}`, `cost <= 2 us`, `lower "conv"`,
/// `format x: NHWC`.
struct Expectation {
  enum class Kind { By, Cost, Lower, Format };
  Kind kind = Kind::By;
  std::string name;  ///< By: of the kernel; Format: of the value
  std::vector<std::pair<std::string, runtime::AttrValue>> knobs;
  ExprOp comparison{};
  double seconds = 0;
  std::string text;  ///< Lower: the symbol, or the whole call
  std::optional<std::string> layout;
  std::optional<runtime::Storage> storage;
  support::Span span;
};

/// `test ok "model text" with x: f32[…] -> {%c, %y}` or `test no "…" with … because "reason"`.
struct RuleTest {
  bool expects_match = true;
  std::string model;  ///< statements
  std::vector<std::pair<std::string, TensorType>> inputs;
  std::vector<std::string>
      constants;                   ///< inputs that are constants: `w: const f32[…]`, or named like a `const` capture
  std::vector<std::string> nodes;  ///< names without `%`; of a `no` those that do not match, or none for any
  std::string because;             ///< no: must occur in the first failing clause's message
  std::vector<Expectation> expectations{};  ///< ok
  support::Span span;
  support::Span model_span;  ///< of the string literal
};

struct Rule {
  std::string name;    ///< unique in its backend; a family's members are `conv_act.Relu`
  std::string family;  ///< `conv_act`; the name itself where there is no `for`. A family's tests are
                       ///< those of each member and hold if they do for the family as a whole.
  Pattern root;
  std::vector<Pattern> others;  ///< further patterns of `match`: each shares a name with one before it. The roots of
                                ///< all are results, and distinct nodes.
  std::vector<Capture> captures;
  std::vector<Need> needs;
  std::vector<Clause> clauses;  ///< those without a knob; the others are the kernels'
  std::vector<Inner> inners;
  std::vector<FormatClause> formats;  ///< what kernels inherit
  std::vector<SplitClause> splits;    ///< one per axis
  std::vector<Kernel> kernels;  ///< at least one; the cheapest whose needs and clauses hold runs, the first of equals
  std::optional<Expr> cost;     ///< a Time; the estimate where `measured` has one; absent: `measured` alone, or nothing
  std::optional<Expr> energy;   ///< an Energy: what one match takes
  std::optional<Precision> precision{};  ///< in which it computes; absent: the model's dtypes
  bool measured = false;
  std::string cost_program{};
  Lowering lowering;  ///< this, `measured` and `cost` are what kernels inherit
  std::vector<RuleTest> tests;
  support::Span span;  ///< of its name

  int find_capture(std::string_view name) const;
};

/// `deny PATTERN where … because "…"`: no match and no candidate of the backend may hold all nodes of one.
struct Deny {
  Rule pattern;  ///< its clause is the `where`
  std::vector<std::variant<std::string, Expr>> reason;
  support::Span span;

  /// Whether its `where` asks what the machine is (functions.h): tests in the rule file cannot show what it is for.
  bool asks_machine() const;
};

/// `numerics PATTERN loses nan, inf`: what the backend makes of special values in these nodes. --numerics=strict denies
/// them, and so does each setting where the model tests for the value (ir/analysis/value_tests.h). The reason says what
/// becomes of the values.
struct Loss : Deny {
  bool nan = false;
  bool inf = false;
};

/// `rewrite NAME: from => to when CONDITION`: wherever `from` matches, its result may be computed by `to` as well.
struct Rewrite {
  std::string name;  ///< unique in its backend
  Rule from;         ///< the pattern, its captures, the condition as a clause, and the tests
  Template to;
  support::Span span;  ///< of its name
};

/// A vetted pass, or a rewrite of the backend.
struct PhaseItem {
  std::string pass;
  support::Span span;
};

struct Phase {
  bool is_post = false;
  std::vector<PhaseItem> items;
  support::Span span;  ///< of its name
};

enum class JoinKind {
  None,   ///< a candidate is one match
  Chain,  ///< matches joined along producer -> consumer where the value has one reader
  Any,    ///< any connected union
  Kinds   ///< by the fusion kinds of RFC 62: A -> B, B -> R, I -> I
};

struct PartitionPolicy {
  JoinKind join = JoinKind::None;
  int max_depth = 0;                       ///< nodes on the longest path; 0: no limit
  int max_exits = 1;                       ///< nodes with a result that is read outside; 0: no limit
  int max_ops = 0;                         ///< 0: no limit
  bool taps = false;                       ///< a result may be read inside and outside
  std::vector<const OpDef*> never_starts;  ///< no node that reads an outside, non-constant value is one of these
  Duration launch;
  std::optional<Expr> cost;  ///< absent: launch + sum(rules), or unknown where it is `measured`
  bool measured = false;     ///< `cost` then is the estimate
  std::string cost_program{};
  bool coalesce = false;
  support::Span span;
};

struct Backend {
  std::string name;
  int version = 1;
  std::string file;
  std::vector<DeviceDecl> devices;  ///< empty: works in host memory
  std::vector<AttrDecl> attrs;
  RuntimeKind runtime = RuntimeKind::HostJit;
  std::string library;  ///< Library, Plugin: its name
  std::vector<Need> needs;
  std::vector<std::string> conflicts;
  std::vector<support::Span> conflict_spans{};  ///< of each
  std::string default_layout = "plain";         ///< of operands and results that no format clause names
  std::optional<Storage> default_storage{};     ///< of floats whose format clause names none
  std::vector<Phase> phases;                    ///< at most one `pre` and one `post`
  std::vector<Rewrite> rewrites;
  std::vector<Rule> rules;
  std::vector<Deny> denies;
  std::vector<Loss> losses;
  PartitionPolicy policy;
  std::string cost_program{};  ///< that says what is `measured`; empty: this machine does
  std::optional<int> max_partitions;
  support::Span max_partitions_span{};
  std::optional<double> power;  ///< watts, of what runs its partitions in host memory
  support::Span span;           ///< of its name
  /// All that the rule set declares, one list for its backends; null: none.
  std::shared_ptr<const std::vector<SwitchDecl>> switches{};
  /// That the rule set declares; null: there is one host. What works in host memory can then run on each of them.
  std::shared_ptr<const Cluster> cluster{};

  const AttrDecl* find_attr(std::string_view name) const;
  const Rewrite* find_rewrite(std::string_view name) const;
  /// Null if the backend does not state it.
  const Phase* find_phase(bool is_post) const;
  /// Where its partitions can run: `npu[0]`, `npu[1]`, …; where it has no device `host`, and `host[1]`, … of a cluster.
  std::vector<std::string> instances() const;
  /// What a launch costs beside what `partition` says. Devices of a backend have the same, and as much scratch.
  Duration device_launch() const { return devices.empty() ? Duration() : devices.front().launch; }
  std::optional<double> scratch_bytes() const { return devices.empty() ? std::nullopt : devices.front().scratch_bytes; }
  /// Null if its devices have no memory of this name.
  const NamedMemory* find_memory(std::string_view name) const;
};

/// Returns whether the backend is a model of a chip: no device runs its partitions, and its times are what its rule
/// file says.
bool is_simulated(const Backend& backend);

/// `NHWC f16`, `any`: what a clause without `as` asks for, the backend's defaults included.
std::string format_text(const FormatClause& clause, const Backend& backend);
std::string default_format_text(const Backend& backend);

struct RuleSet {
  std::vector<Backend> backends;  ///< in the order of registration
  std::vector<SwitchDecl> switches{};
  std::shared_ptr<const Cluster> cluster{};  ///< null: one host; every backend has the same

  const Backend* find(std::string_view backend) const;
};

}  // namespace collage::ir
