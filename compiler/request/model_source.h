// SPDX-License-Identifier: Apache-2.0
// The model that the user names, before its shapes are chosen: `.onnx`, anything else as text in the model language.
// A source is specialised: open dimensions get sizes, and inputs that decide shapes get values.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/onnx_file.h"
#include "compiler/import/stage.h"
#include "compiler/ir/graph/open_shape.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/syntax/model_ast.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"

namespace collage::request {

struct ModelFile {
  std::filesystem::path path;
  sema::Model model;
  std::set<std::filesystem::path> weights;  ///< files that its constants come from: never written over
};

/// What a source is specialised to.
struct Specialisation {
  std::vector<ir::ShapeBinding> bindings{};
  /// Tensors that are given for inputs. One that decides a shape may become a constant.
  std::map<std::string, ir::Tensor> given{};
  sema::Elements elements = sema::Elements::Needed;
};

/// A source with all shapes fixed.
struct Specialised {
  std::optional<ModelFile> whole{};              ///< the whole model
  std::optional<import::ImportedStage> first{};  ///< or its first stage, where the values of a run decide the rest
  std::map<std::string, ir::Tensor> bound{};     ///< inputs that became constants, replaced defaults among them
};

class ModelSource {
 public:
  /// Reads the file, which may lead to files that `access` allows. Returns null after an error.
  static std::unique_ptr<ModelSource> open(const std::string& path, support::FileAccess access,
                                           support::SourceManager& sources, support::Diagnostics& diags);

  const std::filesystem::path& path() const { return path_; }
  /// Inputs that must be given, with the dimensions that the model leaves open.
  const std::vector<ir::OpenInput>& inputs() const { return inputs_; }
  /// Inputs that need not be given: the file has elements for them.
  const std::vector<ir::OpenInput>& inputs_with_default() const { return inputs_with_default_; }
  /// Replaces the elements that the file has for such an input, in all specialisations. False after an error, at
  /// `option`.
  bool replace_default(const std::string& name, ir::Tensor tensor, const std::string& option,
                       support::Diagnostics& diags);
  /// What replaces defaults.
  const std::map<std::string, ir::Tensor>& replaced_defaults() const { return replaced_defaults_; }
  /// Null where the model is a text.
  const std::shared_ptr<const import::OnnxFile>& onnx() const { return onnx_; }
  const std::optional<syntax::ModelAst>& ast() const { return ast_; }

  /// Returns nullopt after errors.
  std::optional<Specialised> specialise(const Specialisation& to, support::Diagnostics& diags) const;
  /// As `specialise`, where only a whole model will do.
  std::optional<ModelFile> specialise_whole(const Specialisation& to, support::Diagnostics& diags) const;

 private:
  ModelSource() = default;
  std::optional<sema::Model> build_text(const Specialisation& to, support::Diagnostics& diags) const;
  ModelFile file_of(sema::Model model) const;

  std::filesystem::path path_;
  support::FileAccess access_;
  std::vector<ir::OpenInput> inputs_;
  std::vector<ir::OpenInput> inputs_with_default_;
  std::map<std::string, ir::Tensor> replaced_defaults_;
  std::shared_ptr<const import::OnnxFile> onnx_;
  std::optional<syntax::ModelAst> ast_;
};

}  // namespace collage::request
