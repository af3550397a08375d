// SPDX-License-Identifier: Apache-2.0
#include "compiler/program/program.h"

#include <algorithm>

#include "compiler/plan/part_plan.h"
#include "compiler/program/local_hosts.h"
#include "runtime/core/text.h"
#include "runtime/exec/host_constants.h"
#include "runtime/plan/usual_threads.h"

namespace collage::program {

using support::Code;

std::optional<Program> build_program(const ir::Graph& graph, const ir::Placement& placement,
                                     const plan::PlanTargets& targets, const ProgramOptions& options,
                                     support::Diagnostics& diags) {
  const runner::WorkListener none;
  const runner::WorkScope work(options.listener != nullptr ? *options.listener : none, runner::Work::Compiling);
  codegen::JitOptions jit_options;
  jit_options.threads = targets.threads;
  jit_options.numerics = targets.code.numerics;
  jit_options.cpu = targets.code.cpu;
  jit_options.keep_text = options.keep_text;
  jit_options.cache = options.cache;
  runtime::Result<std::unique_ptr<codegen::Jit>> jit = codegen::Jit::create(jit_options);
  if (!jit) return diags.error_at(Code::BackendFailed, "host", "{}", jit.message());
  const std::atomic<bool>* stop = options.listener != nullptr ? options.listener->stop_measuring : nullptr;
  const auto is_stopped = [&] { return stop != nullptr && *stop; };
  size_t compiled = 0;  // nodes; reorders add some that the model does not have
  (*jit)->listen([&](size_t nodes) {
    work.report(std::min(compiled, graph.node_count()), graph.node_count(), "operators");
    compiled += nodes;
    return !is_stopped();
  });
  std::optional<plan::BuiltPlan> built = plan::build_plan(graph, placement, targets, **jit, diags, options.excess);
  (*jit)->listen(nullptr);
  if (!built || is_stopped()) return std::nullopt;
  if (const size_t fallbacks = built->fallbacks.size(); options.is_strict && fallbacks > 0) {
    return diags.error_at(Code::BackendFailed, "--strict", "{} fell back to the reference kernels",
                          runtime::counted(fallbacks, "partition"));
  }
  Program program{std::move(*jit), std::move(*built)};
  if (targets.is_cluster()) program.parts = plan::cut_by_host(program.built, targets);
  return program;
}

int run_threads(const Program& program, const request::Settings& settings) {
  if (settings.has_own_threads || !program.parts.empty()) return settings.threads;
  return runtime::usual_threads(program.built.plan, settings.threads);
}

std::unique_ptr<runtime::Executor> load_program(Program& program, int threads, support::Diagnostics& diags,
                                                runtime::LoadOptions options,
                                                std::shared_ptr<runtime::Replanner> replanner) {
  if (!program.parts.empty()) {
    std::optional<LoadedHosts> loaded = load_hosts(program, threads, diags, std::move(options));
    return loaded ? std::move(loaded->first) : nullptr;
  }
  runtime::Plan& plan = program.built.plan;
  runtime::join_host_constants(plan);
  auto executor = runtime::Executor::load(plan, *program.jit, threads, std::move(options), std::move(replanner));
  if (executor) return std::move(*executor);
  diags.error_at(Code::RunFailed, plan.model, "{}", executor.message());
  return nullptr;
}

}  // namespace collage::program
