// SPDX-License-Identifier: Apache-2.0
// Code that was compiled before: when it is taken, and what happens to code that cannot be believed.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/codegen/llvm/cached_assembler.h"
#include "runtime/support/file_cache.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

namespace fs = std::filesystem;

class CodeCache : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / (std::string("code_cache.") + std::to_string(::getpid()) + "." +
                                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Compiles the network and compares it with the reference kernels.
  codegen::JitStats compile(const std::string& cpu = "", bool keep_text = false) {
    support::FileCache cache(folder_.string());
    codegen::JitOptions options;
    options.cpu = cpu;
    options.keep_text = keep_text;
    options.cache = &cache;
    auto jit = codegen::Jit::create(options);
    EXPECT_TRUE(jit.is_ok()) << jit.message();
    Model model(9);
    ir::AttrMap window;
    window.set("pads", runtime::Ints{1, 1, 1, 1});
    ValueId y = model.op("Conv", {model.input({1, 5, 13, 13}), model.constant({19, 5, 3, 3})}, window);
    y = model.op("MaxPool", {model.op("Relu", {y})}, [] {
      ir::AttrMap pool;
      pool.set("kernel_shape", runtime::Ints{2, 2});
      return pool;
    }());
    model.graph.mark_output(model.op("Softmax", {model.op("Floor", {y})}));
    check(model, **jit);
    return (*jit)->stats();
  }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder_)) paths.push_back(entry.path());
    return paths;
  }

  fs::path folder_;
};

TEST_F(CodeCache, TheSecondTimeNothingIsCompiled) {
  const codegen::JitStats first = compile();
  EXPECT_GE(first.kernels, 3u);
  EXPECT_EQ(first.compiled, first.kernels);
  EXPECT_EQ(first.from_cache, 0u);
  EXPECT_GT(first.code_bytes, 0u);
  EXPECT_EQ(entries().size(), first.kernels);
  const codegen::JitStats second = compile();
  EXPECT_EQ(second.compiled, 0u);
  EXPECT_EQ(second.from_cache, first.kernels);
  EXPECT_EQ(second.kernels, first.kernels);
  EXPECT_EQ(second.code_bytes, first.code_bytes);
}

TEST_F(CodeCache, CodeIsOfOneProcessor) {
  compile("x86-64");
  const codegen::JitStats other = compile("x86-64-v2");
  EXPECT_EQ(other.from_cache, 0u);
  EXPECT_GT(other.compiled, 0u);
  EXPECT_EQ(compile("x86-64").compiled, 0u);
  auto one = codegen::Assembler::create("haswell");
  auto two = codegen::Assembler::create("broadwell");
  ASSERT_TRUE(one.is_ok() && two.is_ok());
  EXPECT_NE((*one)->identity(), (*two)->identity());
}

TEST_F(CodeCache, TextsAreOfCodeThatIsCompiledNow) {
  compile();
  const codegen::JitStats stats = compile("", true);
  EXPECT_EQ(stats.from_cache, 0u);
  EXPECT_EQ(stats.compiled, stats.kernels);
}

TEST_F(CodeCache, DamagedCodeIsCompiledAgain) {
  const codegen::JitStats first = compile();
  size_t kind = 0;
  for (const fs::path& path : entries()) {
    const uint64_t size = fs::file_size(path);
    if (kind++ % 2 == 0) {
      fs::resize_file(path, size - size / 3);
    } else {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(size) - 1);  // of the code
      const int last = file.peek();
      file.put(static_cast<char>(~last));
    }
  }
  EXPECT_EQ(compile().compiled, first.kernels);
  EXPECT_EQ(compile().compiled, 0u);
}

// The entry is whole, but not one of this program's.
TEST_F(CodeCache, EntriesOfAnotherFormAreCompiledAgain) {
  auto assembler = codegen::Assembler::create("");
  ASSERT_TRUE(assembler.is_ok());
  codegen::Nest nest((*assembler)->isa().lanes);
  const int x = nest.add_buffer("x", false);
  const int y = nest.add_buffer("y", true);
  nest.store(y, codegen::int_const(0), codegen::load(x, codegen::int_const(0), 1));
  support::FileCache cache(folder_.string());
  const std::string key = (*assembler)->identity() + to_string(nest);
  for (const char* entry : {"", "code ", "code 0", "code 0\n", "code 5\nabc", "code -1\nabc", "code x\nabc", "bytes",
                            "refused compiled code needs a relocation"}) {
    cache.keep(key, entry);
    auto own = codegen::Assembler::create("");
    ASSERT_TRUE(own.is_ok());
    const auto cached = codegen::cached(std::move(*own), cache);
    const auto code = cached->assemble(nest, "copy", false);
    ASSERT_TRUE(code.is_ok()) << code.message();
    EXPECT_EQ(cached->compiled(), 1u) << entry;
    EXPECT_EQ(cached->found(), 0u) << entry;
    EXPECT_GT(code->bytes.size(), 3u);
  }
}

TEST_F(CodeCache, WorksWhereNothingCanBeKept) {
  std::ofstream(folder_) << "a file in its place";
  const codegen::JitStats stats = compile();
  EXPECT_EQ(stats.compiled, stats.kernels);
  EXPECT_EQ(compile().compiled, stats.kernels);
}

}  // namespace
}  // namespace collage::codegen_test
