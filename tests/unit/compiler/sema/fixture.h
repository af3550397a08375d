// SPDX-License-Identifier: Apache-2.0
// Loads model text as `m.ir` and shows what came of it: the printed model, or the rendered diagnostics.
#pragma once

#include <string>

#include "compiler/ir/placement/print.h"
#include "compiler/sema/model/build_graph.h"

namespace collage::testing {

struct Loaded {
  std::optional<sema::Model> model;
  std::string errors;

  std::string printed() const {
    if (!model) return errors;
    return model->placement.empty() ? print(model->graph) : print(model->graph, model->placement);
  }
};

inline Loaded load(const std::string& text, const std::string& model_dir = ".") {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  Loaded loaded;
  loaded.model = sema::load_model_text(sources, sources.add("m.ir", text), model_dir, diags);
  loaded.errors = diags.render();
  return loaded;
}

/// `model @m(%x: f32[1, 3, 8, 8]) -> (%y: TYPE) { BODY }` with the body on lines of its own, the first of which is
/// line 2.
inline std::string model_text(const std::string& body, const std::string& output = "%y: f32[1, 3, 8, 8]") {
  return "model @m(%x: f32[1, 3, 8, 8]) -> (" + output + ") {\n" + body + "\n}\n";
}

}  // namespace collage::testing
