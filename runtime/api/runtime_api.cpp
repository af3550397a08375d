// SPDX-License-Identifier: Apache-2.0
// The C interface of libcollage_runtime (include/collage/runtime.h). No exception leaves it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "include/collage/runtime.h"
#include "runtime/api/executable.h"
#include "runtime/api/shaped_session.h"
#include "runtime/exec/device_sets.h"
#include "runtime/exec/requests.h"
#include "runtime/io/npy.h"
#include "runtime/package/package.h"
#include "runtime/pool/pool.h"

using collage::runtime::CompiledModel;
using collage::runtime::CompiledThreads;
using collage::runtime::NamedPort;
using collage::runtime::RecoveringExecution;
using collage::runtime::Requests;
using collage::runtime::Result;
using collage::runtime::ShapedModel;
using collage::runtime::ShapedSession;
using collage::runtime::Tensor;

struct collage_session {
  std::unique_ptr<RecoveringExecution> execution;
};

struct collage_shaped_session {
  ShapedSession session;
  std::vector<collage_array> results{};
};

struct collage_requests {
  std::unique_ptr<Requests> requests;
  std::vector<bool> needs_input, needs_output;  ///< whose buffers may not be null
};

struct collage_request {
  std::shared_future<collage::runtime::Status> answer;
};

struct collage_tensor {
  Tensor tensor;
  NamedPort port;
};

namespace {

/// How many bytes of the text fit in `room`, without the beginning of a character whose end does not.
size_t fitting(std::string_view text, size_t room) {
  if (text.size() <= room) return text.size();
  const auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t end = room;
  for (int back = 0; back < 3 && end > 0 && continues(end); ++back) --end;
  return continues(end) ? room : end;  // bytes that are not UTF-8 are cut anywhere
}

/// Where a function of the interface writes why it failed.
struct ErrorText {
  char* text;
  size_t size;

