// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/lowering_misfit.h"

#include <fmt/format.h>

#include "runtime/encodings/encodings.h"

namespace collage::match {
namespace {

/// Why the bound constant cannot be encoded; empty if it can, or is absent.
std::string encoding_obstacle(const ir::LoweringArg& arg, const EvalContext& context) {
  const ValueId id = context.bindings[static_cast<size_t>(arg.capture)].value;
  if (arg.encoding.empty() || !id.is_valid()) return "";
  const ir::Value& value = context.graph.value(id);
  if (!value.is_constant()) return fmt::format("`%{}` is no constant to encode", value.name);
  const std::string misfit = runtime::encoding_misfit(value.type.dtype, value.type.shape, arg.encoding);
  return misfit.empty() ? "" : fmt::format("`%{}` does not fit its encoding: {}", value.name, misfit);
}

std::string value_obstacle(const ir::LoweringArg& arg, const EvalContext& context) {
  if (mentions_absent(*arg.value, context)) return "";
  const Evaluated value = evaluate(*arg.value, context);
  return value ? "" : fmt::format("argument `{}` of its lowering has no value: {}", arg.name, value.why);
}

}  // namespace

std::optional<LoweringMisfit> lowering_misfit(const ir::Lowering& lowering, const EvalContext& context) {
  for (const ir::LoweringArg& arg : lowering.args) {
    std::string obstacle = arg.capture >= 0 ? encoding_obstacle(arg, context) : value_obstacle(arg, context);
    if (!obstacle.empty()) return LoweringMisfit{std::move(obstacle), arg.span};
  }
  return std::nullopt;
}

runtime::Result<BuiltTemplate> meaning_of(const ir::Rule& rule, const ir::Lowering& lowering,
                                          const EvalContext& context, NodeId root) {
  const auto misfit = [&](const std::string& why) {
    return runtime::Status::error(fmt::format("by its semantics `{}` cannot compute it: {}", lowering.symbol, why));
  };
  const ir::TensorType& wanted = context.graph.value(context.graph.first_output(root)).type;
  runtime::Result<BuiltTemplate> built = instantiate(*lowering.meaning, rule.captures, context, wanted.dtype);
  if (!built) return misfit(built.message());
  if (built->type != wanted)
    return misfit(fmt::format("it makes {}, the match {}", to_string(built->type), to_string(wanted)));
  return built;
}

}  // namespace collage::match
