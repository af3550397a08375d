// SPDX-License-Identifier: Apache-2.0
// Checks one node against its operator's schema and runs the shape function. Inferred types are safe to use: every
// dimension is >= 0, and element counts and byte sizes stay far from overflow.
#include "compiler/ir/analysis/infer.h"

#include "runtime/core/text.h"
#include "runtime/support/check.h"

namespace collage::ir {
namespace {

using support::Code;

class NodeInference final : public InferContext {
 public:
  NodeInference(const Graph& graph, const OpDef& op, const std::vector<ValueId>& inputs, const AttrMap& attrs,
                size_t result_count, const NodeSource& source, support::Diagnostics& diags)
      : graph_(graph),
        op_(op),
        inputs_(inputs),
        attrs_(attrs),
        source_(source),
        diags_(diags),
        results_(result_count) {}

  std::optional<std::vector<TensorType>> run() {
    if (!check_arity() || !check_attrs() || !check_operands()) return std::nullopt;
    if (!op_.infer(*this)) {
      COLLAGE_CHECK(reported_, "the shape function of {} failed without a word", op_.name);
      return std::nullopt;
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      if (std::optional<std::string> problem = type_problem(results_[i])) {
        report(Code::ShapeMismatch, source_.node, fmt::format("result {} of `{}` {}", i, op_.name, *problem));
        return std::nullopt;
      }
    }
    return std::move(results_);
  }

  size_t input_count() const override { return inputs_.size(); }
  bool has_input(size_t i) const override { return i < inputs_.size() && inputs_[i].is_valid(); }
  const TensorType& input(size_t i) const override { return graph_.value(inputs_[i]).type; }
  const Tensor* constant(size_t i) const override {
    const Value& value = graph_.value(inputs_[i]);
    return value.constant ? &value.constant->data : nullptr;
  }
  AttrView attrs() const override { return {op_, attrs_}; }
  size_t output_count() const override { return results_.size(); }
  void set_output(size_t i, TensorType type) override {
    if (i < results_.size()) results_[i] = std::move(type);
  }

  bool shape_error(size_t i, std::string message) override {
    return report(Code::ShapeMismatch, operand_span(i), about_operand(i, std::move(message)));
  }
  bool type_error(size_t i, std::string message) override {
    return report(Code::TypeMismatch, operand_span(i), about_operand(i, std::move(message)));
  }
  bool attr_error(std::string_view attr, std::string message) override {
    return report(Code::BadAttribute, attr_span(attr), fmt::format("{}: {}", op_.name, message));
  }
  bool not_constant(size_t i) override {
    return report(Code::NotConstant, operand_span(i),
                  fmt::format("operand {} of `{}` determines a shape and must be a constant", i, op_.name));
  }

