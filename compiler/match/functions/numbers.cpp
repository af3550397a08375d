// SPDX-License-Identifier: Apache-2.0
// Functions of numbers, of versions, and of the tables of costs.
#include <fmt/format.h>

#include <cmath>

#include "compiler/ir/rules/cost_table.h"
#include "compiler/ir/rules/functions.h"
#include "compiler/match/functions/functions.h"

namespace collage::match {
namespace {

Number first(const Call& call) {
  return as_number(call.args[0]);
}

/// A NaN among the arguments is the result.
Evaluated extreme(const Call& call, bool wants_smaller) {
  Number result = first(call);
  for (const EvalValue& arg : call.args) {
    const Number next = as_number(arg);
    if (next.is_nan()) return number(next);
    if (wants_smaller ? next < result : next > result) result = next;
  }
  return number(result);
}

/// A double without fraction, as an integer if it is one of 64 bits.
Evaluated rounded(double result) {
  const std::optional<int64_t> whole = ir::to_whole(result);
  return whole ? number(*whole) : number(result);
}

Evaluated function_value(const Call& call, double result) {
  const double argument = first(call).real();
  if (std::isnan(argument) || std::isfinite(result) || std::isinf(argument)) return number(result);
  return failed(fmt::format("{}({}) has no value", ir::function_def(call.expr.function).name, to_text(first(call))));
}

}  // namespace

Evaluated eval_abs(const Call& call) {
  const std::optional<Number> result = magnitude(first(call));
  return result ? number(*result) : failed(fmt::format("abs({}) does not fit 64 bits", to_text(first(call))));
}
Evaluated eval_ceil(const Call& call) {
  return first(call).is_whole() ? number(first(call)) : rounded(std::ceil(first(call).real()));
}
Evaluated eval_floor(const Call& call) {
  return first(call).is_whole() ? number(first(call)) : rounded(std::floor(first(call).real()));
}
Evaluated eval_log2(const Call& call) {
  return function_value(call, std::log2(first(call).real()));
}
Evaluated eval_sqrt(const Call& call) {
  return function_value(call, std::sqrt(first(call).real()));
}
Evaluated eval_pow(const Call& call) {
  const Number exponent = as_number(call.args[1]);
  const std::optional<Number> result = power(first(call), exponent);
  if (result) return number(*result);
  const bool are_whole = first(call).is_whole() && exponent.is_whole();
  return failed(fmt::format("pow({}, {}) {}", to_text(first(call)), to_text(exponent),
                            are_whole ? "does not fit 64 bits" : "has no value"));
}
Evaluated eval_min(const Call& call) {
  return extreme(call, /*wants_smaller=*/true);
}
Evaluated eval_max(const Call& call) {
  return extreme(call, /*wants_smaller=*/false);
}

/// The first tile is only loaded, the last one only worked on:
///
///     load  [0][1][2]
///     work     [0][1][2]
Evaluated eval_double_buffered(const Call& call) {
  const std::optional<double> scratch = call.context.backend.scratch_bytes();
  if (call.context.quantities == nullptr || !scratch) return failed("the bytes of the match are not known here");
  const double load = first(call).real(), work = as_number(call.args[1]).real();
  const double tiles = std::max(1.0, std::ceil(2 * call.context.quantities->bytes / *scratch));
  return number((load + work + (tiles - 1) * std::max(load, work)) / tiles);
}

Evaluated eval_version_at_least(const Call& call) {
  const auto* have = std::get_if<std::string>(&call.args[0]);
  const auto* want = std::get_if<std::string>(&call.args[1]);
  if (have == nullptr || want == nullptr) return boolean(true);
  std::optional<int> order = compare_versions(*have, *want);
  if (order) return boolean(*order >= 0);
  bool is_first = !compare_versions(*have, "0");
  return failed(fmt::format("\"{}\" is not a version", is_first ? *have : *want));
}

/// sema has read the file; the arguments are those after its name.
Evaluated eval_table(const Call& call) {
  std::vector<double> place;
  for (const EvalValue& arg : call.args) place.push_back(as_number(arg).real());
  const runtime::Result<double> found = call.expr.table->at(place);
  return found ? number(*found) : failed(found.message());
}

}  // namespace collage::match
