// SPDX-License-Identifier: Apache-2.0
// What old processors have no instructions for, and is written out: f16 without F16C, whole numbers without SSE 4.1.
// Every f16, what lies between two of them, and numbers of every size, bit for bit.
#include <cmath>

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class WrittenOut : public IsaTest {};

INSTANTIATE_TEST_SUITE_P(Isa, WrittenOut, testing::Values("x86-64", "x86-64-v2", ""));

runtime::Tensor every_f16() {
  runtime::Tensor all(ir::DType::F16, {int64_t{1} << 16});
  for (uint32_t bits = 0; bits < (1U << 16); ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    std::memcpy(all.data() + 2 * bits, &half, sizeof half);
  }
  return all;
}

ValueId cast_to(Model& model, ValueId x, int64_t onnx_number) {
  ir::AttrMap attrs;
  attrs.set("to", onnx_number);
  return model.op("Cast", {x}, attrs);
}

TEST_P(WrittenOut, EveryF16Widens) {
  Model model(1);
  model.graph.mark_output(cast_to(model, model.input(every_f16()), 1));
  expect_compiled(model);
}

// Each f16, what is next to it, and the middle between it and the next one, where a tie goes to the even one.
TEST_P(WrittenOut, NumbersBetweenNarrow) {
  const runtime::Tensor all = every_f16();
  std::vector<float> numbers;
  for (int64_t i = 0; i < all.count(); ++i) {
    const auto at = static_cast<float>(runtime::element_as_double(all.view(), i));
    const auto next = static_cast<float>(runtime::element_as_double(all.view(), std::min(i + 1, all.count() - 1)));
    const float middle = std::isfinite(at) && std::isfinite(next) ? at + (next - at) / 2 : 65520.0F;
    for (float x : {at, std::nextafter(at, 1e9F), std::nextafter(at, -1e9F), middle, std::nextafter(middle, 1e9F),
                    std::nextafter(middle, -1e9F)}) {
      numbers.push_back(x);
    }
  }
  for (int exponent = -149; exponent < 128; ++exponent) numbers.push_back(std::ldexp(-1.7F, exponent));
  Model model(2);
  const ValueId x = model.input(ir::DType::F32, {static_cast<int64_t>(numbers.size())}, numbers);
  model.graph.mark_output(cast_to(model, cast_to(model, x, 10), 1));
  expect_compiled(model, 2);
}

TEST_P(WrittenOut, WholeNumbers) {
  std::vector<double> numbers = {std::nan(""), INFINITY, -INFINITY, 0.0, -0.0};
  for (int exponent = -20; exponent < 70; ++exponent) {
    for (double part : {1.0, 1.25, 1.5, 1.75, 1.9999999}) {
      for (double sign : {1.0, -1.0}) numbers.push_back(sign * std::ldexp(part, exponent));
    }
  }
  for (int i = -40; i < 40; ++i) numbers.push_back(i / 4.0);
  for (ir::DType dtype : {ir::DType::F32, ir::DType::F64}) {
    for (const char* op : {"Floor", "Ceil", "Round"}) {
      SCOPED_TRACE(std::string(op) + " " + std::string(runtime::name_of(dtype)));
      runtime::Tensor data(dtype, {static_cast<int64_t>(numbers.size())});
      for (size_t i = 0; i < numbers.size(); ++i) {
        runtime::set_element(data.view(), static_cast<int64_t>(i), numbers[i]);
      }
      Model model(3);
      const ValueId whole = model.op(op, {model.input(std::move(data))});
      model.graph.mark_output(whole);
      model.graph.mark_output(model.op("Reciprocal", {whole}));  // tells zeros apart
      expect_compiled(model);
    }
  }
}

}  // namespace
}  // namespace collage::codegen_test
