// SPDX-License-Identifier: Apache-2.0
// What decides quickly that two rules have no match in common, so that files of thousands of rules are not compared
// pair by pair in full.
//
//     rule a { match y = Conv(x, w) where y.group == 1 … }   rule b { match c = Conv(v, k) where c.group == 2 … }
//         =>   one pattern, and `$0.group` is 1 and 2
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

class RuleKeys {
 public:
  explicit RuleKeys(const ir::Backend& backend);

  /// False if no model has a match of both rules with the same root.
  bool may_meet(int a, int b) const;
  /// The first rule that says the same of a pattern, names aside; `rule` itself if none does.
  int first_like(int rule) const { return keys_[static_cast<size_t>(rule)].first; }
  /// The rule's cost without the names in it; equal for rules whose costs can be equal on every model.
  const std::string& cost(int rule) const { return keys_[static_cast<size_t>(rule)].cost; }

 private:
  struct Key {
    std::set<const ir::OpDef*> roots;
    std::string pattern;                   ///< empty: it has several forms, or operands that may be swapped
    std::map<std::string, double> equals;  ///< `$0.group` => 1, of what each match fulfils
    std::string cost;
    int first = 0;
  };
  std::vector<Key> keys_;
};

}  // namespace collage::lint
