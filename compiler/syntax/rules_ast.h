// SPDX-License-Identifier: Apache-2.0
// Syntax tree of a rule file: what was written and where, nothing resolved. `parse_rules.h` makes it, `sema/` reads it.
//
// Words that stand for one of a few (`join any`, `limit depth 8`, `test ok`) are kept as words; sema knows which exist.
// Expressions and patterns are at most kMaxDepth deep, so recursion over them is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/syntax/format_ast.h"
#include "runtime/support/span.h"

namespace collage::syntax {

using support::Span;

struct Word {
  std::string text;
  Span span;
};

/// `"…"` or `"""…"""`: escapes resolved in `text`; `span` includes the quotes.
struct StringAst {
  std::string text;
  Span span;
};

/// `8`, `2.5 us`, `4 GB/s`: the number in the unit as written.
struct NumberAst {
  double value = 0;
  std::string unit;
  Span span;
  std::optional<int64_t> whole;  ///< the exact value, where neither a point nor an exponent is written and it fits
};

struct ExprAst {
  enum class Kind {
    Number,  ///< `number` and `text`, its unit
    String,  ///< `text`
    Name,    ///< `text`
    Member,  ///< args[0] . text
    Index,   ///< args[0] [ args[1] ]
    Call,    ///< text ( args )
    Unary,   ///< `text`: - or not
    Binary,  ///< `text`: + - * / % == != < <= > >= and or in
    List,    ///< [ args ], and the braces after `in`
    If       ///< if args[0] then args[1] else args[2]
  };
  Kind kind = Kind::Number;
  double number = 0;
  std::optional<int64_t> whole;  ///< as in NumberAst
  std::string text;
  Span text_span;  ///< of the function's, attribute's or operator's name
  std::vector<ExprAst> args;
  Span span;
  int depth = 1;
};

/// `{1, 3}`, and `*` without numbers.
struct RepeatAst {
  std::vector<NumberAst> bounds;
  Span span;
};

struct PatternAst {
  enum class Kind {
    Value,  ///< `x`, `w: const`, `b?`, `_`, `none`
    Op,  ///< `c = Conv(x, …)`; `optional`: `act?(…)`; several names in `ops`: `(Relu | Sigmoid)(x)`; the name may
         ///< also be that of a `def`
    Alternatives,  ///< `A | B`
    Via            ///< `via elementwise{0, 4}(e)`: `ops`, `repeat`, operands[0]
  };
  Kind kind = Kind::Value;
  std::optional<Word> capture;  ///< before `=`, or the value's own name
  std::vector<Word> results;    ///< Op: `(a, _) = Split(x)`
  bool is_const = false;
  bool may_be_absent = false;
  bool optional = false;
  std::optional<RepeatAst> repeat;  ///< Op, Via: `Relu{1, 3}(x)`
  bool is_each = false;             ///< as an operand: `each Relu(_)`
  std::vector<Word> ops;
  std::vector<PatternAst> operands;
  bool takes_rest = false;
  std::optional<Word> rest;  ///< `rest = ..`, `rest = each Relu(_)`
  std::vector<PatternAst> choices;
  Span span;
  int depth = 1;
};

/// `def act = Relu | Clip`, `def conv_bias(x, w) = …`
struct DefAst {
  Word name;
  bool has_params = false;
  std::vector<Word> params;
  PatternAst body;
};

/// `"{dim(x, 1)} channels"`
struct MessageAst {
  StringAst source;
  std::vector<ExprAst> holes;      ///< the `{…}`, in order
  std::vector<std::string> texts;  ///< between them: one more than holes
};

/// `let n = dim(x, 1)`, `let share(x) = …`, `def where aligned(x) = … else "…"`
struct NamedExprAst {
  Word name;
  bool has_params = false;
  std::vector<Word> params;
  ExprAst value;
  bool is_condition = false;         ///< `def where`
  std::optional<MessageAst> reason;  ///< of a condition
};

/// `needs "onednn" >= "2.6"`, `needs other`
struct NeedsAst {
  Word name;
  std::optional<Word> comparison;
  std::optional<StringAst> version;
  Span span;
};

struct LinkPropertyAst {
  Word name;  ///< bandwidth, latency, duplex
  std::optional<NumberAst> value;
};

/// `link host bandwidth 4 GB/s`, `link torus(4, 8) bandwidth 100 GB/s`
struct LinkAst {
  Word to;
  std::optional<std::vector<NumberAst>> shape;  ///< the numbers in parentheses
  std::vector<LinkPropertyAst> properties;
  Span span;
};

struct DeviceAst {
  Word name;
  std::optional<NumberAst> count;
  std::vector<NumberAst> memories;
  std::vector<std::pair<Word, NumberAst>> named_memories;
  std::vector<LinkAst> links;
  std::vector<Word> queues;
  std::vector<NumberAst> powers;
  std::vector<NumberAst> launches;
  std::vector<NumberAst> scratches;
  std::vector<Word> precisions;
};

/// `switch pcie { link host bandwidth 16 GB/s }`
struct SwitchAst {
  Word name;
  std::vector<LinkAst> links;
};

/// `devices npu 2`
struct HostDevicesAst {
  Word device;
  NumberAst count;
};

/// `host count 2 { memory 16 GiB devices npu 2 link lan bandwidth 10 GB/s }`
struct HostAst {
  std::optional<NumberAst> count;
  std::vector<NumberAst> memories;
  std::vector<HostDevicesAst> devices;
  std::vector<LinkAst> links;
  Span span;  ///< of the keyword
};

struct ClusterAst {
  Word name;
  std::vector<HostAst> hosts;
};

struct AttrDeclAst {
  Word name;
  Word type;
  std::optional<ExprAst> fallback;
  std::vector<ExprAst> allowed;
};

struct RuntimeAst {
  Word kind;
  std::optional<StringAst> library;
};

struct WhereAst {
  ExprAst condition;
  std::optional<MessageAst> reason;
};

struct FormatItemAst {
  Word value;
  FormatParts format;  ///< empty with `same_as`; `packed` with `packed_for`
  std::optional<Word> same_as;
  std::optional<StringAst> packed_for;
};

/// `EXPR`, `measured` or `exec "PROGRAM"`, and any number of `else EXPR` after it
struct CostAst {
  std::vector<ExprAst> values;  ///< the first may be the name `measured`
  std::optional<StringAst> program;
  Word source;  ///< with `program`: the word before it
  Span span;
};

struct LowerArgAst {
  std::optional<Word> name;
  ExprAst value;
};

struct LowerAst {
  std::optional<Word> kind;  ///< `inline`, `c`, …; absent: that of the backend's runtime
  StringAst symbol;
  bool has_args = false;
  std::vector<LowerArgAst> args;
  Span span;
};

/// `x: f32[1, 2]`, `w: const f32[3]`
struct TypedAst {
  Word name;
  std::optional<Word> qualifier;
  Word dtype;
  std::vector<NumberAst> dims;
  Span span;
};

/// What a `test ok` says of its match after the nodes.
struct ExpectationAst {
  enum class Kind {
    By,     ///< `by direct{tile = 16}`: `name`, `knobs`
    Cost,   ///< `cost <= 2 us`: the comparison in `name`, `number`
    Lower,  ///< `lower "conv"`: `text`
    Format  ///< `format x: NHWC`: `name`, `format`
  };
  Kind kind = Kind::By;
  Word name;
  std::vector<std::pair<Word, ExprAst>> knobs;
  NumberAst number;
  StringAst text;
  FormatParts format;
  Span span;
};

struct TestAst {
  Word kind;  ///< ok, no
  StringAst model;
  std::vector<TypedAst> inputs;
  std::optional<std::vector<Word>> nodes;
  std::optional<StringAst> because;
  std::vector<ExpectationAst> expectations;
  Span span;
};

struct MatchAst {
  std::vector<PatternAst> patterns;
  Span span;
};

/// `inner c uses 1`
struct InnerAst {
  Word name;
  std::optional<NumberAst> uses;
};

/// `split c along channels, rows into devices(npu)`
struct SplitAst {
  Word name;
  std::vector<Word> axes;
  Word device;
  Span span;
};

/// `knob tile in {8, 16, 32}`
struct KnobAst {
  Word name;
  std::vector<ExprAst> values;
};

/// `workspace sram = bytes(x) + 4 KiB`
struct WorkspaceAst {
  Word memory;
  ExprAst bytes;
  Span span;
};

/// What a rule and each of its kernels may state.
struct KernelAst {
  Word name;
  std::vector<NamedExprAst> lets;
  std::vector<NeedsAst> needs;
  std::vector<WhereAst> clauses;
  std::vector<FormatItemAst> formats;
  std::vector<KnobAst> knobs;
  std::vector<WorkspaceAst> workspaces;
  std::vector<CostAst> costs;
  std::vector<LowerAst> lowerings;
  std::optional<Word> definition;  ///< `kernel NAME(args)`: the rest is what `def kernel` says
  std::vector<ExprAst> args;
  Span span;
};

/// `def kernel dense(x, w) { … }`
struct KernelDefAst {
  std::vector<Word> params;
  KernelAst body;
};

/// Operators that are made of names: the right side of a rewrite, what a kernel computes. `Op(t, …) {attr = expr, …}`,
/// a name, a number, or `if condition then t else t`.
struct TemplateAst {
  enum class Kind { Name, Op, Number, If };
  Kind kind = Kind::Name;
  std::optional<Word> bound;  ///< `a = Op(…)`: `a` can stand again
  Word name;
  NumberAst number;
  std::vector<TemplateAst> operands;  ///< of If: both branches
  std::vector<std::pair<Word, ExprAst>> attributes;
  std::optional<ExprAst> condition;  ///< If
  Span span;
  int depth = 1;
};

/// `semantics "conv"(x, w, b?, strides) = Conv(x, w, b) {strides = strides}`
struct SemanticsAst {
  struct Param {
    Word name;
    bool may_be_absent = false;
  };
  StringAst symbol;
  std::vector<Param> params;
  TemplateAst meaning;
};

/// What a file or a backend gives names to.
struct DefinitionsAst {
  std::vector<DefAst> patterns;
  std::vector<NamedExprAst> expressions;
  std::vector<KernelDefAst> kernels;
  std::vector<SemanticsAst> semantics;
};

struct RuleAst {
  Word name;
  std::optional<Word> variable;  ///< `for act in {…}`
  std::vector<Word> members;
  std::vector<NamedExprAst> lets;
  std::vector<MatchAst> matches;
  std::vector<NeedsAst> needs;
  std::vector<WhereAst> clauses;
  std::vector<InnerAst> inners;
  std::vector<SplitAst> splits;
  std::vector<FormatItemAst> formats;
  std::vector<KnobAst> knobs;
  std::vector<WorkspaceAst> workspaces;
  std::vector<CostAst> costs;
  std::vector<ExprAst> energies;
  std::vector<Word> precisions;
  std::vector<LowerAst> lowerings;
  std::vector<KernelAst> kernels;
  std::vector<TestAst> tests;
};

/// `deny PATTERN where EXPR because "…"`
struct DenyAst {
  MatchAst match;
  std::optional<ExprAst> condition;
  MessageAst reason;
  Span span;
};

/// `numerics PATTERN loses nan, inf`
struct LossAst {
  MatchAst match;
  std::vector<Word> lost;
  Span span;  ///< of the keyword
};

/// `rewrite NAME: lhs => rhs when EXPR`, and its tests
struct RewriteAst {
  Word name;
  MatchAst from;
  TemplateAst to;
  std::optional<ExprAst> condition;
  std::vector<TestAst> tests;
};

/// `phase pre { fold_constants, strip_identity }`
struct PhaseAst {
  Word name;  ///< pre, post
  std::vector<Word> passes;
};

struct LimitAst {
  Word name;
  std::optional<NumberAst> number;
  std::optional<Word> word;
};

struct PolicyAst {
  std::vector<Word> joins;
  std::vector<LimitAst> limits;
  std::vector<Word> never_starts;
  std::vector<NumberAst> launches;
  std::vector<CostAst> costs;
  std::vector<Word> coalesces;
  Span span;  ///< of the keyword
};

struct BackendAst {
  Word name;
  std::optional<NumberAst> version;
  std::vector<DeviceAst> devices;
  std::vector<AttrDeclAst> attrs;
  std::vector<RuntimeAst> runtimes;
  std::vector<NeedsAst> needs;
  std::vector<Word> conflicts;
  std::vector<FormatParts> default_formats;
  std::vector<PhaseAst> phases;
  DefinitionsAst defs;
  std::vector<DenyAst> denies;
  std::vector<LossAst> losses;
  std::vector<RewriteAst> rewrites;
  std::vector<RuleAst> rules;
  std::vector<PolicyAst> partitions;
  std::vector<NumberAst> max_partitions;
  std::vector<NumberAst> powers;
};

struct RulesAst {
  std::vector<StringAst> includes;
  DefinitionsAst defs;
  std::vector<SwitchAst> switches;
  std::vector<ClusterAst> clusters;
  std::vector<BackendAst> backends;
};

}  // namespace collage::syntax
