// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/guarded_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "runtime/io/files_read.h"
#include "runtime/tools/command_line/process_limits.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

/// Where standard output or error is closed, the next file that is opened would get its number, and the messages. A
/// descriptor that cannot be written to takes its place.
void hold_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);  // takes the lowest
  }
}

/// Prints without throwing: there may be nowhere to print to.
void complain(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

bool is_written(std::FILE* stream) {
  return std::fflush(stream) == 0 && std::ferror(stream) == 0;
}

/// The code, or that of an error where standard output or error could not be written. `why`: what was thrown about it.
int after_output(int code, const char* why) {
  const bool is_whole = is_written(stdout);
  const std::string reason = why != nullptr ? why : std::strerror(errno);
  if (is_whole && is_written(stderr)) return code;
  if (!is_whole) complain("error: standard output cannot be written: " + reason + "\n");
  return code == kSuccess ? kInputError : code;
}

}  // namespace

int guarded_main(const char* name, const std::function<int()>& run) {
  hold_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with a message
  runtime::note_files_read();
  try {
    return after_output(run(), nullptr);
  } catch (const std::bad_alloc&) {
    complain("error: " + out_of_memory() + "\n");
    return after_output(kInputError, nullptr);
  } catch (const std::exception& error) {
    // What prints throws where it cannot.
    const bool is_of_output = dynamic_cast<const std::system_error*>(&error) != nullptr &&
                              (std::ferror(stdout) != 0 || std::ferror(stderr) != 0);
    if (is_of_output) return after_output(kInputError, error.what());
    complain(std::string("internal error: ") + error.what() + "\nThis is a bug in " + name +
             ", not in its input; please report it.\n");
    return kInternalError;
  }
}

}  // namespace collage::tools
