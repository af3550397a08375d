// SPDX-License-Identifier: Apache-2.0
// One way to derive a pattern, as nodes and values without types:
//
//     match y = Add?(c = Conv(x, w: const), Sigmoid(c))
//         =>   x, w const, c = Conv(x, w), s = Sigmoid(c), y = Add(c, s)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

struct Sketch {
  struct Value {
    bool is_const = false;
    std::vector<int> captures;
    int node = -1;  ///< its producer; -1: an input, or a constant
  };
  struct Node {
    const ir::OpDef* op = nullptr;
    std::vector<int> inputs;  ///< values; -1: left out
    int output = -1;
  };
  std::vector<Value> values;
  std::vector<Node> nodes;  ///< operands before their readers
};

/// Picks one of `count` choices: whether an optional operator is present, an alternative, an operator.
using Choose = std::function<size_t(size_t count)>;

/// Returns nullopt if the choices contradict each other, or if the pattern has an unsupported part.
std::optional<Sketch> sketch_pattern(const ir::Rule& rule, const Choose& choose);

}  // namespace collage::lint
