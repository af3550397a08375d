// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/node_test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/import/onnx.h"
#include "compiler/import/tensor_proto.h"

namespace collage::testing {
namespace {

using runtime::Tensor;
using support::Code;
using support::DiagnosticRecord;

/// Reads `stem0.pb`, `stem1.pb`, …; returns what is wrong with one of them.
std::string read_tensors(const std::filesystem::path& folder, const std::string& stem, std::vector<Tensor>* tensors) {
  for (int i = 0;; ++i) {
    std::filesystem::path path = folder / fmt::format("{}{}.pb", stem, i);
    if (!std::filesystem::exists(path)) return "";
    auto tensor = import::read_tensor_pb(path.string());
    if (!tensor) return tensor.message();
    tensors->push_back(*tensor);
  }
}

/// The step from 1 to the next number.
double step_of(runtime::DType dtype) {
  switch (dtype) {
    case runtime::DType::F64: return 0x1p-52;
    case runtime::DType::F32: return 0x1p-23;
    case runtime::DType::F16: return 0x1p-10;
    case runtime::DType::BF16: return 0x1p-7;
    default: return 0;
  }
}

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    double value = std::abs(element_as_double(tensor.view(), i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

std::string difference(const Tensor& got, const Tensor& want, double steps) {
  if (got.dtype() != want.dtype()) return "another dtype";
  if (got.shape() != want.shape()) {
    return fmt::format("shape {}, need {}", runtime::to_string(got.shape()), runtime::to_string(want.shape()));
  }
  const double slack = steps == 0 ? 1e-5 : steps * step_of(want.dtype()) * largest_finite(want);
  const double relative = steps == 0 ? 1e-3 : 0;
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < want.count(); ++i) {
    double a = element_as_double(got.view(), i), b = element_as_double(want.view(), i);
    bool is_right = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= slack + relative * std::abs(b);
    // Beyond 2^53 neighbours are the same double.
    if (!is_float(want.dtype())) is_right = element_as_int(got.view(), i) == element_as_int(want.view(), i);
    if (!is_right && ++wrong == 1) first = fmt::format("element {} is {}, need {}", i, a, b);
  }
  return wrong <= 1 ? first : fmt::format("{}, and {} more of {}", first, wrong - 1, want.count());
}

bool needs_constants(const support::Diagnostics& diags) {
  return std::any_of(diags.records().begin(), diags.records().end(),
                     [](const DiagnosticRecord& record) { return record.code == Code::NotConstant; });
}

/// Older releases of these tests hold bf16 as u16 of the same bits.
void read_bits_as_bf16(const ir::Graph& graph, const std::vector<ir::ValueId>& values, std::vector<Tensor>* tensors) {
  for (size_t i = 0; i < std::min(values.size(), tensors->size()); ++i) {
    Tensor& tensor = (*tensors)[i];
    if (tensor.dtype() != runtime::DType::U16 || graph.value(values[i]).type.dtype != runtime::DType::BF16) continue;
    Tensor same(runtime::DType::BF16, tensor.shape());
    std::copy_n(tensor.data(), tensor.bytes(), same.data());
    tensor = std::move(same);
  }
}

}  // namespace

bool is_refusal(const support::Diagnostics& diags) {
  return std::all_of(diags.records().begin(), diags.records().end(), [](const DiagnosticRecord& record) {
    return record.severity == support::Severity::Warning || record.code == Code::UnsupportedOnnx;
  });
}

NodeTestCase read_node_test(const std::filesystem::path& folder) {
  NodeTestCase test;
  test.why = read_tensors(folder / "test_data_set_0", "input_", &test.inputs);
  if (test.why.empty()) test.why = read_tensors(folder / "test_data_set_0", "output_", &test.wanted);
  if (!test.why.empty()) {
    test.outcome = Outcome::Refused;
    return test;
  }
  test.has_data = true;
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::string model = (folder / "model.onnx").string();
  test.graph = import::import_onnx(model, diags);
  test.why = diags.render();
  bool is_refused = is_refusal(diags);
  if (!test.graph && needs_constants(diags)) {
    import::OnnxOptions options;
    std::vector<std::string> names = import::onnx_input_names(model);
    for (size_t i = 0; i < std::min(names.size(), test.inputs.size()); ++i)
      options.bound_inputs[names[i]] = test.inputs[i];
    support::Diagnostics bound_diags(sources);
    test.graph = import::import_onnx(model, bound_diags, options);
    test.why = bound_diags.render();
    is_refused = is_refusal(bound_diags);
    if (test.graph) test.inputs.clear();
  }
  if (test.graph) {
    read_bits_as_bf16(*test.graph, test.graph->inputs(), &test.inputs);
    read_bits_as_bf16(*test.graph, test.graph->outputs(), &test.wanted);
  }
  if (!test.graph) test.outcome = is_refused ? Outcome::Refused : Outcome::Failed;
  return test;
}

std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, double steps) {
  if (got.size() != wanted.size()) return fmt::format("{} outputs, need {}", got.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::string what = difference(got[i], wanted[i], steps); !what.empty())
      return wanted.size() == 1 ? what : fmt::format("output {}: {}", i, what);
  }
  return "";
}

}  // namespace collage::testing
