// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/build_text.h"

#include <random>

#include "compiler/plan/find_matches.h"
#include "compiler/sema/model/build_graph.h"

namespace collage::measure {
namespace {

using runtime::Tensor;

/// Uniform in [-1, 1); integers and bools are zero, a valid index everywhere.
Tensor make_input(const ir::TensorType& type, uint32_t seed) {
  Tensor tensor(type.dtype, type.shape);
  if (!runtime::is_float(type.dtype)) return tensor;
  std::minstd_rand random(seed + 1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  with_element_type(type.dtype, [&]<typename T>(runtime::Type<T>) {
    for (T& value : tensor.as<T>()) value = static_cast<T>(uniform(random));
  });
  return tensor;
}

}  // namespace

runtime::Result<BuiltText> build_text(const std::string& text, const plan::PlanTargets& targets,
                                      const codegen::JitOptions& options) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const auto first_error = [&](const std::string& otherwise) {
    for (const support::DiagnosticRecord& record : diags.records()) {
      if (record.severity == support::Severity::Error) return runtime::Status::error(record.message);
    }
    return runtime::Status::error(otherwise);
  };
  const support::FileId file = sources.add("<candidate>", text);
  std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  if (!model || model->placement.partitions.empty()) return first_error("the text is not a placed model");
  // The text names the rules, which is all that this process knows of them. A rule that reads weights may not match the
  // random ones of the text: then it runs without requests.
  if (plan::find_matches(model->graph, targets, &model->placement)) {
    for (ir::Partition& partition : model->placement.partitions) partition.matches.clear();
  }
  auto jit = codegen::Jit::create(options);
  if (!jit) return jit.status();
  std::optional<plan::BuiltPlan> built = plan::build_plan(model->graph, model->placement, targets, **jit, diags);
  if (!built) return first_error("it cannot be planned");
  BuiltText result{std::move(*jit), std::move(model->placement), std::move(*built), {}};
  for (ir::ValueId input : model->graph.inputs()) {
    result.inputs.push_back(make_input(model->graph.value(input).type, static_cast<uint32_t>(result.inputs.size())));
  }
  return result;
}

codegen::JitOptions jit_options(const plan::PlanTargets& targets, int threads, support::FileCache* cache) {
  codegen::JitOptions options;
  options.threads = threads;
  options.cache = cache;
  options.numerics = targets.code.numerics;
  options.cpu = targets.code.cpu;
  return options;
}

}  // namespace collage::measure
