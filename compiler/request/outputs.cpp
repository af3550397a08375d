// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/outputs.h"

#include <fmt/format.h>

#include "compiler/request/option_table.h"
#include "runtime/io/file_replacement.h"
#include "runtime/support/write_file.h"

namespace collage::request {
namespace {

namespace fs = std::filesystem;

/// The files of one option that the request names.
std::vector<NamedFile> files_of(const OptionRow& row, Request& request) {
  if (const auto* path = std::get_if<Place<std::string>>(&row.place)) return {{"", (*path)(request)}};
  if (const auto* json = std::get_if<Place<JsonRequest>>(&row.place)) return {{"", (*json)(request).file}};
  if (const auto* named = std::get_if<Place<std::vector<NamedFile>>>(&row.place)) return (*named)(request);
  return {};
}

}  // namespace

std::string package_name(const fs::path& model) {
  return model.stem().string() + ".collage";
}

bool can_make_folder(const fs::path& path, support::Diagnostics& diags) {
  std::error_code error;
  const auto refuse = [&](const std::string& why) {
    return diags.error_at(support::Code::CannotWrite, path.string(), "{}", why);
  };
  if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error)))
    return refuse("is no empty folder");
  fs::path above = path;
  while (!above.empty() && !fs::exists(above, error)) above = above.parent_path();
  if (above.empty()) above = ".";
  if (!fs::is_directory(above, error)) return refuse(fmt::format("`{}` is no folder", above.string()));
  const runtime::Status status = runtime::FileReplacement::check((above / "new").string());
  return status || refuse("cannot create: " + status.message());
}

bool check_outputs(const Request& request, support::Diagnostics& diags) {
  Request copy = request;  // places are references into a request that may be changed
  bool good = true;
  for (const OptionRow& row : option_table()) {
    if (row.files != Files::Written || !row.commands.has(request.command)) continue;
    if (request.command == CommandName::Bisect && name_of(row) == "--output") {
      good = can_make_folder(request.output, diags) && good;
      continue;
    }
    for (const NamedFile& file : files_of(row, copy)) {
      if (runner::files_meant(file).size() > 1) continue;  // the names of the model say which; bind_inputs.h checks it
      const std::string option(name_of(row));
      good = support::can_write(file.file, file.name.empty() ? option : option + " " + file.name, diags) && good;
    }
  }
  // Where inputs are given, the model may run in stages, of which no package is written.
  const bool writes_package = request.command == CommandName::Compile && request.emit == Emit::All &&
                              request.output.empty() && request.run.inputs.empty();
  return (!writes_package || support::can_write_unnamed(package_name(request.model.path), "the package", diags)) &&
         good;
}

}  // namespace collage::request
