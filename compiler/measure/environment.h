// SPDX-License-Identifier: Apache-2.0
// What a measurement depends on besides the candidate: machine, build, number of threads, backend. As text it is the
// first half of the key of a cost in the database.
#pragma once

#include <string>
#include <string_view>

#include "compiler/place/candidates/candidates.h"

namespace collage::measure {

/// Parts that do not matter to a cost are empty; an answer of a program depends on the program and the backend alone.
struct Environment {
  std::string program;   ///< that answers costs: `describe_program`
  std::string machine;   ///< `describe_machine`
  std::string build;     ///< `describe_build`
  std::string threads;   ///< their number
  std::string numerics;  ///< of generated code, as `--numerics` names them
  std::string code_for;  ///< the processor that `--cpu` names
  /// What is measured: `describe_backend`, or `host`; of whole plans, all backends, then `plans`.
  std::string subject{};

  /// The same with another subject.
  Environment of(std::string other) const;
  /// Whether it is this machine's, or every machine's.
  bool holds_here() const;
  /// The name of the machine's processor without the list of its features.
  std::string_view processor() const;
  /// The name of the backend.
  std::string_view backend() const;
};

/// A line for each part, the subject last. Databases hold such texts: another form means that nothing is known.
std::string to_text(const Environment& environment);
/// The parts of a text; what has no known form belongs to the subject.
Environment parse_environment(std::string_view text);

/// This machine's processor: its name and features, as the kernel reports them.
std::string describe_machine();

/// The code that measures: version of Collage, versions of the loaded libraries, and a fingerprint of the program and
/// of its library, so that a new compiler does not reuse the costs of an old one.
std::string describe_build(const std::string& worker_program);

/// One active backend: `host version 1 runtime host_jit {bandwidth = 1e+10, gflops = 180}`.
std::string describe_backend(const place::ActiveBackend& active);

/// A command and fingerprints of the files that its words name: a file that changes makes another program, of which no
/// cost is known. Words are looked up from `folder`, the first one also in PATH.
std::string describe_program(const std::string& command, const std::string& folder);

}  // namespace collage::measure
