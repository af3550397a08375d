// SPDX-License-Identifier: Apache-2.0
// From the rows of library_list.def to kernels. A program is checked here, once for all libraries, so that none of them
// needs to check indices.
#include <algorithm>
#include <exception>

#include "runtime/core/checked_size.h"
#include "runtime/core/layout.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/plugin/plugin.h"

namespace collage::runtime {

#define COLLAGE_LIBRARY(row, prepare, version)                                                \
  Result<std::unique_ptr<LibraryKernel>> prepare(const LibraryProgram& program, int threads); \
  std::string version();
#include "runtime/libraries/library_list.def"
#undef COLLAGE_LIBRARY

namespace {

Status damaged(const std::string& what) {
  return Status::error("damaged library program: " + what);
}

Status check_calls(const LibraryProgram& program) {
  auto exists = [](int index, size_t count) { return index >= 0 && static_cast<size_t>(index) < count; };
  for (const LoweringCall& call : program.calls) {
    for (const LoweringArg& arg : call.args) {
      if (arg.is_slot() && !exists(arg.slot, program.values.size()))
        return damaged("a call of a value that is not there");
    }
    for (int op : call.ops) {
      if (!exists(op, program.ops.size())) return damaged("a call of an operator that is not there");
    }
  }
  return Status::ok();
}

/// Every value has one source and a unique number; operators read only values that are already defined.
Status check(const LibraryProgram& program) {
  std::vector<bool> is_there(program.values.size(), false);
  auto exists = [&](int value) { return value >= 0 && static_cast<size_t>(value) < program.values.size(); };
  auto define = [&](int value) {
    if (!exists(value) || is_there[static_cast<size_t>(value)]) return false;
    is_there[static_cast<size_t>(value)] = true;
    return true;
  };
  for (size_t v = 0; v < program.values.size(); ++v) {
    const LibraryValue& value = program.values[v];
    if (!checked_bytes(value.dtype, value.shape)) return damaged("a value of an impossible shape");
    if (!layout_permutation(value.layout, value.shape.size())) return damaged("a layout that the rank does not have");
    if (value.constant.is_empty_handle()) continue;
    is_there[v] = true;
    if (value.constant.dtype() != value.dtype || value.constant.shape() != value.shape)
      return damaged("a constant that does not fit its value");
  }
  for (int input : program.inputs) {
    if (!define(input)) return damaged("an input that is no value or has another source");
  }
  std::vector<bool> is_made(program.values.size(), false);
  for (const LibraryOp& op : program.ops) {
    for (int input : op.inputs) {
      if (input != -1 && (!exists(input) || !is_there[static_cast<size_t>(input)]))
        return damaged("`" + op.op + "` reads a value that is not there");
    }
    for (int output : op.outputs) {
      if (output == -1) continue;
      if (!define(output)) return damaged("`" + op.op + "` writes a value that is not its own");
      is_made[static_cast<size_t>(output)] = true;
    }
  }
  std::vector<int> outputs = program.outputs;
  std::sort(outputs.begin(), outputs.end());
  if (std::adjacent_find(outputs.begin(), outputs.end()) != outputs.end()) return damaged("an output twice");
  for (int output : outputs) {
    if (!exists(output) || !is_made[static_cast<size_t>(output)]) return damaged("an output that no operator makes");
  }
  return check_calls(program);
}

}  // namespace

std::vector<std::string> LibraryKernel::describe() const {
  std::vector<std::string> lines;
  for (LibraryPart& part : parts()) lines.push_back(std::move(part.text));
  return lines;
}

Result<std::unique_ptr<LibraryKernel>> prepare_library(std::string_view library, const LibraryProgram& program,
                                                       int threads) {
  if (Status status = check(program); !status) return status;
  try {
    if (library.starts_with(kPluginPrefix)) return prepare_plugin(library, program, std::max(threads, 1));
#define COLLAGE_LIBRARY(row, prepare, version) \
  if (library == #row) return prepare(program, std::max(threads, 1));
#include "runtime/libraries/library_list.def"
#undef COLLAGE_LIBRARY
  } catch (const std::exception& exception) {
    return Status::error(std::string(library) + ": " + exception.what());
  }
  return Status::error("this build has no library `" + std::string(library) + "`");
}

std::vector<std::string_view> library_names() {
  return {
#define COLLAGE_LIBRARY(row, prepare, version) #row,
#include "runtime/libraries/library_list.def"
#undef COLLAGE_LIBRARY
  };
}

std::string library_version(std::string_view library) {
#define COLLAGE_LIBRARY(row, prepare, version) \
  if (library == #row) return version();
#include "runtime/libraries/library_list.def"
#undef COLLAGE_LIBRARY
  if (library.starts_with(kPluginPrefix)) return version_of_plugin(library);
  return "";
}

bool has_library(std::string_view library) {
  std::vector<std::string_view> names = library_names();
  return std::find(names.begin(), names.end(), library) != names.end();
}

}  // namespace collage::runtime
