// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/command_line/guarded_main.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "compiler/tools/command_line/program_text.h"

namespace collage::tools {

int guarded_main(const char* name, const std::function<int()>& run) {
  try {
    const int code = run();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "error: standard output cannot be written\n");
    return code == kSuccess ? kInputError : code;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return kInputError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\nThis is a bug in {}, not in its input; please report it.\n", error.what(),
               name);
    return kInternalError;
  }
}

}  // namespace collage::tools
