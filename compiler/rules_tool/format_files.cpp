// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/format_files.h"

#include <iostream>
#include <iterator>
#include <optional>

#include "compiler/rules_tool/format.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"
#include "runtime/support/print.h"
#include "runtime/support/write_file.h"

namespace collage::rules_tool {
namespace {

using support::Code;
using support::Diagnostics;
using support::FileId;
using support::SourceManager;

std::optional<std::string> formatted(const SourceManager& sources, FileId file, Diagnostics& diags) {
  if (!syntax::parse_rules(sources, file, diags)) return std::nullopt;
  return format_rules(sources, file);
}

bool format_stdin(SourceManager& sources, bool only_check, Diagnostics& diags) {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  FileId file = sources.add("<standard input>", std::move(text));
  std::optional<std::string> result = formatted(sources, file, diags);
  if (!result) return false;
  if (only_check) return *result == sources.text(file);
  support::print_exactly(*result);
  return true;
}

bool format_file(SourceManager& sources, const std::string& path, bool only_check, Diagnostics& diags) {
  const runtime::Result<FileId> file = sources.load(path);
  if (!file) return diags.error_at(Code::CannotRead, path, "cannot be read: {}", file.message());
  std::optional<std::string> result = formatted(sources, *file, diags);
  if (!result) return false;
  if (*result == sources.text(*file)) return true;
  if (!only_check && !support::write_file(path, *result, diags, runtime::Replaces::Anything)) return false;
  support::print("{}\n", path);
  return !only_check;
}

}  // namespace

bool format_files(SourceManager& sources, const std::vector<std::string>& paths, const FormatOptions& options,
                  Diagnostics& diags) {
  bool good = true;
  for (const std::string& path : paths) {
    if (path == "-") {
      good = format_stdin(sources, options.only_check, diags) && good;
      continue;
    }
    auto files = sema::rule_files(path, support::FileAccess({path}, options.allow_outside), diags);
    good = files.has_value() && good;
    if (!files) continue;
    for (const std::string& file : *files) good = format_file(sources, file, options.only_check, diags) && good;
  }
  return good;
}

}  // namespace collage::rules_tool
