// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/commands/write_reproducer.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "compiler/driver/input/stated_options.h"
#include "compiler/driver/output/write_model.h"
#include "compiler/ir/extract_partition.h"
#include "compiler/ir/print.h"
#include "compiler/support/write_file.h"
#include "runtime/io/npy.h"

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

bool make_folder(const fs::path& folder, support::Diagnostics& diags) {
  std::error_code error;
  if (fs::exists(folder, error) && (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))) {
    return diags.error_at(Code::CannotWrite, folder.string(), "is no empty folder");
  }
  fs::create_directories(folder, error);
  return !error || diags.error_at(Code::CannotWrite, folder.string(), "cannot create: {}", error.message());
}

/// Copies the files and folders that were given as rules. A file brings those along that it can include: the rule files
/// and tables beside it.
bool copy_rules(const std::vector<std::string>& paths, const fs::path& to, support::Diagnostics& diags) {
  std::error_code error;
  fs::create_directories(to, error);
  for (const std::string& path : paths) {
    if (error) break;
    const fs::path from(path);
    if (fs::is_directory(from, error)) {
      fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::skip_existing, error);
    } else if (!error) {
      fs::copy_file(from, to / from.filename(), fs::copy_options::skip_existing, error);
    }
  }
  return !error || diags.error_at(Code::CannotWrite, to.string(), "cannot copy the rules: {}", error.message());
}

/// Constants written out, so that the folder needs no file of the model's.
ir::Constant written_out(const ir::Constant& constant) {
  ir::Constant made = constant;
  if (made.form != ir::Constant::Form::File) return made;
  made.form = ir::Constant::Form::Literal;
  made.file.clear();
  made.key.clear();
  return made;
}

/// The options that the partition depends on.
std::string options_text(const Request& request) {
  static const std::set<std::string> kRepeated = {"-t", "--allow", "--memory", "--threads", "--numerics", "--cpu"};
  std::string text;
  for (const auto& [flag, values] : stated_options(request)) {
    if (!kRepeated.contains(flag)) continue;
    for (const std::string& value : values) text += fmt::format(" {} {}", flag, quoted(value));
  }
  return text;
}

/// The command, with the files in `folder`.
std::string command_text(const Reproducer& what, const fs::path& folder) {
  std::string text = fmt::format("collagec {} -r {}{} --check", quoted((folder / "model.ir").string()),
                                 quoted((folder / "rules").string()), options_text(what.request));
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    const std::string& name = what.graph.value(what.partition.inputs[i].value).name;
    const std::string file = (folder / fmt::format("input_{}.npy", i)).string();
    text += " --input " + quoted(name + "=" + file);
  }
  return text;
}

}  // namespace

std::optional<std::string> write_reproducer(const Reproducer& what, const std::string& folder,
                                            support::Diagnostics& diags) {
  const fs::path to(folder);
  if (!make_folder(to, diags) || !copy_rules(what.rules.paths, to / "rules", diags)) return std::nullopt;
  ir::PlacedGraph alone = ir::extract_partition(what.graph, what.partition, {what.graph.name, {}, written_out});
  const WeightsPlace weights{to.string(), "model", true, {}};
  support::FileGroup files;
  if (!move_weights_out(alone.graph, to.string(), weights, files, diags)) return std::nullopt;
  const std::string text = ir::print(alone.graph, alone.placement);
  if (!files.add((to / "model.ir").string(), text, diags) || !files.commit(diags)) return std::nullopt;
  for (size_t i = 0; i < what.inputs.size(); ++i) {
    const std::string file = (to / fmt::format("input_{}.npy", i)).string();
    if (runtime::Status status = runtime::write_npy(file, what.inputs[i]); !status) {
      return diags.error_at(Code::CannotWrite, file, "{}", status.message());
    }
  }
  const std::string script = "#!/bin/sh\ncd \"$(dirname \"$0\")\" && exec " + command_text(what, "") + "\n";
  if (!support::write_file((to / "run.sh").string(), script, diags)) return std::nullopt;
  std::error_code ignored;
  fs::permissions(to / "run.sh", fs::perms::owner_exec, fs::perm_options::add, ignored);
  return command_text(what, to);
}

}  // namespace collage::driver
