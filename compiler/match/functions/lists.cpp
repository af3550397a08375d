// SPDX-License-Identifier: Apache-2.0
// Functions of a list of numbers. Where the list comes from a capture that is absent, the argument is one number
// instead: what counts or picks elements is 0, and what joins them is that number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/match/functions/functions.h"

namespace collage::match {
namespace {

/// Null if the argument is one number.
const NumberList* list_of(const Call& call) {
  return std::get_if<NumberList>(&call.args[0]);
}

/// How many elements are not 0.
size_t count_true(const NumberList& list) {
  return list.items.size() - static_cast<size_t>(std::count(list.items.begin(), list.items.end(), Number(0)));
}

Evaluated joined(const Call& call, Reduction how) {
  const NumberList* list = list_of(call);
  if (list == nullptr) return number(as_number(call.args[0]));
  const runtime::Result<Number> result = reduce(how, *list);
  return result ? number(*result) : failed(result.message());
}

}  // namespace

Evaluated eval_at(const Call& call) {
  const NumberList* list = list_of(call);
  if (list == nullptr) return number(0);
  auto size = static_cast<double>(list->items.size());
  double index = as_number(call.args[1]).real();
  double at = index < 0 ? index + size : index;
  if (at >= 0 && at < size) return number(list->items[static_cast<size_t>(at)]);
  return failed(fmt::format("a list of {} has no element {:g}", size, index));
}

Evaluated eval_abs_each(const Call& call) {
  const NumberList* list = list_of(call);
  if (list == nullptr) return number(as_number(call.args[0]));
  NumberList magnitudes = *list;
  for (Number& item : magnitudes.items) {
    const std::optional<Number> size = magnitude(item);
    if (!size) return failed(fmt::format("the magnitude of {} does not fit 64 bits", to_text(item)));
    item = *size;
  }
  return {EvalValue(std::move(magnitudes)), ""};
}

Evaluated eval_all(const Call& call) {
  const NumberList* list = list_of(call);
  return boolean(list == nullptr ? as_bool(call.args[0]) : count_true(*list) == list->items.size());
}

Evaluated eval_any(const Call& call) {
  const NumberList* list = list_of(call);
  return boolean(list == nullptr ? as_bool(call.args[0]) : count_true(*list) > 0);
}

Evaluated eval_sum(const Call& call) {
  return joined(call, Reduction::Sum);
}
Evaluated eval_product(const Call& call) {
  return joined(call, Reduction::Product);
}
Evaluated eval_min_of(const Call& call) {
  return joined(call, Reduction::Min);
}
Evaluated eval_max_of(const Call& call) {
  return joined(call, Reduction::Max);
}

Evaluated eval_sum_per(const Call& call) {
  const NumberList* list = list_of(call);
  if (list == nullptr) return number(0);
  auto sums = sum_per(*list, as_number(call.args[1]).real());
  if (!sums) return failed(sums.message());
  return {EvalValue(std::move(*sums)), ""};
}
}  // namespace collage::match
