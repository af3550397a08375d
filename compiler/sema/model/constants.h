// SPDX-License-Identifier: Apache-2.0
// Constants of the model language -> tensors: literals, splat, random, file.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/ir/graph/graph.h"
#include "compiler/sema/model/elements.h"
#include "compiler/syntax/model_ast.h"
#include "runtime/io/safetensors.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"

namespace collage::sema {

/// Most memory for all generated constants of one model (splat, random, literals) whose elements will be needed.
inline constexpr size_t kMaxMadeUpBytes = size_t{8} << 30;
/// Generated constants of so many bytes are made when their elements are first asked for
/// (runtime/core/element_source.h).
inline constexpr size_t kLateBytes = size_t{64} << 10;

/// `f32[1, 3]` -> type. Returns nullopt after an error at the type.
std::optional<ir::TensorType> resolve_type(const syntax::TypeAst& type, support::Diagnostics& diags);

/// `dense f32[2] [1.0, 2.0]` -> its elements. Returns nullopt after errors at them.
std::optional<ir::Tensor> make_dense(const syntax::DenseAst& dense, support::Diagnostics& diags);

/// Makes the constants of one model; each weights file is read once.
class ConstantMaker {
 public:
  /// Searches files in `model_dir` unless their path is absolute; `access` says which others may be read.
  ConstantMaker(std::string model_dir, support::FileAccess access, support::Diagnostics& diags,
                Elements elements = Elements::Needed)
      : model_dir_(std::move(model_dir)), access_(std::move(access)), diags_(diags), elements_(elements) {}

  std::optional<ir::Constant> make(const syntax::ConstAst& ast);

 private:
  std::optional<ir::Constant> make(const syntax::DenseAst& ast);
  std::optional<ir::Constant> make(const syntax::SplatAst& ast);
  std::optional<ir::Constant> make(const syntax::RandomAst& ast);
  std::optional<ir::Constant> make(const syntax::FileAst& ast);
  bool reserve(const ir::TensorType& type, support::Span span);
  /// Returns null after an error, which is reported once per file.
  const runtime::NamedTensors* tensors_of(const std::string& path, support::Span span);

  std::string model_dir_;
  support::FileAccess access_;
  support::Diagnostics& diags_;
  Elements elements_;
  size_t made_up_bytes_ = 0;
  std::map<std::string, std::optional<runtime::NamedTensors>> files_;
};

}  // namespace collage::sema
