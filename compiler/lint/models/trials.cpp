// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/analysis/evaluate.h"
#include "runtime/core/element.h"

namespace collage::lint {
namespace {

/// As `check` has it.
constexpr double kTolerance = 1e-4;

}  // namespace

ir::Tensor random_tensor(const ir::TensorType& type, const Trial& trial, std::mt19937_64& random) {
  ir::Tensor tensor(type.dtype, type.shape);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    bool is_whole = trial.is_whole || !runtime::is_float(type.dtype);
    double value = is_whole ? trial.low + std::floor(unit * (trial.high - trial.low + 1))
                            : trial.low + unit * (trial.high - trial.low);
    if (is_whole) value = std::floor(value);
    if (!runtime::holds(type.dtype, value)) value = std::fmod(std::abs(value), 2);
    runtime::set_element(tensor.view(), i, value);
  }
  return tensor;
}

void change_constants(ir::Graph& graph, const Trial& trial, std::mt19937_64& random) {
  for (ir::ValueId id : graph.value_ids()) {
    ir::Value& value = graph.value(id);
    if (!value.is_constant() || value.constant->form != ir::Constant::Form::Random) continue;
    value.constant = ir::make_constant(random_tensor(value.type, trial, random));
  }
}

int64_t first_difference(const ir::Tensor& left, const ir::Tensor& right) {
  double magnitude = 0;
  for (int64_t i = 0; i < left.count(); ++i) {
    double value = std::abs(runtime::element_as_double(left.view(), i));
    if (std::isfinite(value)) magnitude = std::max(magnitude, value);
  }
  double tolerance = runtime::is_float(left.dtype()) ? kTolerance * magnitude : 0;
  for (int64_t i = 0; i < left.count(); ++i) {
    double a = runtime::element_as_double(left.view(), i);
    double b = runtime::element_as_double(right.view(), i);
    bool is_same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
    if (!is_same) return i;
  }
  return -1;
}

std::string indices(const ir::Shape& shape, int64_t element) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d]) at[d] = element % shape[d];
  return fmt::format("[{}]", fmt::join(at, ", "));
}

std::string element_text(const ir::Tensor& tensor, int64_t element) {
  double value = runtime::element_as_double(tensor.view(), element);
  return std::isnan(value) ? "nan" : fmt::format("{:g}", value);
}

}  // namespace collage::lint
