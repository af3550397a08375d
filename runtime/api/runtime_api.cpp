// SPDX-License-Identifier: Apache-2.0
// The C interface of libcollage_runtime (include/collage/runtime.h). No exception leaves it.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "include/collage/runtime.h"
#include "runtime/api/executable.h"
#include "runtime/exec/execution.h"
#include "runtime/io/npy.h"
#include "runtime/package/package.h"
#include "runtime/pool/pool.h"

using collage::runtime::CompiledModel;
using collage::runtime::NamedPort;
using collage::runtime::Result;
using collage::runtime::Tensor;

struct collage_session {
  std::unique_ptr<collage::runtime::Execution> execution;
};

struct collage_tensor {
  Tensor tensor;
  NamedPort port;
};

namespace {

/// Where a function of the interface writes why it failed.
struct ErrorText {
  char* text;
  size_t size;

  void write(std::string_view message) const {
    if (text == nullptr || size == 0) return;
    const size_t length = std::min(message.size(), size - 1);
    std::memcpy(text, message.data(), length);
    text[length] = '\0';
  }
};

/// Calls `work`, which returns a Result. Returns a failure where it throws.
template <typename Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return collage::runtime::Status::error(error.what());
  }
}

Result<collage_session*> create(const collage_executable* executable, int threads) {
  if (executable == nullptr) return collage::runtime::Status::error("there is no executable");
  if (threads > collage::runtime::kMostThreads) {
    return collage::runtime::Status::error("more than " + std::to_string(collage::runtime::kMostThreads) + " threads");
  }
  const CompiledModel& compiled = *executable->compiled;
  auto program = compiled.program(threads > 0 ? threads : compiled.threads);
  if (!program) return program.status();
  auto execution = collage::runtime::Execution::create(std::move(*program));
  if (!execution) return execution.status();
  return new collage_session{std::move(*execution)};
}

template <typename Pointer>
bool lacks_buffer(const Pointer* buffers, size_t count) {
  return count > 0 && (buffers == nullptr || std::find(buffers, buffers + count, nullptr) != buffers + count);
}

/// True after success; the value has no meaning.
Result<bool> run(collage_session* session, const void* const* inputs, void* const* outputs) {
  if (session == nullptr) return collage::runtime::Status::error("there is no session");
  const collage::runtime::Plan& plan = session->execution->program().plan();
  if (lacks_buffer(inputs, plan.inputs.size()) || lacks_buffer(outputs, plan.outputs.size())) {
    return collage::runtime::Status::error("a buffer is missing");
  }
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (size_t i = 0; i < plan.inputs.size(); ++i) from.push_back(static_cast<const std::byte*>(inputs[i]));
  for (size_t i = 0; i < plan.outputs.size(); ++i) to.push_back(static_cast<std::byte*>(outputs[i]));
  if (auto status = session->execution->run(from, to); !status) return status;
  return true;
}

/// True after success; the value has no meaning.
Result<bool> save(const collage_executable* executable, const char* path) {
  if (executable == nullptr) return collage::runtime::Status::error("there is no executable");
  if (path == nullptr) return collage::runtime::Status::error("there is no path");
  const CompiledModel& compiled = *executable->compiled;
  const collage::runtime::Status status =
      collage::runtime::write_package(path, {compiled.plan, compiled.code, compiled.threads, compiled.placed, ""});
  if (!status) return status;
  return true;
}

Result<collage_executable*> load(const char* path) {
  if (path == nullptr) return collage::runtime::Status::error("there is no path");
  Result<collage::runtime::Package> package = collage::runtime::read_package(path);
  if (!package) return collage::runtime::Status::error("'" + std::string(path) + "': " + package.message());
  return new collage_executable{std::make_shared<const CompiledModel>(
      std::move(package->plan), std::move(package->code), package->threads, std::move(package->placed))};
}

Result<collage_tensor*> read_tensor(const char* path) {
  if (path == nullptr) return collage::runtime::Status::error("there is no path");
  Result<Tensor> tensor = collage::runtime::read_npy(path);
  if (!tensor) return tensor.status();
  return new collage_tensor{*tensor, {"", tensor->dtype(), tensor->shape()}};
}

const collage_port* port_at(const std::vector<std::unique_ptr<const NamedPort>>& ports, size_t index) {
  return index < ports.size() ? ports[index]->port() : nullptr;
}

template <typename Handle>
Handle* handle_or_error(const Result<Handle*>& result, const ErrorText& error) {
  if (result) return *result;
  error.write(result.message());
  return nullptr;
}

}  // namespace

const char* collage_runtime_version(void) {
  return COLLAGE_VERSION;
}

uint32_t collage_runtime_abi_version(void) {
  return COLLAGE_ABI_VERSION;
}

size_t collage_executable_input_count(const collage_executable* executable) {
  return executable == nullptr ? 0 : executable->compiled->inputs.size();
}

size_t collage_executable_output_count(const collage_executable* executable) {
  return executable == nullptr ? 0 : executable->compiled->outputs.size();
}

const collage_port* collage_executable_input(const collage_executable* executable, size_t index) {
  return executable == nullptr ? nullptr : port_at(executable->compiled->inputs, index);
}

const collage_port* collage_executable_output(const collage_executable* executable, size_t index) {
  return executable == nullptr ? nullptr : port_at(executable->compiled->outputs, index);
}

double collage_executable_predicted_seconds(const collage_executable* executable) {
  return executable == nullptr ? 0 : executable->compiled->plan.predicted.seconds();
}

int collage_executable_save(const collage_executable* executable, const char* path, char* error, size_t error_size) {
  const Result<bool> result = guarded([&] { return save(executable, path); });
  if (result) return 0;
  ErrorText{error, error_size}.write(result.message());
  return 1;
}

collage_executable* collage_executable_load(const char* path, char* error, size_t error_size) {
  return handle_or_error(guarded([&] { return load(path); }), {error, error_size});
}

void collage_executable_free(collage_executable* executable) {
  delete executable;
}

collage_session* collage_session_create(const collage_executable* executable, int32_t threads, char* error,
                                        size_t error_size) {
  return handle_or_error(guarded([&] { return create(executable, threads); }), {error, error_size});
}

int collage_session_run(collage_session* session, const void* const* inputs, void* const* outputs, char* error,
                        size_t error_size) {
  const Result<bool> result = guarded([&] { return run(session, inputs, outputs); });
  if (result) return 0;
  ErrorText{error, error_size}.write(result.message());
  return 1;
}

double collage_session_device_seconds(const collage_session* session) {
  return session == nullptr ? 0 : session->execution->device_time().seconds();
}

void collage_session_free(collage_session* session) {
  delete session;
}

collage_tensor* collage_tensor_read(const char* path, char* error, size_t error_size) {
  return handle_or_error(guarded([&] { return read_tensor(path); }), {error, error_size});
}

const collage_port* collage_tensor_port(const collage_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->port.port();
}

const void* collage_tensor_data(const collage_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->tensor.data();
}

void collage_tensor_free(collage_tensor* tensor) {
  delete tensor;
}
