// SPDX-License-Identifier: Apache-2.0
// Models as files: the text, and the weights in a .safetensors beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/write_file.h"

namespace collage::request {

/// `STEM.safetensors` in `folder`. A file that the model itself reads is never replaced (then it is
/// `STEM.1.safetensors`), another one only if `may_replace`: where the user named the output.
struct WeightsPlace {
  std::string folder;
  std::string stem;
  bool may_replace = false;
  std::set<std::filesystem::path> keep;  ///< files that the model reads
};

/// The files that constants of `graph` come from, as absolute paths.
std::set<std::filesystem::path> files_of_constants(const ir::Graph& graph, const std::string& model_folder);

/// Makes `graph` printable for a file in `place.folder`:
///   - constants from files in that folder or below keep their file, its path now relative to it (it was relative to
///     `model_folder`);
///   - those from elsewhere, which the text may not name (support/file_access.h), and written constants of more than a
///     few elements move into the weights file, which joins `files`;
///   - small ones, splats and seeds stay text.
/// The name of the weights file, empty if none is needed; nothing after an error.
std::optional<std::string> move_weights_out(ir::Graph& graph, const std::string& model_folder,
                                            const WeightsPlace& place, support::FileGroup& files,
                                            support::Diagnostics& diags);

/// The absolute path of the file that `move_weights_out` would write; empty: none.
std::filesystem::path weights_file_of(const ir::Graph& graph, const std::string& model_folder,
                                      const WeightsPlace& place);

/// The placed model as a text for people: constants of more than a few elements are named, not written.
std::string placed_text(const ir::Graph& graph, const ir::Placement& placement);

}  // namespace collage::request
