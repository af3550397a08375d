// SPDX-License-Identifier: Apache-2.0
// Tensors out of text and out of files.
#include "compiler/sema/model/constants.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/syntax/parse_model.h"
#include "runtime/core/random.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/npy.h"
#include "runtime/io/safetensors.h"
#include "tests/unit/compiler/sema/fixture.h"

namespace collage::testing {
namespace {

using runtime::DType;
using runtime::Tensor;

class FrontendFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / ("collage_frontend_" + std::to_string(::getpid()));
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }

  std::filesystem::path dir_;
};

Tensor counting(DType dtype, runtime::Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  for (size_t i = 0; i < tensor.bytes(); ++i)
    tensor.data()[i] = static_cast<std::byte>(dtype == DType::Bool ? i % 2 : i % 100);
  return tensor;
}

constexpr DType kAll[] = {DType::F32, DType::F64, DType::I8,  DType::U8,
                          DType::I16, DType::I32, DType::I64, DType::Bool};

TEST_F(FrontendFiles, NpyComesBackAsWritten) {
  for (DType dtype : kAll) {
    for (const runtime::Shape& shape : {runtime::Shape{}, {5}, {2, 3, 4}, {0, 2}}) {
      Tensor tensor = counting(dtype, shape);
      ASSERT_TRUE(runtime::write_npy(path("a.npy"), tensor).is_ok());
      auto back = runtime::read_npy(path("a.npy"));
      ASSERT_TRUE(back.is_ok()) << back.message();
      EXPECT_TRUE(identical(tensor, *back)) << name_of(dtype) << runtime::to_string(shape);
    }
  }
}

std::string npy_bytes(std::string header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x02', '\x00', static_cast<char>(header.size()), '\x00', '\x00', '\x00'};
  return bytes + header + data;
}

TEST_F(FrontendFiles, NpyFortranOrderAndHalves) {
  std::string data;
  for (char i = 0; i < 6; ++i) data += i;
  auto fortran = runtime::parse_npy(npy_bytes("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(fortran.is_ok()) << fortran.message();
  auto elements = fortran->as<int8_t>();
  EXPECT_EQ(std::vector<int8_t>(elements.begin(), elements.end()), (std::vector<int8_t>{0, 2, 4, 1, 3, 5}));

  // 1.5, -2, the smallest subnormal, infinity
  std::string halves = {'\x00', '\x3e', '\x00', '\xc0', '\x01', '\x00', '\x00', '\x7c'};
  auto half = runtime::parse_npy(npy_bytes("{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }\n", halves));
  ASSERT_TRUE(half.is_ok()) << half.message();
  EXPECT_EQ(half->dtype(), runtime::DType::F16);
  EXPECT_EQ(half->as<runtime::Half>()[0], 1.5f);
  EXPECT_EQ(half->as<runtime::Half>()[1], -2.0f);
  EXPECT_EQ(half->as<runtime::Half>()[2], std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isinf(half->as<runtime::Half>()[3]));
}

TEST_F(FrontendFiles, DamagedNpyIsRefused) {
  std::string good = npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", std::string(8, '\0'));
  ASSERT_TRUE(runtime::parse_npy(good).is_ok());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(runtime::parse_npy(std::string_view(good).substr(0, length)).is_ok()) << length;
  }
  for (const char* header : {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "{'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "{'descr':",
                             "{'descr': '<f4", "{'descr': '<f4', 'fortran_order': False, 'shape': (2", ""}) {
    EXPECT_FALSE(runtime::parse_npy(npy_bytes(header, std::string(8, '\0'))).is_ok()) << header;
  }
}

TEST_F(FrontendFiles, SafetensorsComeBackAsWritten) {
  runtime::NamedTensors tensors;
  for (DType dtype : kAll) tensors.emplace("t." + std::string(name_of(dtype)), counting(dtype, {3, 5}));
  tensors.emplace("scalar", counting(DType::F32, {}));
  tensors.emplace("empty", counting(DType::I64, {0, 4}));
  ASSERT_TRUE(runtime::write_safetensors(path("a.safetensors"), tensors).is_ok());
  auto back = runtime::read_safetensors(path("a.safetensors"));
  ASSERT_TRUE(back.is_ok()) << back.message();
  ASSERT_EQ(back->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(identical(tensor, back->at(name))) << name;
  ASSERT_TRUE(runtime::write_safetensors(path("b.safetensors"), *back).is_ok());
  EXPECT_EQ(*runtime::read_file(path("a.safetensors")), *runtime::read_file(path("b.safetensors")));
}

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

TEST_F(FrontendFiles, DamagedSafetensorsAreRefused) {
  std::string good =
      safetensors_bytes(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", {'\x80', '\x3f', '\x00', '\xc0'});
  auto tensors = runtime::parse_safetensors(good);
  ASSERT_TRUE(tensors.is_ok()) << tensors.message();
  EXPECT_EQ(tensors->at("a").as<runtime::BFloat16>()[0], 1.0f);
  EXPECT_EQ(tensors->at("a").as<runtime::BFloat16>()[1], -2.0f);
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(runtime::parse_safetensors(std::string_view(good).substr(0, length)).is_ok()) << length;
  }
  for (const char* header : {
           R"([])",
           R"({"a":1})",
           R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})",
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,400]}})",
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
           R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
           R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,4]}})",
           R"({"a":{"dtype":"F32","shape":"x","data_offsets":[0,4]}})",
           R"({"a":{"shape":[1],"data_offsets":[0,4]}})",
       }) {
    EXPECT_FALSE(runtime::parse_safetensors(safetensors_bytes(header, std::string(4, '\0'))).is_ok()) << header;
  }
  EXPECT_FALSE(runtime::parse_safetensors(safetensors_bytes(std::string(1000000, '['), "")).is_ok());
  EXPECT_FALSE(runtime::read_safetensors(path("absent.safetensors")).is_ok());
}

