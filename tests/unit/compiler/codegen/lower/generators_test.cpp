// SPDX-License-Identifier: Apache-2.0
// The names that rules may write, and the operators that have such generators.
#include "compiler/ir/rules/generators.h"

#include <gtest/gtest.h>

#include "compiler/codegen/lower/lowerings.h"

namespace collage::codegen {
namespace {

bool has(std::string_view op, ir::Generator generator) {
  const Lowering* lowering = find_lowering(op);
  return lowering != nullptr && lowering->has_generator != nullptr && lowering->has_generator(generator);
}

TEST(Generators, EachIsOneOfSomeOperator) {
  for (const std::string& name : ir::generator_names()) {
    const std::optional<ir::Generator> generator = ir::find_generator(name);
    ASSERT_TRUE(generator) << name;
    EXPECT_EQ(ir::name_of(*generator), name);
    EXPECT_TRUE(has("Conv", *generator) || has("ConvTranspose", *generator) || has("Gemm", *generator)) << name;
  }
  EXPECT_FALSE(ir::find_generator("winogrd"));
  EXPECT_FALSE(ir::find_generator(""));
}

TEST(Generators, OfProducts) {
  EXPECT_TRUE(has("MatMul", ir::Generator::AmxGemm));
  EXPECT_FALSE(has("MatMul", ir::Generator::Winograd));
  EXPECT_FALSE(has("Relu", ir::Generator::Direct));
}

}  // namespace
}  // namespace collage::codegen
