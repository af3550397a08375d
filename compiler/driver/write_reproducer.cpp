// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/write_reproducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "compiler/ir/placement/extract_partition.h"
#include "compiler/ir/placement/print.h"
#include "compiler/request/activate.h"
#include "compiler/request/option_values.h"
#include "compiler/request/outputs.h"
#include "compiler/request/write_model.h"
#include "runtime/io/npy.h"
#include "runtime/runner/tensor_files.h"
#include "runtime/support/write_file.h"

namespace collage::driver {
namespace {

namespace fs = std::filesystem;
using support::Code;

/// A word for a shell.
std::string quoted(const std::string& word) {
  const bool is_plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=./,:") ==
      std::string::npos;
  if (is_plain && !word.empty()) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// A folder, empty at first, that is written as a whole: unless it is kept, what was written goes again, and so do the
/// folders that were made for it.
class NewFolder {
 public:
  explicit NewFolder(fs::path path) : path_(std::move(path)) {}
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    for (const fs::path& entry : entries_) fs::remove_all(entry, ignored);
    for (const fs::path& folder : made_) fs::remove(folder, ignored);  // not if something else lies there by now
  }

  bool make(support::Diagnostics& diags) {
    if (!request::can_make_folder(path_, diags)) return false;
    std::error_code error;
    const auto is_free = [&](const fs::path& at) {
      return !at.empty() && fs::symlink_status(at, error).type() == fs::file_type::not_found;
    };
    for (fs::path at = path_; is_free(at); at = at.parent_path()) made_.push_back(at);
    fs::create_directories(path_, error);
    return !error || diags.error_at(Code::CannotWrite, path_.string(), "cannot create: {}", error.message());
  }
  /// The path of what is going to be written under this name.
  fs::path entry(const std::string& name) {
    entries_.push_back(path_ / name);
    return entries_.back();
  }
  void keep() {
    entries_.clear();
    made_.clear();
  }

 private:
  fs::path path_;
  std::vector<fs::path> entries_;
  std::vector<fs::path> made_;  ///< the innermost first
};

fs::path whole_path(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();  // not `rules/`
}

/// The rules as files below one folder, as they lie to each other, so that they find what they include and load.
///
///     /a/b/npu.rules, /a/costs.csv  =>  b/npu.rules, costs.csv
class RuleCopies {
 public:
  RuleCopies(const request::RuleFiles& rules, const support::SourceManager& sources) {
    for (const support::FileId text : rules.texts)
      texts_.emplace(whole_path(std::string(sources.name(text))), sources.text(text));
    for (const auto& [path, text] : texts_) take_in(path.parent_path());
    std::error_code error;
    for (const ir::Backend& backend : rules.rules.backends) {
      if (backend.runtime != ir::RuntimeKind::Plugin || request::has_plugin_outside(backend)) continue;
      const fs::path plugin = whole_path(backend.file).parent_path() / backend.library;
      if (fs::is_regular_file(plugin, error)) plugins_.insert(plugin);
    }
    for (const std::string& path : rules.paths) {
      given_.push_back(whole_path(path));
      if (fs::is_directory(given_.back(), error)) take_in(given_.back());
    }
  }

  bool write(const fs::path& to, support::Diagnostics& diags) const {
    for (const auto& [path, text] : texts_) {
      const fs::path file = to / path.lexically_relative(root_);
      std::error_code error;
      fs::create_directories(file.parent_path(), error);
      if (error) return diags.error_at(Code::CannotWrite, file.string(), "cannot create: {}", error.message());
      if (!support::write_file(file.string(), text, diags)) return false;
    }
    for (const fs::path& plugin : plugins_) {
      const fs::path file = to / plugin.lexically_relative(root_);
      std::error_code error;
      fs::create_directories(file.parent_path(), error);
      if (!error) fs::copy_file(plugin, file, error);
      if (error) return diags.error_at(Code::CannotWrite, file.string(), "cannot copy: {}", error.message());
    }
    return true;
  }

  /// What was given as `-r`, below that folder.
  std::vector<std::string> given() const {
    std::vector<std::string> paths;
    for (const fs::path& path : given_) paths.push_back((path.lexically_relative(root_)).string());
    return paths;
  }

