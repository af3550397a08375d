// SPDX-License-Identifier: Apache-2.0
// The command line of `collage-run`.
#pragma once

#include <string>
#include <vector>

#include "runtime/cluster/mpi_transport.h"
#include "runtime/runner/run_request.h"

namespace CLI {
class App;
}

namespace collage::tools {

struct RunOptions {
  std::vector<std::string> packages;
  runner::RunRequest run;
  int threads = 0;  ///< 0: as many as the package was compiled for
  int bench = 0;    ///< timed runs; 0: none
  std::string bench_json;
  double timeout = 300;  ///< seconds that a rank waits for a value of another one; 0: no limit
  double start_timeout = runtime::MpiOptions().start.count();  ///< seconds until all ranks are there; 0: no limit
  std::string faults;                                          ///< file or text
  runner::TraceRequest trace;
  runner::RequestsRequest requests;
  bool check = false;  ///< compare with the results that the package has with it
  bool json = false;
  bool placed = false;  ///< print the placed model, and stop
  bool about = false;   ///< print what is in the package, and stop
  std::string explain;  ///< code of a diagnostic
};

/// Declares the options on `app`, which stores them in `options` when it parses.
void add_run_options(CLI::App& app, RunOptions& options);

/// What is wrong with options that were given together; empty: nothing.
std::string wrong_combination(const RunOptions& options);

}  // namespace collage::tools
