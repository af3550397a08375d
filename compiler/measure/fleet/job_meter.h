// SPDX-License-Identifier: Apache-2.0
// Measures candidates of others, as the compiler would measure its own: in measuring processes, one for each number of
// threads and kind of code that is asked for, or by the cost programs of rule files.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/measure/cost_program.h"
#include "compiler/measure/environments.h"
#include "compiler/measure/fleet/queue.h"
#include "compiler/measure/repeats.h"
#include "compiler/measure/worker.h"

namespace collage::measure::fleet {

struct JobMeterOptions {
  std::string program;                 ///< path of `collage-measure`
  std::vector<std::string> arguments;  ///< the rule files and targets
  TargetMachine here;
};

/// What is measured alone on the machine, and what runs elsewhere.
struct Needs {
  std::vector<std::string> alone;
  std::vector<std::string> side_by_side;  ///< of cost programs, which ask a board or a simulator
};

class JobMeter {
 public:
  /// `backends`: the active ones. `named`: those to be measured, `host` for the implicit one; empty: all.
  JobMeter(JobMeterOptions options, const place::ActiveBackends& backends, const std::vector<std::string>& named);

  const Needs& needs() const { return needs_; }
  Measurement measure(const Wanted& wanted);
  /// The most seconds that this may take.
  static double most_seconds(const Wanted& wanted);

  /// What the reference kernel takes (reference_kernel.h), for processes that start from now on.
  void set_reference(Duration reference) { reference_ = reference; }
  /// As the last process said; 0: none was started.
  Duration measured_reference() const { return measured_reference_; }

 private:
  struct Process {
    std::string key;  ///< of its arguments
    std::unique_ptr<Worker> worker;
  };
  struct External {
    place::ActiveBackend active;
    std::map<std::string, std::unique_ptr<CostProgram>> by_timeout;
  };
  Measurement ask_program(External& external, const Wanted& wanted);
  Worker& process_for(const Wanted& wanted);

  JobMeterOptions options_;
  Needs needs_;
  std::map<std::string, External> external_;  ///< by environment
  std::list<Process> processes_;              ///< the last one used first
  Repeats repeats_;
  Duration reference_, measured_reference_;
};

}  // namespace collage::measure::fleet
