// SPDX-License-Identifier: Apache-2.0
// Syntax tree of a rule file: what was written and where, nothing resolved. `parse_rules.h` makes it, `sema/` reads it.
//
// Words that stand for one of a few (`join any`, `limit depth 8`, `test ok`) are kept as words; sema knows which exist.
// Expressions and patterns are at most kMaxDepth deep, so recursion over them is safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/support/span.h"

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
    List     ///< [ args ], and the braces behind `in`
  };
  Kind kind = Kind::Number;
  double number = 0;
  std::string text;
  Span text_span;  ///< of the function's, attribute's or operator's name
  std::vector<ExprAst> args;
  Span span;
  int depth = 1;
};

struct PatternAst {
  enum class Kind {
    Value,        ///< `x`, `w: const`, `b?`, `_`, `none`
    Op,           ///< `c = Conv(x, …)`; `optional`: `act?(…)`; several names in `ops`: `(Relu | Sigmoid)(x)`
    Alternatives  ///< `A | B`
  };
  Kind kind = Kind::Value;
  std::optional<Word> capture;  ///< before `=`, or the value's own name
  bool is_const = false;
  bool may_be_absent = false;
  bool optional = false;
  std::vector<Word> ops;
  std::vector<PatternAst> operands;
  bool takes_rest = false;
  std::vector<PatternAst> choices;
  Span span;
  int depth = 1;
};

/// A construct that parses and does not work yet.
struct NotYetAst {
  std::string what;
  Span span;
};

struct LinkPropertyAst {
  Word name;  ///< bandwidth, latency, duplex
  std::optional<NumberAst> value;
};

struct LinkAst {
  Word to;
  std::vector<LinkPropertyAst> properties;
  Span span;
};

struct DeviceAst {
  Word name;
  std::optional<Word> count_word;  ///< `count`
  std::optional<NumberAst> count;
  std::vector<NumberAst> memories;
  std::vector<LinkAst> links;
  std::vector<Word> queues;
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
  std::optional<StringAst> reason;
  std::vector<ExprAst> holes;      ///< the `{…}` of `reason`, in order
  std::vector<std::string> texts;  ///< between them: one more than holes
};

struct FormatItemAst {
  Word value;
  Word layout;  ///< `NHWC`, `any`, or `as` with `same_as`
  std::optional<Word> same_as;
};

struct CostAst {
  ExprAst value;                    ///< the name `measured` means what it says
  std::optional<ExprAst> estimate;  ///< `measured else EXPR`
  Span span;
};

struct LowerArgAst {
  std::optional<Word> name;
  ExprAst value;
};

struct LowerAst {
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

struct TestAst {
  Word kind;  ///< ok, no
  StringAst model;
  std::vector<TypedAst> inputs;
  std::optional<std::vector<Word>> nodes;
  std::optional<StringAst> because;
  Span span;
};

struct MatchAst {
  PatternAst pattern;
  Span span;
};

struct RuleAst {
  Word name;
  std::optional<Word> variable;  ///< `for act in {…}`
  std::vector<Word> members;
  std::vector<MatchAst> matches;
  std::vector<WhereAst> clauses;
  std::vector<FormatItemAst> formats;
  std::vector<CostAst> costs;
  std::vector<LowerAst> lowerings;
  std::vector<TestAst> tests;
  std::vector<Word> knobs;
  std::vector<NotYetAst> not_yet;
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
  std::vector<NotYetAst> not_yet;
  Span span;  ///< of the keyword
};

struct BackendAst {
  Word name;
  std::optional<Word> version_word;
  std::optional<NumberAst> version;
  std::vector<DeviceAst> devices;
  std::vector<AttrDeclAst> attrs;
  std::vector<RuntimeAst> runtimes;
  std::vector<Word> conflicts;
  std::vector<Word> default_formats;
  std::vector<RuleAst> rules;
  std::vector<PolicyAst> partitions;
  std::vector<NumberAst> max_partitions;
  std::vector<NotYetAst> not_yet;
};

struct RulesAst {
  std::vector<BackendAst> backends;
  std::vector<NotYetAst> not_yet;
};

}  // namespace collage::syntax
