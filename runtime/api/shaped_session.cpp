// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/shaped_session.h"

#include <algorithm>

namespace collage::runtime {

ShapedSession::ShapedSession(std::shared_ptr<const CompiledModel> compiled, std::shared_ptr<const ShapedModel> shaped,
                             int threads, size_t kept)
    : inputs_(std::move(compiled), std::move(shaped)), threads_(threads), kept_(std::max<size_t>(kept, 1)) {}

Result<ShapedSession::Loaded*> ShapedSession::loaded(size_t index) {
  const auto known =
      std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& one) { return one.index == index; });
  if (known != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, known);
    return &loaded_.front();
  }
  auto model = inputs_.model(index);
  if (!model) return model.status();
  auto recovery = (*model)->recovery(threads_ > 0 ? threads_ : (*model)->run_threads());
  if (!recovery) return recovery.status();
  auto execution = RecoveringExecution::create(std::move(*recovery));
  if (!execution) return execution.status();
  loaded_.push_front({index, std::move(*model), std::move(*execution)});
  if (loaded_.size() > kept_) loaded_.pop_back();
  return &loaded_.front();
}

Status ShapedSession::run(std::span<const collage_array> inputs) {
  results_.clear();
  Result<ShapeChoice> choice = inputs_.choose(inputs);
  if (!choice) return choice.status();
  Result<Loaded*> loaded = this->loaded(choice->variant);
  if (!loaded) return loaded.status();
  const CompiledModel& model = *(*loaded)->model;

  // Where nothing is padded, inputs are used where they lie.
  std::vector<Tensor> padded;
  if (choice->padding.is_needed()) padded = inputs_.padded(inputs, *choice);
  std::vector<const std::byte*> from;
  for (size_t i = 0; i < inputs.size(); ++i) {
    from.push_back(padded.empty() ? static_cast<const std::byte*>(inputs[i].data) : padded[i].data());
  }
  std::vector<Tensor> results;
  std::vector<std::byte*> to;
  for (const auto& port : model.outputs) to.push_back(results.emplace_back(port->dtype(), port->shape()).data());
  if (Status status = (*loaded)->execution->run(from, to); !status) return status;
  results_ = choice->padding.keep(std::move(results));
  taken_ = choice->variant;
  return Status::ok();
}

}  // namespace collage::runtime
