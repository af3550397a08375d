// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/write_model.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "compiler/ir/placement/print.h"
#include "runtime/io/safetensors.h"
#include "runtime/support/file_access.h"

namespace collage::request {
namespace {

namespace fs = std::filesystem;

/// Constants up to this many elements are readable as text: shapes, axes, scalars.
constexpr int64_t kTextElements = 16;

fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(path.empty() ? fs::path(".") : path, error);
  return error ? path : result;
}

bool is_long_literal(const ir::Value& value) {
  return value.constant && value.constant->form == ir::Constant::Form::Literal &&
         value.constant->data.count() > kTextElements;
}

void refer_to_file(ir::Value& value, const std::string& file) {
  value.constant->form = ir::Constant::Form::File;
  value.constant->file = file;
  value.constant->key = value.name;
}

bool comes_from_file(const ir::Value& value) {
  return value.constant && value.constant->form == ir::Constant::Form::File;
}

/// The file that a constant comes from, which the graph names relative to the model's folder.
fs::path source_of(const ir::Value& value, const std::string& model_folder) {
  return resolved(resolved(model_folder) / value.constant->file);
}

/// Whether the elements go into the weights file of a text in `target_folder`.
bool moves_out(const ir::Value& value, const std::string& model_folder, const fs::path& target_folder) {
  if (!comes_from_file(value)) return is_long_literal(value);
  return !support::FileAccess().allows(source_of(value, model_folder).string(), target_folder.string());
}

std::string weights_name(const WeightsPlace& place, const fs::path& target_folder) {
  std::string name = place.stem + ".safetensors";
  for (int i = 1; place.keep.count(target_folder / name) > 0; ++i)
    name = place.stem + "." + std::to_string(i) + ".safetensors";
  return name;
}

}  // namespace

std::set<fs::path> files_of_constants(const ir::Graph& graph, const std::string& model_folder) {
  std::set<fs::path> files;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (comes_from_file(value)) files.insert(source_of(value, model_folder));
  }
  return files;
}

fs::path weights_file_of(const ir::Graph& graph, const std::string& model_folder, const WeightsPlace& place) {
  const fs::path target_folder = resolved(place.folder);
  const std::vector<ir::ValueId> values = graph.value_ids();
  const bool has_weights = std::any_of(values.begin(), values.end(), [&](ir::ValueId id) {
    return moves_out(graph.value(id), model_folder, target_folder);
  });
  return has_weights ? target_folder / weights_name(place, target_folder) : fs::path();
}

std::optional<std::string> move_weights_out(ir::Graph& graph, const std::string& model_folder,
                                            const WeightsPlace& place, support::FileGroup& files,
                                            support::Diagnostics& diags) {
  fs::path target_folder = resolved(place.folder);
  const std::string weights_file = weights_name(place, target_folder);
  runtime::NamedTensors weights;
  for (ir::ValueId id : graph.value_ids()) {
    ir::Value& value = graph.value(id);
    const bool moves = moves_out(value, model_folder, target_folder);
    if (comes_from_file(value)) {
      value.constant->file = source_of(value, model_folder).lexically_relative(target_folder).string();
    }
    if (!moves) continue;
    weights.emplace(value.name, value.constant->data);
    refer_to_file(value, weights_file);
  }
  if (weights.empty()) return "";
  if (std::error_code error; !place.may_replace && fs::exists(target_folder / weights_file, error)) {
    return diags.error_at(support::Code::CannotWrite, weights_file, "exists already")
        .note("`-o FILE` names the text, and the weights beside it");
  }
  std::string path = (target_folder / weights_file).string();
  if (!files.add(path, runtime::stage_safetensors(path, weights), diags)) return std::nullopt;
  return weights_file;
}

std::string placed_text(const ir::Graph& graph, const ir::Placement& placement) {
  constexpr const char* kPackage = "package";
  ir::Graph named = graph;
  for (ir::ValueId id : named.value_ids()) {
    if (ir::Value& value = named.value(id); is_long_literal(value)) refer_to_file(value, kPackage);
  }
  return ir::print(named, placement);
}

}  // namespace collage::request
