// SPDX-License-Identifier: Apache-2.0
// Which nodes compute what the model later tests for being NaN or infinite. A backend that loses such values there
// (`numerics PATTERN loses nan`) would change what the test says:
//
//     %s = Softmax(%x)  %t = IsNaN(%s)  %y = Where(%t, 0, %s)      => %s, and all that computes %x, is tested by %t
//
// Tests for NaN: IsNaN; a comparison of a value with itself; Sub(x, x), Div(x, x) and Mul(x, 0), which are NaN where x
// is NaN or infinite. Tests for infinities: IsInf, the latter three, and a comparison with an infinity or with the
// largest number of the type. Between a value and its test may lie any operators that take and give floating-point
// numbers: all of them pass a NaN on.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

/// The first result of the node that tests what a node computes; invalid: nothing does.
struct ValueTests {
  ValueId for_nan{};
  ValueId for_inf{};
};

/// What an operator tests its operands for, whatever these are.
struct OwnTests {
  bool for_nan = false;
  bool for_inf = false;
};

/// `is_of_one_value`: it has two operands, which are the same value.
OwnTests tests_of_operator(std::string_view op, bool is_of_one_value);

/// Returns one element for each node.
std::vector<ValueTests> find_value_tests(const Graph& graph);

}  // namespace collage::ir
