// SPDX-License-Identifier: Apache-2.0
// Model text -> syntax tree -> graph: refused with a message, or accepted, and then a fixed point of print and parse.
#include <cstdint>

#include "compiler/ir/analysis/infer.h"
#include "compiler/syntax/parse_model.h"
#include "tests/fuzz/round_trip.h"

namespace collage::fuzz {
namespace {

/// A constant that a few letters ask for may take gigabytes, as it should; here it would only cost time.
constexpr int64_t kMostElements = int64_t{1} << 16;

bool is_small(const syntax::TypeAst& type) {
  int64_t count = 1;
  for (const syntax::DimAst& dim_ast : type.dims) {
    const int64_t dim = dim_ast.size;
    if (dim > kMostElements || (dim > 0 && (count *= dim) > kMostElements)) return false;
  }
  return true;
}

template <typename Statements>
bool are_small(const Statements& statements) {
  for (const auto& statement : statements) {
    if (const auto* constant = std::get_if<syntax::ConstAst>(&statement)) {
      const auto* splat = std::get_if<syntax::SplatAst>(&constant->form);
      const auto* random = std::get_if<syntax::RandomAst>(&constant->form);
      if ((splat != nullptr && !is_small(splat->type)) || (random != nullptr && !is_small(random->type))) return false;
    }
    if constexpr (std::is_same_v<typename Statements::value_type, syntax::Statement>) {
      const auto* partition = std::get_if<syntax::PartitionAst>(&statement);
      if (partition != nullptr && !are_small(partition->body)) return false;
    }
  }
  return true;
}

void check(const std::string& text) {
  const std::string folder = "no-such-folder";
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  auto ast = syntax::parse_model(sources, sources.add("input.ir", text), diags);
  expect_told(ast.has_value(), diags);
  if (!ast || !are_small(ast->statements)) return;
  auto model = sema::build_graph(*ast, folder, diags);
  expect_told(model.has_value(), diags);
  if (model) expect_round_trip(model->graph, model->placement, folder);
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