TEST_F(FrontendFiles, ConstantsFromFiles) {
  runtime::NamedTensors tensors;
  tensors.emplace("conv1.weight", counting(DType::F32, {2, 2}));
  ASSERT_TRUE(runtime::write_safetensors(path("w.safetensors"), tensors).is_ok());
  ASSERT_TRUE(runtime::write_npy(path("b.npy"), counting(DType::F32, {2})).is_ok());
  auto text = [](const std::string& constant) {
    return "model @m(%x: f32[2]) -> (%y: f32[2]) {\n  %w = const " + constant + "\n  %y = Relu(%x) : f32[2]\n}\n";
  };
  for (const char* good : {"file \"w.safetensors\" \"conv1.weight\" : f32[2, 2]", "file \"b.npy\" : f32[2]"}) {
    Loaded loaded = load(text(good), dir_.string());
    ASSERT_TRUE(loaded.model) << loaded.errors;
    EXPECT_EQ(loaded.printed(), text(good));
    EXPECT_EQ(loaded.model->graph.value(loaded.model->graph.find_value("w")).constant->form, ir::Constant::Form::File);
  }
  for (auto [bad, message] : {
           std::pair("file \"w.safetensors\" \"conv.weight\" : f32[2, 2]", "did you mean `conv1.weight`?"),
           std::pair("file \"w.safetensors\" \"conv1.weight\" : f32[4]",
                     "the file has `f32[2, 2]`, `f32[4]` is declared"),
           std::pair("file \"w.safetensors\" : f32[4]", "the name of the tensor in the file is missing"),
           std::pair("file \"b.npy\" \"b\" : f32[2]", "which has no name"),
           std::pair("file \"none.npy\" : f32[2]", "No such file"),
       }) {
    Loaded loaded = load(text(bad), dir_.string());
    EXPECT_FALSE(loaded.model);
    EXPECT_NE(loaded.errors.find(message), std::string::npos) << loaded.errors;
  }
}

