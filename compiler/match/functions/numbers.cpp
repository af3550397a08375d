// SPDX-License-Identifier: Apache-2.0
// Functions of numbers, of versions, and of the tables of costs.
#include <fmt/format.h>

#include <cmath>

#include "compiler/ir/cost_table.h"
#include "compiler/match/functions/functions.h"

namespace collage::match {
namespace {

double first(const Call& call) {
  return as_number(call.args[0]);
}

/// A NaN among the arguments is the result: std::fmin would hide it.
template <typename Pick>
Evaluated extreme(const Call& call, Pick pick) {
  double result = first(call);
  for (const EvalValue& arg : call.args) {
    double next = as_number(arg);
    if (std::isnan(next)) return number(next);
    result = pick(result, next);
  }
  return number(result);
}

}  // namespace

Evaluated eval_abs(const Call& call) {
  return number(std::abs(first(call)));
}
Evaluated eval_ceil(const Call& call) {
  return number(std::ceil(first(call)));
}
Evaluated eval_floor(const Call& call) {
  return number(std::floor(first(call)));
}
Evaluated eval_log2(const Call& call) {
  return number(std::log2(first(call)));
}
Evaluated eval_sqrt(const Call& call) {
  return number(std::sqrt(first(call)));
}
Evaluated eval_pow(const Call& call) {
  return number(std::pow(first(call), as_number(call.args[1])));
}
Evaluated eval_min(const Call& call) {
  return extreme(call, [](double a, double b) { return std::min(a, b); });
}
Evaluated eval_max(const Call& call) {
  return extreme(call, [](double a, double b) { return std::max(a, b); });
}

/// The first tile is only loaded, the last one only worked on:
///
///     load  [0][1][2]
///     work     [0][1][2]
Evaluated eval_double_buffered(const Call& call) {
  const std::optional<double> scratch = call.context.backend.scratch_bytes();
  if (call.context.quantities == nullptr || !scratch) return failed("the bytes of the match are not known here");
  const double load = as_number(call.args[0]), work = as_number(call.args[1]);
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
  for (const EvalValue& arg : call.args) place.push_back(as_number(arg));
  std::string why;
  std::optional<double> found = call.expr.table->at(place, &why);
  return found ? number(*found) : failed(std::move(why));
}

}  // namespace collage::match
