// SPDX-License-Identifier: Apache-2.0
// What a model file says, as written: names unresolved, nothing inferred. Every part keeps its span.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/syntax/format_ast.h"
#include "runtime/core/duration.h"
#include "runtime/support/span.h"

namespace collage::syntax {

/// A name without its `%` or `@`. The absent operand or result `_` has an empty text.
struct Name {
  std::string text;
  support::Span span;
  bool is_absent() const { return text.empty(); }
};

/// `3`, `1.5`, `true`, `"same"`. An integer is unsigned only if it is 2^63 or more.
struct Scalar {
  std::variant<int64_t, double, bool, std::string, uint64_t> value;
  support::Span span;
};

/// `3`, or `seq`: an open dimension, which gets its size when the model is specialised.
struct DimAst {
  int64_t size = 0;
  Name symbol{};  ///< empty: `size` holds

  bool is_open() const { return !symbol.text.empty(); }
};

/// `f32[1, 3]`
struct TypeAst {
  Name dtype;
  std::vector<DimAst> dims;
  support::Span span;
};

/// `dense f32[2] [1.0, 2.0]`
struct DenseAst {
  TypeAst type;
  std::vector<Scalar> elements;
  support::Span span;
};

struct AttrAst {
  Name name;
  std::variant<Scalar, std::vector<Scalar>, DenseAst> value;
  support::Span span;  ///< of the value
};

/// `npu[1]`, `host`: a device, and an instance of it where one is named.
struct InstanceAst {
  Name device;
  std::optional<int64_t> index;
  support::Span span;
};

/// `npu[0] NHWC f16`
struct FormatAst {
  InstanceAst space;
  FormatParts layout;
  support::Span span;
};

/// `%c = Conv(%x, %w, _) {strides = [2, 2]} : f32[1, 8] on npu[0] in @p1`
struct OpAst {
  std::vector<Name> results;
  Name op;
  std::vector<Name> operands;
  std::vector<AttrAst> attrs;
  std::vector<std::optional<TypeAst>> types;  ///< empty: none written; an entry is nothing for `_`
  std::optional<InstanceAst> pin;
  std::optional<Name> partition;
};

struct SplatAst {
  Scalar value;
  TypeAst type;
};
/// `in [-0.5, 0.5]`
struct RangeAst {
  Scalar low;
  Scalar high;
  support::Span span;
};
struct RandomAst {
  Scalar seed;
  std::optional<RangeAst> range;
  TypeAst type;
};
struct FileAst {
  Scalar path;
  std::optional<Scalar> key;
  TypeAst type;
};

/// `%w = const …`
struct ConstAst {
  std::vector<Name> results;
  std::variant<DenseAst, SplatAst, RandomAst, FileAst> form;
};

/// `%x.npu0 = convert %x to npu[0] NHWC cost 8us : f32[1, 8]`
struct ConvertAst {
  std::vector<Name> results;
  Name source;
  FormatAst to;
  std::optional<runtime::Duration> cost;
  std::optional<TypeAst> type;
  support::Span keyword;
};

using BodyStatement = std::variant<OpAst, ConstAst>;

/// `split %c along channels`
struct PartitionSplitAst {
  Name node;
  Name axis;
  support::Span span;
};

/// `%a = partition @p3 on onednn(host) rule "conv_relu" cost 41us (%x) -> (host) { … }`, or without results and
/// body a declaration that operators join by `in @p3`.
struct PartitionAst {
  std::vector<Name> results;
  Name name;
  Name backend;
  std::vector<InstanceAst> instances;  ///< several of a split one
  std::optional<PartitionSplitAst> split;
  std::vector<Scalar> rules;
  std::optional<runtime::Duration> cost;
  bool has_body = false;
  std::vector<Name> inputs;
  std::vector<FormatAst> formats;  ///< of the results; empty: none written
  std::vector<BodyStatement> body;
};

using Statement = std::variant<OpAst, ConstAst, ConvertAst, PartitionAst>;

/// `%x: f32[1, 3]`
struct PortAst {
  Name name;
  TypeAst type;
};

struct ModelAst {
  Name name;
  std::vector<PortAst> inputs;
  std::vector<PortAst> outputs;
  std::vector<Statement> statements;
  bool implicit_outputs =
      false;  ///< the outputs are the results that no operator reads: models in rule tests do not list them
};

}  // namespace collage::syntax