 private:
  /// Makes the folder hold another one.
  void take_in(const fs::path& folder) {
    if (root_.empty()) root_ = folder;
    while (std::mismatch(root_.begin(), root_.end(), folder.begin(), folder.end()).first != root_.end())
      root_ = root_.parent_path();
  }

  std::map<fs::path, std::string_view> texts_;
  std::set<fs::path> plugins_;  ///< beside or below their rule files
  std::vector<fs::path> given_;
  fs::path root_;
};

/// Constants written out, so that the folder needs no file of the model's.
ir::Constant written_out(const ir::Constant& constant) {
  ir::Constant made = constant;
  if (made.form != ir::Constant::Form::File) return made;
  made.form = ir::Constant::Form::Literal;
  made.file.clear();
  made.key.clear();
  return made;
}

/// The options that the partition depends on; a word only where it is not the usual one.
std::string options_text(const request::Request& request) {
  std::string text;
  for (const request::OptionRow& row : request::option_table()) {
    const bool is_usual_word = !row.choices.empty() && !request::is_given(row, request);
    if (!row.is_of_parts || is_usual_word) continue;
    for (const std::string& value : request::texts_of(row, request)) {
      text += fmt::format(" {}", request::short_name_of(row));
      if (!row.value.empty()) text += " " + quoted(value);
    }
  }
  return text;
}

/// `input_0.npy`; of dtypes that these files do not have, `.pb`.
std::string input_file(const Reproducer& what, size_t i) {
  return fmt::format("input_{}{}", i, runtime::has_npy_type(what.inputs[i].dtype()) ? ".npy" : ".pb");
}

const std::string& input_name(const Reproducer& what, size_t i) {
  return what.graph.value(what.partition.inputs[i].value).name;
}

/// The command, with the files in `folder`, behind the name of the program.
std::string arguments_text(const Reproducer& what, const RuleCopies& rules, const fs::path& folder) {
  std::string text = " check " + quoted((folder / "model.ir").string());
  for (const std::string& path : rules.given()) {
    text += " -r " + quoted((folder / "rules" / path).lexically_normal().string());
  }
  text += options_text(what.request);
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    text += " --input " + quoted(input_name(what, i) + "=" + (folder / input_file(what, i)).string());
  }
  return text;
}

/// Without rules the program would take those of the user's installation.
const char* environment_of(const request::RuleFiles& rules) {
  return rules.paths.empty() ? "env COLLAGE_RULES= " : "";
}

}  // namespace

std::optional<std::string> write_reproducer(const Reproducer& what, const std::string& folder,
                                            support::Diagnostics& diags) {
  NewFolder to(folder);
  const RuleCopies rules(what.rules, diags.sources());
  if (!to.make(diags) || !rules.write(to.entry("rules"), diags)) return std::nullopt;
  ir::PlacedGraph alone = ir::extract_partition(what.graph, what.partition, {what.graph.name, {}, written_out});
  const request::WeightsPlace place{folder, "model", true, {}};
  support::FileGroup files;
  const std::optional<std::string> weights = request::move_weights_out(alone.graph, folder, place, files, diags);
  if (!weights) return std::nullopt;
  if (!weights->empty()) to.entry(*weights);
  const std::string text = ir::print(alone.graph, alone.placement);
  if (!files.add(to.entry("model.ir").string(), text, diags) || !files.commit(diags)) return std::nullopt;
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    const std::string file = to.entry(input_file(what, i)).string();
    if (!runner::write_tensor_file(file, what.request.run.formats, input_name(what, i), what.inputs[i], diags))
      return std::nullopt;
  }
  const std::string script =
      fmt::format("#!/bin/sh\ncd \"$(dirname \"$0\")\" && exec {}\"${{COLLAGEC:-collagec}}\"{}\n",
                  environment_of(what.rules), arguments_text(what, rules, ""));
  const fs::path run = to.entry("run.sh");
  if (!support::write_file(run.string(), script, diags)) return std::nullopt;
  std::error_code ignored;
  fs::permissions(run, fs::perms::owner_exec, fs::perm_options::add, ignored);
  to.keep();
  return fmt::format("{}collagec{}", environment_of(what.rules), arguments_text(what, rules, folder));
}

}  // namespace collage::driver
