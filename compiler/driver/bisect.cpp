// SPDX-License-Identifier: Apache-2.0
// `bisect -o FOLDER`: which part of a placed model computes something else than the reference kernels.
//
// The reference kernels run the whole model first, as given and after each pass: where passes or rewrites of rule files
// changed a result, that is the answer, since partitions are judged against what they made. Every partition is then
// compiled as a model of its own and judged as `check` does, on the reference's values, so that no partition suffers
// from the ones before it. Of the first that differs, in the order of execution, the candidates within it that its
// backend could run alone are judged likewise, small ones first. What cannot be compiled alone is said to be not
// checked.
#include <algorithm>

#include "compiler/driver/command.h"
#include "compiler/driver/write_reproducer.h"
#include "compiler/ir/analysis/evaluate_nodes.h"
#include "compiler/ir/placement/extract_partition.h"
#include "compiler/plan/check.h"
#include "compiler/plan/find_matches.h"
#include "compiler/program/check_passes.h"
#include "compiler/request/graph_ports.h"

namespace collage::driver {
namespace {

using support::Code;
using Tensors = std::vector<ir::Tensor>;

/// Candidates within a partition that are judged at most: each is compiled.
constexpr size_t kMostParts = 400;

std::string nodes_text(const ir::Graph& graph, const ir::Partition& partition) {
  constexpr size_t kMostNames = 6;
  std::string text;
  for (size_t i = 0; i < std::min(kMostNames, partition.nodes.size()); ++i) {
    text += (i == 0 ? "" : ", ") + graph.node_name(partition.nodes[i]);
  }
  const size_t left = partition.nodes.size() - std::min(kMostNames, partition.nodes.size());
  return "{" + text + (left > 0 ? fmt::format(" and {} more", left) : "") + "}";
}

class Bisection {
 public:
  Bisection(Command& command, const compilation::Candidates& candidates, const ir::Placement& placement)
      : command_(command),
        graph_(command.compilation.graph()),
        candidates_(candidates),
        placement_(placement),
        inputs_(runner::inputs_of_run(request::ports_of(graph_), command.inputs, 0)) {}

  void run() {
    if (!evaluate() || !passes_are_right()) return;
    for (const size_t index : ir::execution_order(graph_, placement_)) {
      const ir::Partition& partition = placement_.partitions[index];
      const std::optional<plan::CheckRow> wrong = judge(partition);
      if (wrong) return report(partition, *wrong);
    }
    command_.print(fmt::format("bisect      {} of {} partitions are right\n", judged_ - refused_.size(), judged_));
    print_refused();
  }

 private:
  bool evaluate() {
    values_.resize(graph_.value_count());
    for (ir::ValueId id : graph_.value_ids()) {
      if (graph_.value(id).is_constant()) values_[id.slot()] = graph_.value(id).constant->data;
    }
    for (size_t i = 0; i < inputs_.size(); ++i) values_[graph_.inputs()[i].slot()] = inputs_[i];
    auto made = ir::evaluate_nodes(graph_, graph_.node_ids(), [&](ir::ValueId id) { return values_[id.slot()]; });
    if (!made) {
      return command_.diags.error_at(Code::RunFailed, graph_.name, "the reference kernels: {}", made.message());
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!(*made)[i].is_empty_handle()) values_[i] = (*made)[i];
    }
    return true;
  }

  /// False where a pass changed what the model computes; that is reported.
  bool passes_are_right() {
    std::vector<plan::CheckRow> rows = program::check_passes(command_.history, inputs_, plan::kDefaultTolerance);
    if (rows.empty()) return true;  // nothing changed the model, or the reference cannot say
    const plan::CheckReport report{.rows = std::move(rows)};
    if (report.passed()) {
      command_.print(
          fmt::format("passes      {} changed the model, and not what it computes\n", command_.history.size() - 1));
      return true;
    }
    const auto wrong =
        std::find_if(report.rows.begin(), report.rows.end(), [](const plan::CheckRow& row) { return !row.passed; });
    command_.print(
        fmt::format("bisect      before any partition: `{}` changes what the model computes\n", wrong->backend));
    plan::report_failures(report, command_.diags);
    return false;
  }

  Tensors inputs_of(const ir::Partition& partition) const {
    Tensors inputs;
    for (const ir::BoundaryValue& input : partition.inputs) inputs.push_back(values_[input.value.slot()]);
    return inputs;
  }