  void write(std::string_view message) const {
    if (text == nullptr || size == 0) return;
    const size_t length = fitting(message, size - 1);
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

/// An executable whose buffers have one size each: a package of one specialisation, too.
collage::runtime::Status check_of_one_shape(const collage_executable* executable) {
  if (executable == nullptr) return collage::runtime::Status::error("there is no executable");
  if (executable->shaped == nullptr || executable->shaped->shapes().variants.size() == 1) {
    return collage::runtime::Status::ok();
  }
  return collage::runtime::Status::error(
      "the executable is of several shapes, " + executable->shaped->shapes().held() +
      ": collage_executable_shape gives one of them, collage_shaped_session runs all");
}

collage::runtime::Status check_threads(int threads) {
  if (threads <= collage::runtime::kMostThreads) return collage::runtime::Status::ok();
  return collage::runtime::Status::error("more than " + std::to_string(collage::runtime::kMostThreads) + " threads");
}

Result<collage_session*> create(const collage_executable* executable, int threads) {
  if (auto status = check_of_one_shape(executable); !status) return status;
  if (auto status = check_threads(threads); !status) return status;
  const CompiledModel& compiled = *executable->compiled;
  auto recovery = compiled.recovery(threads > 0 ? threads : compiled.run_threads());
  if (!recovery) return recovery.status();
  auto execution = RecoveringExecution::create(std::move(*recovery));
  if (!execution) return execution.status();
  return new collage_session{std::move(*execution)};
}

/// Which buffers may not be null: those of ports that have elements.
std::vector<bool> needed_of(const collage::runtime::Plan& plan, const std::vector<collage::runtime::PlanPort>& ports) {
  std::vector<bool> needed;
  for (const auto& port : ports) needed.push_back(plan.buffers[static_cast<size_t>(port.buffer)].tensor.bytes() > 0);
  return needed;
}

template <typename Pointer>
bool lacks(Pointer* const* buffers, const std::vector<bool>& needed) {
  for (size_t i = 0; i < needed.size(); ++i) {
    if (buffers == nullptr || (needed[i] && buffers[i] == nullptr)) return true;
  }
  return false;
}

/// Buffers that kept values replace may be null.
bool lacks_buffer(const RecoveringExecution& execution, const void* const* inputs, void* const* outputs) {
  const collage::runtime::Execution& current = execution.current();
  const collage::runtime::Plan& plan = current.program().plan();
  std::vector<bool> needs_input = needed_of(plan, plan.inputs), needs_output = needed_of(plan, plan.outputs);
  for (const auto& kept : current.kept()) {
    if (kept->has_value()) needs_input[kept->input()] = false;
    needs_output[kept->output()] = false;
  }
  return lacks(inputs, needs_input) || lacks(outputs, needs_output);
}

template <typename Target, typename Pointer>
std::vector<Target> pointers(Pointer* const* buffers, size_t count) {
  std::vector<Target> all;
  for (size_t i = 0; i < count; ++i) all.push_back(static_cast<Target>(buffers[i]));
  return all;
}

/// True after success; the value has no meaning.
Result<bool> run(collage_session* session, const void* const* inputs, void* const* outputs) {
  if (session == nullptr) return collage::runtime::Status::error("there is no session");
  const collage::runtime::Plan& plan = session->execution->current().program().plan();
  if (lacks_buffer(*session->execution, inputs, outputs)) return collage::runtime::Status::error("a buffer is missing");
  const auto from = pointers<const std::byte*>(inputs, plan.inputs.size());
  const auto to = pointers<std::byte*>(outputs, plan.outputs.size());
  if (auto status = session->execution->run(from, to); !status) return status;
  return true;
}

/// True after success; the value has no meaning.
Result<bool> keep(collage_session* session, size_t output, size_t input) {
  if (session == nullptr) return collage::runtime::Status::error("there is no session");
  if (auto status = session->execution->keep(output, input); !status) return status;
  return true;
}

/// True after success; the value has no meaning.
Result<bool> read_kept(const collage_session* session, size_t output, void* buffer) {
  if (session == nullptr) return collage::runtime::Status::error("there is no session");
  if (buffer == nullptr) return collage::runtime::Status::error("a buffer is missing");
  const collage::runtime::Execution& current = session->execution->current();
  if (auto status = current.read_kept(output, static_cast<std::byte*>(buffer)); !status) return status;
  return true;
}

Result<collage_requests*> open_requests(const collage_executable* executable, int threads, int workers, size_t capacity,
                                        const char* instances) {
  if (auto status = check_of_one_shape(executable); !status) return status;
  const CompiledModel& compiled = *executable->compiled;
  const int of_each = threads > 0 ? threads : compiled.run_threads();
  constexpr int kMost = collage::runtime::kMostThreads;
  if (of_each > kMost || workers > kMost / of_each) {
    return collage::runtime::Status::error("more than " + std::to_string(kMost) + " threads");
  }
  std::vector<std::shared_ptr<collage::runtime::Recovery>> sets;
  if (instances == nullptr) {
    auto set = compiled.recovery(of_each);
    if (!set) return set.status();
    sets.push_back(std::move(*set));
  } else if (!compiled.parts.empty()) {
    return collage::runtime::Status::error("the executable is for the " + std::to_string(compiled.parts.size()) +
                                           " hosts of a cluster, whose devices are those of its rules: no instances");
  } else {
    auto opened = collage::runtime::open_device_sets(compiled.plan, compiled.code, of_each, instances, {});
    if (!opened) return opened.status();
    sets = std::move(*opened);
  }
  auto requests = Requests::open(std::move(sets), {std::max(workers, 1) * of_each, capacity});
  if (!requests) return requests.status();
  return new collage_requests{std::move(*requests), needed_of(compiled.plan, compiled.plan.inputs),
                              needed_of(compiled.plan, compiled.plan.outputs)};
}

/// Null where there is no room.
Result<collage_request*> submit(collage_requests* requests, const void* const* inputs, void* const* outputs) {
  if (requests == nullptr) return collage::runtime::Status::error("there are no requests");
  if (lacks(inputs, requests->needs_input) || lacks(outputs, requests->needs_output)) {
    return collage::runtime::Status::error("a buffer is missing");
  }
  auto answer = requests->requests->try_submit(pointers<const std::byte*>(inputs, requests->needs_input.size()),
                                               pointers<std::byte*>(outputs, requests->needs_output.size()));
  if (!answer) return static_cast<collage_request*>(nullptr);
  return new collage_request{answer->share()};
}

/// True after success; the value has no meaning.
Result<bool> save(const collage_executable* executable, const char* path) {
  if (executable == nullptr) return collage::runtime::Status::error("there is no executable");
  if (path == nullptr) return collage::runtime::Status::error("there is no path");
  const collage::runtime::Status status =
      executable->shaped != nullptr ? executable->shaped->save(path) : executable->compiled->save(path);
  if (!status) return status;
  return true;
}

/// The parts of each host, for a package for several.
Result<std::vector<collage::runtime::HostPart>> parts_of(const collage::runtime::PackageSet& set) {
  std::vector<collage::runtime::HostPart> parts;
  for (size_t host = 0; host < set.hosts(); ++host) {
    Result<collage::runtime::Package> package = set.load(host);
    if (!package) return package.status();
    parts.push_back({std::move(package->plan), std::move(package->code)});
  }
  return parts;
}

Result<collage_executable*> load(const char* path) {
  if (path == nullptr) return collage::runtime::Status::error("there is no path");
  const auto refused = [&](const std::string& why) {
    return collage::runtime::Status::error("'" + std::string(path) + "': " + why);
  };
  Result<collage::runtime::PackageSet> set = collage::runtime::PackageSet::open(path);
  if (!set) return refused(set.message());
  if (set->is_shaped()) {
    auto shaped = std::make_shared<const ShapedModel>(std::move(*set));
    auto first = shaped->specialisation(0);
    if (!first) return refused(first.message());
    return new collage_executable{std::move(*first), std::move(shaped)};
  }
  if (set->is_cluster()) {
    auto parts = parts_of(*set);
    if (!parts) return refused(parts.message());
    return new collage_executable{
        std::make_shared<const CompiledModel>(std::move(*parts), CompiledThreads{set->threads()}, set->placed(0)),
        nullptr};
  }
  Result<collage::runtime::Package> package = set->load(0);
  if (!package) return refused(package.message());
  return new collage_executable{
      std::make_shared<const CompiledModel>(std::move(package->plan), std::move(package->code),
                                            CompiledThreads{package->threads, package->has_own_threads},
                                            std::move(package->placed)),
      nullptr};
}

Result<collage_executable*> specialisation(const collage_executable* executable, size_t index) {
  if (executable == nullptr) return collage::runtime::Status::error("there is no executable");
  if (executable->shaped == nullptr) {
    if (index > 0) return collage::runtime::Status::error("there is no such specialisation");
    return new collage_executable{executable->compiled, nullptr};
  }
  auto one = executable->shaped->specialisation(index);
  if (!one) return one.status();
  return new collage_executable{std::move(*one), nullptr};
}

Result<collage_shaped_session*> create_shaped(const collage_executable* executable, int threads, size_t kept) {
  if (executable == nullptr) return collage::runtime::Status::error("there is no executable");
  if (auto status = check_threads(threads); !status) return status;
  return new collage_shaped_session{{executable->compiled, executable->shaped, threads, kept}, {}};
}

/// True after success; the value has no meaning.
Result<bool> run_shaped(collage_shaped_session* session, const collage_array* inputs, size_t count) {
  if (session == nullptr) return collage::runtime::Status::error("there is no session");
  if (inputs == nullptr && count > 0) return collage::runtime::Status::error("a buffer is missing");
  session->results.clear();
  if (auto status = session->session.run({inputs, count}); !status) return status;
  for (const Tensor& result : session->session.results()) {
    session->results.push_back({static_cast<int32_t>(result.dtype()), static_cast<int32_t>(result.shape().size()),
                                result.shape().data(), result.data()});
  }
  return true;
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

int code_or_error(const Result<bool>& result, const ErrorText& error) {
  if (result) return 0;
  error.write(result.message());
  return 1;
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

const char* collage_executable_placed(const collage_executable* executable) {
  return executable == nullptr ? "" : executable->compiled->placed.c_str();
}

int collage_executable_save(const collage_executable* executable, const char* path, char* error, size_t error_size) {
  return code_or_error(guarded([&] { return save(executable, path); }), {error, error_size});
}

collage_executable* collage_executable_load(const char* path, char* error, size_t error_size) {
  return handle_or_error(guarded([&] { return load(path); }), {error, error_size});
}

void collage_executable_free(collage_executable* executable) {
  delete executable;
}

size_t collage_executable_shape_count(const collage_executable* executable) {
  if (executable == nullptr) return 0;
  return executable->shaped == nullptr ? 1 : executable->shaped->shapes().variants.size();
}

const char* collage_executable_shape_name(const collage_executable* executable, size_t index) {
  if (index >= collage_executable_shape_count(executable)) return nullptr;
  return executable->shaped == nullptr ? "" : executable->shaped->name(index).c_str();
}

collage_executable* collage_executable_shape(const collage_executable* executable, size_t index, char* error,
                                             size_t error_size) {
  return handle_or_error(guarded([&] { return specialisation(executable, index); }), {error, error_size});
}

collage_shaped_session* collage_shaped_session_create(const collage_executable* executable, int32_t threads,
                                                      size_t kept, char* error, size_t error_size) {
  return handle_or_error(guarded([&] { return create_shaped(executable, threads, kept); }), {error, error_size});
}

int collage_shaped_session_run(collage_shaped_session* session, const collage_array* inputs, size_t count, char* error,
                               size_t error_size) {
  return code_or_error(guarded([&] { return run_shaped(session, inputs, count); }), {error, error_size});
}

size_t collage_shaped_session_result_count(const collage_shaped_session* session) {
  return session == nullptr ? 0 : session->results.size();
}

const collage_array* collage_shaped_session_result(const collage_shaped_session* session, size_t index) {
  return index < collage_shaped_session_result_count(session) ? &session->results[index] : nullptr;
}

size_t collage_shaped_session_taken(const collage_shaped_session* session) {
  return session == nullptr ? 0 : session->session.taken();
}

void collage_shaped_session_free(collage_shaped_session* session) {
  delete session;
}

collage_session* collage_session_create(const collage_executable* executable, int32_t threads, char* error,
                                        size_t error_size) {
  return handle_or_error(guarded([&] { return create(executable, threads); }), {error, error_size});
}

int collage_session_run(collage_session* session, const void* const* inputs, void* const* outputs, char* error,
                        size_t error_size) {
  return code_or_error(guarded([&] { return run(session, inputs, outputs); }), {error, error_size});
}

double collage_session_device_seconds(const collage_session* session) {
  return session == nullptr ? 0 : session->execution->device_time().seconds();
}

uint64_t collage_session_link_bytes(const collage_session* session) {
  return session == nullptr ? 0 : session->execution->link_bytes();
}

int collage_session_keep(collage_session* session, size_t output, size_t input, char* error, size_t error_size) {
  return code_or_error(guarded([&] { return keep(session, output, input); }), {error, error_size});
}

int collage_session_read_kept(const collage_session* session, size_t output, void* buffer, char* error,
                              size_t error_size) {
  return code_or_error(guarded([&] { return read_kept(session, output, buffer); }), {error, error_size});
}

void collage_session_restart_kept(collage_session* session) {
  if (session != nullptr) session->execution->current().restart_kept();
}

void collage_session_free(collage_session* session) {
  delete session;
}

collage_requests* collage_requests_open(const collage_executable* executable, int32_t threads, int32_t workers,
                                        size_t capacity, const char* instances, char* error, size_t error_size) {
  return handle_or_error(guarded([&] { return open_requests(executable, threads, workers, capacity, instances); }),
                         {error, error_size});
}

int collage_requests_submit(collage_requests* requests, const void* const* inputs, void* const* outputs,
                            collage_request** request, char* error, size_t error_size) {
  const ErrorText text{error, error_size};
  if (request == nullptr)
    return code_or_error(collage::runtime::Status::error("there is no place for the request"), text);
  const Result<collage_request*> result = guarded([&] { return submit(requests, inputs, outputs); });
  *request = result ? *result : nullptr;
  if (!result) return code_or_error(result.status(), text);
  if (*request != nullptr) return 0;
  text.write("as many requests wait as may");
  return COLLAGE_BUSY;
}

void collage_requests_free(collage_requests* requests) {
  delete requests;
}

int collage_request_wait(collage_request* request, char* error, size_t error_size) {
  const auto wait = [&]() -> Result<bool> {
    if (request == nullptr) return collage::runtime::Status::error("there is no request");
    if (const auto& status = request->answer.get(); !status) return status;
    return true;
  };
  return code_or_error(guarded(wait), {error, error_size});
}

int collage_request_is_done(const collage_request* request) {
  return request != nullptr && request->answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready ? 1 : 0;
}

void collage_request_free(collage_request* request) {
  if (request != nullptr) request->answer.wait();
  delete request;
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
