// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/lowering_call.h"

#include "runtime/core/joined.h"

namespace collage::runtime {

std::string to_string(const LoweringCall& call, std::string_view prefix) {
  auto slot = [&](int number) { return std::string(prefix) + std::to_string(number); };
  const std::string text = joined(call.args, ", ", [&](const LoweringArg& arg) {
    return arg.name + " = " + (arg.is_slot() ? slot(arg.slot) : to_string(arg.value));
  });
  std::string results;
  for (int result : call.results) results += (results.empty() ? " -> " : ", ") + slot(result);
  const std::string precision = call.precision ? " in " + std::string(name_of(*call.precision)) : "";
  return call.kind + " \"" + call.symbol + "\"(" + text + ")" + precision + results;
}

}  // namespace collage::runtime