  /// The first result that differs. A partition that cannot be compiled alone is noted in `refused_`.
  std::optional<plan::CheckRow> judge(const ir::Partition& partition) {
    ++judged_;
    support::Diagnostics unheard(command_.sources);
    const runtime::Result<plan::CheckReport> report = check(partition, unheard);
    if (!report) {
      refused_.push_back(fmt::format("{} on {} {}: {}", partition.name, partition.instance,
                                     nodes_text(graph_, partition), report.message()));
      return std::nullopt;
    }
    const auto wrong =
        std::find_if(report->rows.begin(), report->rows.end(), [](const plan::CheckRow& row) { return !row.passed; });
    return wrong == report->rows.end() ? std::nullopt : std::optional(*wrong);
  }

  runtime::Result<plan::CheckReport> check(const ir::Partition& partition, support::Diagnostics& diags) {
    using runtime::Status;
    const plan::PlanTargets& targets = command_.compilation.targets();
    ir::PlacedGraph alone = ir::extract_partition(graph_, partition, {graph_.name});
    if (plan::find_matches(alone.graph, targets, &alone.placement))
      return Status::error("its rules do not match it alone");
    const program::ProgramOptions options{.cache = command_.compilation.cache()};
    std::optional<program::Program> program =
        program::build_program(alone.graph, alone.placement, targets, options, diags);
    auto executor = program ? program::load_program(*program, command_.compilation.settings().threads, diags) : nullptr;
    if (executor == nullptr) return Status::error("it cannot be compiled alone");
    return plan::check_plan(alone.graph, program->built, *executor, inputs_of(partition), plan::kDefaultTolerance,
                            command_.request.integer_steps);
  }

  /// What the same instance could run alone of the partition, small ones first.
  std::vector<ir::Partition> parts_of(const ir::Partition& whole) const {
    std::vector<ir::Partition> parts;
    for (const place::CandidateId id : candidates_.built.candidate_ids()) {
      ir::Partition part = place::candidate_partition(graph_, candidates_.built, id);
      const bool is_within =
          part.nodes.size() < whole.nodes.size() && part.instance == whole.instance && part.backend == whole.backend &&
          !part.split && std::includes(whole.nodes.begin(), whole.nodes.end(), part.nodes.begin(), part.nodes.end());
      if (is_within) parts.push_back(std::move(part));
    }
    std::stable_sort(parts.begin(), parts.end(), [](const ir::Partition& a, const ir::Partition& b) {
      return std::make_pair(a.nodes.size(), a.nodes) < std::make_pair(b.nodes.size(), b.nodes);
    });
    if (parts.size() > kMostParts) parts.resize(kMostParts);
    return parts;
  }

  /// Nothing is known of what cannot be compiled alone.
  void print_refused() const {
    if (refused_.empty()) return;
    command_.print(fmt::format("not checked {}, which cannot run alone:\n", refused_.size()));
    for (const std::string& line : refused_) command_.print("            " + line + "\n");
  }

  void report(const ir::Partition& partition, const plan::CheckRow& wrong) {
    const size_t before = judged_ - 1 - refused_.size();
    command_.print(fmt::format("bisect      {} of {} partitions are right, then {} on {} {} differs\n", before,
                               placement_.partitions.size(), partition.name, partition.instance,
                               nodes_text(graph_, partition)));
    print_refused();
    const size_t refused = refused_.size();
    ir::Partition smallest = partition;
    plan::CheckRow row = wrong;
    for (ir::Partition& part : parts_of(partition)) {
      const std::optional<plan::CheckRow> found = judge(part);
      if (!found) continue;
      smallest = std::move(part);
      row = *found;
      break;
    }
    std::string rules;
    for (const std::string& rule : ir::rule_names(smallest)) rules += " " + rule;
    const size_t unknown = refused_.size() - refused;
    command_.print(fmt::format("smallest    {}{}{}{}\n", nodes_text(graph_, smallest), rules.empty() ? "" : " by rule",
                               rules, unknown == 0 ? "" : fmt::format("; {} parts cannot run alone", unknown)));
    const Reproducer reproducer{command_.request, command_.compilation.rules(), graph_, smallest, inputs_of(smallest)};
    const std::optional<std::string> line = write_reproducer(reproducer, command_.request.output, command_.diags);
    if (line) command_.print(fmt::format("wrote       {}\nrun         {}\n", command_.request.output, *line));
    row.partition = partition.name;
    plan::report_failures({.rows = {row}}, command_.diags);
  }

  Command& command_;
  const ir::Graph& graph_;
  const compilation::Candidates& candidates_;
  const ir::Placement& placement_;
  const Tensors inputs_;
  Tensors values_;  ///< the reference's, by value slot
  size_t judged_ = 0;
  std::vector<std::string> refused_;
};

}  // namespace

void bisect(Command& command, const compilation::Candidates& candidates, const ir::Placement& placement) {
  Bisection(command, candidates, placement).run();
}

}  // namespace collage::driver
