// SPDX-License-Identifier: Apache-2.0
// What all commands work on, and the commands themselves. Each does one thing that the command line can ask for; after
// a failure there are errors in `diags`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/stage_clock.h"
#include "compiler/page/report_data.h"
#include "compiler/program/program.h"
#include "compiler/report/quantize_report.h"
#include "runtime/core/status.h"
#include "runtime/package/package.h"
#include "runtime/runner/bind_inputs.h"
#include "runtime/runner/faults.h"

namespace collage::report {
struct Comparison;
}  // namespace collage::report

namespace collage::driver {

struct Command {
  const request::Request& request;
  const Output& output;
  support::SourceManager& sources;
  support::Diagnostics& diags;
  StageClock& clock;
  compilation::Compilation& compilation;
  std::vector<runner::BoundInput> inputs{};           ///< where something is to be run
  ir::Placement offered{};                            ///< `--candidate-placement`, read by `read_candidates`
  std::shared_ptr<runtime::FaultInjector> faults{};   ///< `--faults`; null: none
  std::vector<passes::PassSnapshot> history{};        ///< of `check` and `bisect`: the model as given, after passes
  std::optional<report::QuantizeReport> quantized{};  ///< what `--calibrate` did to the compilation's model
  page::Findings findings{};                          ///< for the page of `--report`
  nlohmann::ordered_json executed{};                  ///< what `run` and `bench` add to the document of `--json`
  /// Packages of `--buckets`: the last one is this bucket's; all become one file. Null: each becomes a file.
  std::vector<runtime::Package>* packages = nullptr;
  /// A stage of a model that runs in stages (stage_commands.h): `inputs` are given, and no package is written.
  bool is_stage = false;
  report::Comparison* compared = nullptr;  ///< where `compare` leaves its table; null: it is printed

  /// Lines for people, which a document on standard output replaces.
  void print(std::string_view lines) const {
    if (output.result && !request.json.is_printed()) output.result(lines);
  }
  /// `--json`: prints the document, or writes it to its file. False after an error.
  bool write_document(const std::string& document) const;
  /// What is said below times of these backends where some are models of chips.
  std::string note_on_models(const std::vector<std::string>& shown) const;
  /// Writes to the output file of the request, or prints where there is none. False after an error.
  bool print_or_write(std::string_view text) const;
  /// The answer: as `print_or_write` the lines for people, or with `--json` the document; with `--json=FILE` both, the
  /// document into that file. False after an error.
  bool answer(std::string_view lines, const std::function<std::string()>& document) const;
};

/// All that the request asks of the model of the compilation.
void run_request(Command& command);

/// The model, or with `--emit` what is asked for, and the programs that run it.
void compile(Command& command);
/// `compare`
void compare(Command& command);
/// `simulate`
void simulate(Command& command);
/// `why`, `why-not`
void explain(Command& command);
/// `diff`
void diff_placements(Command& command);

/// Stages before candidates: `--emit=nodes`, `graph`, `ir`, `onnx`.
bool is_shown_before_search(request::Emit emit);
void show_model(const Command& command);
/// The model with a placement, in the model language. Weights are moved to a file beside it where they do not belong in
/// the text. False after an error.
bool show_placed_model(const Command& command, const ir::Placement& placement);
/// `--emit=plan`, `lowering`, `c`, `llvm` and `asm`.
bool is_shown_after_build(request::Emit emit);
void show_program(const Command& command, const ir::Placement& placement, const program::Program& program);

/// Loads the program, then checks, verifies, runs and times it as asked. Returns a run whose partitions were found
/// right. `report`: of the compilation, what is measured is compared with it.
std::optional<runtime::KnownRun> execute(Command& command, const ir::Placement& placement, const report::Report& report,
                                         program::Program& program);
/// `bisect`: reports the pass that changes what the model computes, or the first partition that differs from the
/// reference kernels, and writes its smallest part that does.
void bisect(Command& command, const compilation::Candidates& candidates, const ir::Placement& placement);
/// `--faults`, of the devices that there are now.
void inject_faults(const runner::Faults& faults, Command& command);

/// `--save-placement`, where it is asked for. False after an error.
bool save_placement(const Command& command, const ir::Placement& placement);
/// A placement file, or the model's own placement where `path` is empty. Returns nullopt after an error.
std::optional<ir::Placement> read_written(const Command& command, const std::string& path);
/// The candidates for the placement files of the request. Returns nullopt after errors.
std::optional<compilation::Candidates> read_candidates(Command& command);
/// The placement of `--candidate-placement` as it is; what it does not name is searched. Fails where it cannot be
/// followed.
runtime::Result<search::FoundPlacement> follow_candidate_placement(Command& command, const place::Strategy& strategy);

}  // namespace collage::driver
