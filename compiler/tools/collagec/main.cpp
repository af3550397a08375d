// SPDX-License-Identifier: Apache-2.0
// `collagec`. Exit codes: 0 done, 1 the input is at fault, 2 wrong usage, 3 a fault of ours.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "compiler/driver/commands/pipeline.h"
#include "compiler/driver/input/options.h"

int main(int argc, char** argv) {
  try {
    collage::driver::ParsedOptions parsed = collage::driver::parse_options(argc, argv);
    if (!parsed.options) return parsed.exit_code;
    int code = collage::driver::run_pipeline(*parsed.options);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "error: standard output cannot be written\n");
    return code == 0 ? 1 : code;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\nThis is a fault of collagec, not of its input; please report it.\n",
               error.what());
    return 3;
  }
}