 private:
  bool check_arity() {
    size_t most = static_cast<size_t>(op_.max_inputs);
    if (inputs_.size() < static_cast<size_t>(op_.min_inputs) || inputs_.size() > most) {
      return report(Code::WrongArity, source_.node,
                    fmt::format("`{}` takes {}, found {}", op_.name,
                                count_text(op_.min_inputs, op_.max_inputs, "operand"), inputs_.size()));
    }
    for (size_t i = 0; i < static_cast<size_t>(op_.min_inputs); ++i) {
      if (!has_input(i)) {
        return report(Code::WrongArity, operand_span(i),
                      fmt::format("operand {} of `{}` cannot be left out", i, op_.name));
      }
    }
    if (op_.max_inputs == OpDef::kVariadic) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!has_input(i)) {
          return report(Code::WrongArity, operand_span(i),
                        fmt::format("operand {} of `{}` cannot be left out", i, op_.name));
        }
      }
    }
    if (results_.size() < static_cast<size_t>(op_.min_outputs) ||
        results_.size() > static_cast<size_t>(op_.max_outputs)) {
      return report(Code::WrongArity, source_.node,
                    fmt::format("`{}` has {}, found {}", op_.name,
                                count_text(op_.min_outputs, op_.max_outputs, "result"), results_.size()));
    }
    return true;
  }

  bool check_attrs() {
    bool fine = true;
    for (const auto& [name, value] : attrs_) {
      const AttrDef* def = op_.find_attr(name);
      if (def == nullptr) {
        std::vector<std::string> known;
        for (const AttrDef& attr : op_.attrs) known.emplace_back(attr.name);
        std::string near = support::closest(name, known);
        fine = report(Code::BadAttribute, attr_span(name), fmt::format("`{}` has no attribute `{}`", op_.name, name),
                      near, name);
      } else if (!fits(value, def->kind)) {
        fine = report(Code::BadAttribute, attr_span(name),
                      fmt::format("attribute `{}` of `{}` is {}, needs {}", name, op_.name,
                                  phrase_of(static_cast<AttrKind>(value.index())), phrase_of(def->kind)));
      }
    }
    for (const AttrDef& def : op_.attrs) {
      if (def.is_required() && !attrs_.has(def.name)) {
        fine =
            report(Code::BadAttribute, source_.node, fmt::format("`{}` needs the attribute `{}`", op_.name, def.name));
      }
    }
    return fine;
  }

  /// Rejects huge operands: shape functions multiply dimensions without checks.
  bool check_operands() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!has_input(i)) continue;
      if (std::optional<std::string> problem = type_problem(input(i))) {
        return report(Code::ShapeMismatch, operand_span(i),
                      fmt::format("operand {} of `{}` {}", i, op_.name, *problem));
      }
    }
    return true;
  }

  static bool fits(const runtime::AttrValue& value, AttrKind kind) {
    static_assert(std::variant_size_v<runtime::AttrValue> == 7, "AttrKind follows the alternatives of AttrValue");
    if (kind == AttrKind::Float && std::holds_alternative<int64_t>(value)) return true;
    // `[]` is read as a list of ints.
    bool is_empty_list = std::holds_alternative<runtime::Ints>(value) && std::get<runtime::Ints>(value).empty();
    if (is_empty_list && (kind == AttrKind::Floats || kind == AttrKind::Strings)) return true;
    return value.index() == static_cast<size_t>(kind);
  }

  static std::string count_text(int least, int most, std::string_view noun) {
    if (least == most) return runtime::counted(least, noun);
    if (most == OpDef::kVariadic) return "at least " + runtime::counted(least, noun);
    return fmt::format("{} to {} {}s", least, most, noun);
  }

  std::string about_operand(size_t i, std::string message) const {
    std::string label =
        has_input(i) ? fmt::format("`%{}`", graph_.value(inputs_[i]).name) : fmt::format("operand {}", i);
    return fmt::format("{}, operand {} ({}): {}", op_.name, i, label, message);
  }

  support::Span operand_span(size_t i) const {
    return i < source_.operands.size() && source_.operands[i].is_valid() ? source_.operands[i] : source_.node;
  }

  support::Span attr_span(std::string_view attr) const {
    for (const auto& [name, span] : source_.attrs) {
      if (name == attr && span.is_valid()) return span;
    }
    return source_.node;
  }

  bool report(Code code, support::Span span, const std::string& message, std::string_view near = "",
              std::string_view word = "") {
    reported_ = true;
    if (span.is_valid()) {
      diags_.error(code, span, "{}", message).did_you_mean(near, word);
    } else {
      diags_.error_at(code, source_.where, "{}", message).did_you_mean(near);
    }
    return false;
  }

  const Graph& graph_;
  const OpDef& op_;
  const std::vector<ValueId>& inputs_;
  const AttrMap& attrs_;
  const NodeSource& source_;
  support::Diagnostics& diags_;
  std::vector<TensorType> results_;
  bool reported_ = false;
};

}  // namespace

std::optional<std::string> type_problem(const TensorType& type) {
  constexpr size_t kMaxRank = 64;
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  if (type.shape.size() > kMaxRank)
    return fmt::format("has {} dimensions, at most {} are possible", type.shape.size(), kMaxRank);
  // An extent of 0 must not hide huge ones beside it: strides and partial products are computed, too.
  int64_t bytes = static_cast<int64_t>(size_of(type.dtype));
  for (int64_t dim : type.shape) {
    if (dim < 0) return fmt::format("has shape {}, with a negative dimension", runtime::to_string(type.shape));
    if (__builtin_mul_overflow(bytes, dim > 0 ? dim : 1, &bytes) || bytes > kMaxBytes) {
      return fmt::format("has type {}, which exceeds 1 TiB", to_string(type));
    }
  }
  return std::nullopt;
}

std::optional<std::vector<TensorType>> infer_node(const Graph& graph, const OpDef& op,
                                                  const std::vector<ValueId>& inputs, const AttrMap& attrs,
                                                  size_t result_count, const NodeSource& source,
                                                  support::Diagnostics& diags) {
  return NodeInference(graph, op, inputs, attrs, result_count, source, diags).run();
}

NodeId append_inferred(Graph& graph, const OpDef& op, std::vector<ValueId> inputs, AttrMap attrs,
                       std::vector<std::string> result_names, const NodeSource& source, support::Diagnostics& diags) {
  auto types = infer_node(graph, op, inputs, attrs, result_names.size(), source, diags);
  if (!types) return NodeId();
  return graph.add_node(op, std::move(inputs), std::move(attrs), std::move(result_names), std::move(*types),
                        source.node);
}

}  // namespace collage::ir
