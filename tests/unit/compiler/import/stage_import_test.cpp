// SPDX-License-Identifier: Apache-2.0
// Models in stages, and what the runner of stages asks of a file.
#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

class StageImportTest : public ImportTest {
 protected:
  std::shared_ptr<const OnnxFile> file() {
    write(model_.SerializeAsString());
    return OnnxFile::read(path(), {}, diags_);
  }
};

// The If may take its other branch, so the operator there is no error; after the If it is.
TEST_F(StageImportTest, AnOperatorThatABranchNamedBeforeIsReported) {
  input("x", {2});
  input("c", {}, TensorProto::BOOL);
  auto& branching = node("If", {"c"}, {"a"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branching.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type("Rellu");
    inner.add_input("x");
    inner.add_output("r");
    attribute.mutable_g()->add_output()->set_name("r");
  }
  initializer("yes", {}, TensorProto::BOOL).add_int32_data(1);
  branching.set_input(0, "yes");
  output("a");
  std::shared_ptr<const OnnxFile> branches = file();
  ASSERT_NE(branches, nullptr) << messages();
  std::optional<ImportedStage> stage = import_first_stage(*branches, diags_);
  ASSERT_TRUE(stage) << messages();
  EXPECT_EQ(stage->ready, (std::vector<int>{0}));

  node("Rellu", {"x"}, {"y"}).set_name("behind");
  output("y");
  EXPECT_FALSE(import_first_stage(*file(), diags_));
  EXPECT_NE(messages().find("node 'behind' (Rellu): error: operator `Rellu` is not supported"), std::string::npos)
      << messages();
}

// Alone, with all its operands, a node is put off no more.
TEST_F(StageImportTest, AnOperatorThatAGraphOfANodeNamesIsReported) {
  const Tensor x(DType::F32, {1, 1, 2, 2});
  input("x", {1, 1, 2, 2});
  auto& attention = node("FlexAttention", {"x", "x", "x"}, {"y"});
  attention.set_domain("ai.onnx.preview");
  auto& attribute = *attention.add_attribute();
  attribute.set_name("score_mod");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
  inner.set_op_type("Rellu");
  inner.add_input("s");
  inner.add_output("r");
  attribute.mutable_g()->add_input()->set_name("s");
  attribute.mutable_g()->add_output()->set_name("r");
  output("y");
  std::shared_ptr<const OnnxFile> read = file();
  ASSERT_NE(read, nullptr) << messages();
  StageRequest request{read->graph(), {0}, [&x](const std::string&) {
                         return KnownValue{ir::TensorType{x.dtype(), x.shape()}, &x};
                       }};
  request.is_alone = true;
  EXPECT_FALSE(import_stage(*read, request, diags_));
  EXPECT_NE(messages().find("operator `Rellu` is not supported"), std::string::npos) << messages();
}

TEST_F(StageImportTest, SparseInitializersAreValuesOfTheirGraph) {
  input("x", {3});
  input("w", {3});  // as models before IR version 4 declare defaults
  sparse(*graph().add_sparse_initializer(), "w", {3}, {5}, {1});
  node("Mul", {"x", "w"}, {"y"});
  output("y");
  std::shared_ptr<const OnnxFile> read = file();
  ASSERT_NE(read, nullptr) << messages();
  ASSERT_EQ(read->inputs().size(), 1u);
  EXPECT_EQ(read->inputs()[0].name, "x");
  auto tensor = read->initializer(read->graph(), "w");
  ASSERT_TRUE(tensor.is_ok()) << tensor.message();
  ASSERT_NE(*tensor, nullptr);
  auto elements = (*tensor)->as<float>();
  EXPECT_EQ(std::vector<float>(elements.begin(), elements.end()), (std::vector<float>{0, 5, 0}));
  EXPECT_EQ(*read->initializer(read->graph(), "x"), nullptr);
}

}  // namespace
}  // namespace collage::import
