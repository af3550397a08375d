// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/output/write_model.h"

#include <filesystem>
#include <set>

#include "compiler/ir/print.h"
#include "compiler/support/file_access.h"
#include "runtime/io/safetensors.h"

namespace collage::driver {
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

}  // namespace

std::set<fs::path> files_of_constants(const ir::Graph& graph, const std::string& model_folder) {
  std::set<fs::path> files;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (comes_from_file(value)) files.insert(resolved(resolved(model_folder) / value.constant->file));
  }
  return files;
}

std::optional<std::string> move_weights_out(ir::Graph& graph, const std::string& model_folder,
                                            const WeightsPlace& place, support::FileGroup& files,
                                            support::Diagnostics& diags) {
  fs::path target_folder = resolved(place.folder);
  std::string weights_file = place.stem + ".safetensors";
  for (int i = 1; place.keep.count(target_folder / weights_file) > 0; ++i)
    weights_file = place.stem + "." + std::to_string(i) + ".safetensors";
  runtime::NamedTensors weights;
  for (ir::ValueId id : graph.value_ids()) {
    ir::Value& value = graph.value(id);
    bool moves = is_long_literal(value);
    if (comes_from_file(value)) {
      const fs::path file = resolved(resolved(model_folder) / value.constant->file);
      value.constant->file = file.lexically_relative(target_folder).string();
      moves = !support::FileAccess().allows(file.string(), target_folder.string());
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

}  // namespace collage::driver