TEST(Constants, LargeOnesAreMadeWhenTheyAreNeeded) {
  const Loaded loaded = load(model_text(R"(  %s = const random seed 1 : f32[64]
  %w = const random seed 7 in [-0.5, 0.5] : f16[300, 500]
  %o = const splat -2.5 : bf16[300, 500]
  %i = const splat 9007199254740993 : i64[20000]
  %y = Relu(%x))"));
  ASSERT_TRUE(loaded.model) << loaded.errors;
  const ir::Graph& graph = loaded.model->graph;
  const auto data = [&](const char* name) { return graph.value(graph.find_value(name)).constant->data; };
  EXPECT_TRUE(data("s").is_made());
  // Printed, verified and copied they are not made.
  const ir::Graph copy = graph;
  EXPECT_NE(print(copy).find("random seed 7 in [-0.5, 0.5] : f16[300, 500]"), std::string::npos);
  EXPECT_FALSE(data("w").is_made());
  EXPECT_FALSE(data("o").is_made());
  EXPECT_TRUE(identical(data("w"), runtime::random_tensor(DType::F16, {300, 500}, 7, -0.5, 0.5)));
  EXPECT_EQ(element_as_double(data("o").view(), 149'999), -2.5);
  EXPECT_TRUE(data("o").is_made());
  EXPECT_EQ(data("i").as<int64_t>()[19'999], 9007199254740993);
}

/// Four times 600 GB.
const char* const kVast = R"(  %a = const random seed 1 : f16[300000, 1000000]
  %b = const random seed 1 : f16[300000, 1000000]
  %c = const random seed 2 : f16[300000, 1000000]
  %d = const splat 1.0 : f16[300000, 1000000]
  %y = Relu(%x))";

TEST(Constants, AModelThatNothingComputesMayBeLargerThanAnyMemory) {
  EXPECT_FALSE(load(model_text(kVast)).model);
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const auto ast = syntax::parse_model(sources, sources.add("m.ir", model_text(kVast)), diags);
  ASSERT_TRUE(ast);
  const auto model = sema::build_graph(*ast, ".", diags, {}, sema::Elements::Never);
  ASSERT_TRUE(model) << diags.render();
  EXPECT_NE(print(model->graph).find("%d = const splat 1.0 : f16[300000, 1000000]"), std::string::npos)
      << print(model->graph);
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_FALSE(model->graph.value(model->graph.find_value(name)).constant->data.is_made());
  }
}

TEST(Constants, LiteralsThatDoNotFit) {
  for (auto [constant, message] : {
           std::pair("dense f32[2] [1.0]", "`f32[2]` has 2 elements, 1 are written"),
           std::pair("dense i8[1] [128]", "128 does not fit i8"),
           std::pair("dense u8[1] [-1]", "-1 does not fit u8"),
           std::pair("dense bool[1] [2]", "2 does not fit bool"),
           std::pair("dense i32[1] [1.5]", "a fraction in a constant of i32"),
           std::pair("dense f32[1] [1e300]", "does not fit f32"),
           std::pair("dense f32[1] [true]", "a bool in a constant of f32"),
           std::pair("dense f33[1] [1.0]", "element types are f32 f64"),
           std::pair("dense f32[1] [\"a\"]", "a string in a constant"),
           std::pair("splat 0.0 : f32[1000000, 100000]", "need more than"),
           std::pair("splat 0.0 : f32[9223372036854775807, 9223372036854775807]", "no tensor can have this type"),
           std::pair("splat 0.0 : f32[-1]", "no tensor can have this type"),
           std::pair("random seed 1 : i32[4]", "random constants of i32 need bounds"),
           std::pair("random seed 1 in [0, 1] : bool[4]", "random constants cannot be bool"),
           std::pair("random seed 1 in [-128, 128] : i8[4]", "128 does not fit i8"),
           std::pair("random seed 1 in [0.5, 2] : i8[4]", "a fraction in a constant of i8"),
           std::pair("random seed 1 in [0, 4294967296] : i64[4]", "the range is too wide"),
           std::pair("random seed 1 in [9223372036854775807, 9223372036854775807] : i64[4]", "at most 2^53"),
           std::pair("random seed -1 : f32[4]", "a seed must not be negative"),
           std::pair("random seed 1 in [1.0, 0.5] : f32[4]", "the range is empty"),
           std::pair("random seed 1 in [0.0, inf] : f32[4]", "the bounds of a range must be finite"),
           std::pair("random seed 1 in [true, 1] : f32[4]", "a bool in a constant of f32"),
           std::pair("random seed 1 in [0, 1e300] : f32[4]", "does not fit f32"),
           std::pair("random seed 1 in [-1e308, 1e308] : f64[4]", "the range is too wide"),
       }) {
    Loaded loaded = load(model_text(std::string("%w = const ") + constant + "\n%y = Relu(%x)"));
    EXPECT_FALSE(loaded.model);
    EXPECT_NE(loaded.errors.find(message), std::string::npos) << loaded.errors;
  }
}

}  // namespace
}  // namespace collage::testing
