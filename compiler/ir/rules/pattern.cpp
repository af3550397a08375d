// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/pattern.h"

#include <algorithm>
#include <set>

namespace collage::ir {
namespace {

void collect_certain(const Pattern& pattern, std::set<int>* captures) {
  bool binds = pattern.capture >= 0 && (pattern.kind != Pattern::Kind::Value || !pattern.may_be_absent);
  if (binds) captures->insert(pattern.capture);
  for (int result : pattern.results) {
    if (result >= 0) captures->insert(result);
  }
  // Repeated parts bind no names, nor does `each`.
  for (const Pattern& operand : pattern.operands) collect_certain(operand, captures);
  if (pattern.choices.empty()) return;
  std::set<int> common;
  collect_certain(pattern.choices.front(), &common);
  for (const Pattern& choice : pattern.choices) {
    std::set<int> here, both;
    collect_certain(choice, &here);
    std::set_intersection(common.begin(), common.end(), here.begin(), here.end(), std::inserter(both, both.end()));
    common = std::move(both);
  }
  captures->insert(common.begin(), common.end());
}

}  // namespace

std::vector<int> certain_captures(const Pattern& pattern) {
  std::set<int> captures;
  collect_certain(pattern, &captures);
  return {captures.begin(), captures.end()};
}

int depth_of_capture(const Pattern& pattern, int capture) {
  bool is_result = std::find(pattern.results.begin(), pattern.results.end(), capture) != pattern.results.end();
  int depth = pattern.capture == capture || is_result ? 0 : -1;
  for (const Pattern& choice : pattern.choices) depth = std::max(depth, depth_of_capture(choice, capture));
  int above = pattern.kind == Pattern::Kind::Repeat || pattern.kind == Pattern::Kind::Via ? pattern.at_most : 1;
  for (const Pattern& operand : pattern.operands) {
    int inner = depth_of_capture(operand, capture);
    if (inner >= 0) depth = std::max(depth, inner + above);
  }
  return depth;
}

}  // namespace collage::ir
