// SPDX-License-Identifier: Apache-2.0
// collage_dynamic_session of include/collage/compiler.h.
#include <cstring>

#include "compiler/api/guarded.h"
#include "compiler/request/model_file.h"
#include "compiler/shapes/padded_sizes.h"
#include "compiler/stages/dynamic_model.h"
#include "runtime/io/element_formats.h"

using namespace collage;  // NOLINT: every definition below is of the global namespace
using support::Code;

struct collage_dynamic_session {
  std::shared_ptr<api::CompilerState> state;
  stages::DynamicModel model;
  std::vector<stages::DynamicModel::Output> results{};
  std::vector<collage_array> arrays{};  ///< of `results`
};

namespace {

/// A copy of the caller's elements. Returns nullopt after an error.
std::optional<ir::Tensor> tensor_of(const collage_array& array, const std::string& name, support::Diagnostics& diags) {
  const std::string where = "input " + name;
  const auto dtype = static_cast<ir::DType>(array.dtype);
  if (array.dtype < 0 || array.dtype > UINT8_MAX || !runtime::is_dtype(dtype)) {
    return diags.error_at(Code::RunFailed, where, "there is no dtype {}", array.dtype);
  }
  if (array.rank < 0 || (array.rank > 0 && array.shape == nullptr)) {
    return diags.error_at(Code::RunFailed, where, "has no shape");
  }
  const ir::Shape shape(array.shape, array.shape + array.rank);
  const std::optional<size_t> bytes = runtime::checked_bytes(shape, size_of(dtype));
  if (!bytes) return diags.error_at(Code::RunFailed, where, "has the impossible shape {}", runtime::to_string(shape));
  if (*bytes > 0 && array.data == nullptr) return diags.error_at(Code::RunFailed, where, "has no elements");
  ir::Tensor tensor(dtype, shape);
  if (*bytes > 0) std::memcpy(tensor.data(), array.data, *bytes);
  return tensor;
}

int run(collage_dynamic_session& session, std::span<const collage_array> inputs) {
  support::Diagnostics& diags = *session.state->diags;
  const std::vector<ir::OpenInput>& expected = session.model.inputs();
  session.results.clear();
  session.arrays.clear();
  std::vector<ir::Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = i < expected.size() ? expected[i].name : std::to_string(i);
    std::optional<ir::Tensor> tensor = tensor_of(inputs[i], name, diags);
    if (!tensor) return 1;
    tensors.push_back(std::move(*tensor));
  }
  auto results = session.model.run(tensors);
  if (!results || session.state->stops) return 1;
  session.results = std::move(*results);
  for (const auto& [name, tensor] : session.results) {
    session.arrays.push_back({static_cast<int32_t>(tensor.dtype()), static_cast<int32_t>(tensor.shape().size()),
                              tensor.shape().data(), tensor.data()});
  }
  return 0;
}

}  // namespace

collage_dynamic_session* collage_dynamic_session_create(collage_compiler* compiler, const char* path, size_t kept) {
  if (compiler == nullptr || path == nullptr) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::stoppable<collage_dynamic_session*>(state, nullptr, [&]() -> collage_dynamic_session* {
    request::ModelRequest request = state.request.model;
    request.path = path;
    request.allows_outside = state.request.settings.allows_outside;
    auto source = request::open_model(request, state.sources, *state.diags);
    if (source == nullptr) return nullptr;
    stages::StageSettings settings{source->path(), state.find_rules(), state.request.settings};
    settings.listener = state.work_listener();
    if (settings.rules == nullptr || state.stops ||
        !shapes::check_buckets(*source, state.request.model.buckets, *state.diags))
      return nullptr;
    return new collage_dynamic_session{
        compiler->state,
        stages::DynamicModel(std::move(source), std::move(settings), kept, *state.diags, state.request.model.buckets)};
  });
}

void collage_dynamic_session_free(collage_dynamic_session* session) {
  delete session;
}

size_t collage_dynamic_session_input_count(const collage_dynamic_session* session) {
  return session == nullptr ? 0 : session->model.inputs().size();
}

const char* collage_dynamic_session_input_name(const collage_dynamic_session* session, size_t index) {
  return index < collage_dynamic_session_input_count(session) ? session->model.inputs()[index].name.c_str() : nullptr;
}

int collage_dynamic_session_run(collage_dynamic_session* session, const collage_array* inputs, size_t count) {
  if (session == nullptr || (inputs == nullptr && count > 0)) return 1;
  return api::stoppable(*session->state, 1, [&] { return run(*session, {inputs, count}); });
}

size_t collage_dynamic_session_result_count(const collage_dynamic_session* session) {
  return session == nullptr ? 0 : session->arrays.size();
}

const collage_array* collage_dynamic_session_result(const collage_dynamic_session* session, size_t index) {
  return index < collage_dynamic_session_result_count(session) ? &session->arrays[index] : nullptr;
}

const char* collage_dynamic_session_result_name(const collage_dynamic_session* session, size_t index) {
  return index < collage_dynamic_session_result_count(session) ? session->results[index].name.c_str() : nullptr;
}

size_t collage_dynamic_session_made(const collage_dynamic_session* session) {
  return session == nullptr ? 0 : session->model.made();
}
