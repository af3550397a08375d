// SPDX-License-Identifier: Apache-2.0
// The C interfaces (compiler.h, runtime.h) for C++17: handles that free themselves, failures as exceptions.
//
//     collage::Compiler compiler;
//     compiler.set("costs", "estimate");
//     collage::Executable executable = compiler.load("digits.ir").place().build();
//     collage::Session session(executable);
//     session.run({image}, {scores});
//
// What compiler.h and runtime.h say of threads holds here too.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler.h"
#include "runtime.h"

namespace collage {

/// A step that failed. The text has its diagnostics, or the message of the runtime.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

template <auto free>
struct Free {
  template <typename Handle>
  void operator()(Handle* handle) const {
    free(handle);
  }
};
template <typename Handle, auto free>
using Owned = std::unique_ptr<Handle, Free<free>>;

using CompilerHandle = std::shared_ptr<collage_compiler>;

/// Made before a step of a compiler: a failed one throws the diagnostics that have come since.
class Step {
 public:
  explicit Step(const CompilerHandle& compiler)
      : compiler_(compiler.get()), first_(collage_diagnostic_count(compiler.get())) {}

  template <typename Handle>
  Handle* check(Handle* handle) const {
    if (handle == nullptr) fail();
    return handle;
  }
  void check(int failed) const {
    if (failed != 0) fail();
  }
  std::string take(char* text) const {
    const Owned<char, collage_text_free> owner(check(text));
    return text;
  }

 private:
  [[noreturn]] void fail() const {
    std::string text = collage_diagnostics_text_from(compiler_, first_);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    throw Error(text);
  }
  collage_compiler* compiler_;
  std::size_t first_;
};

}  // namespace detail

/// A tensor of the caller, or a result, which lives until the next run of its session.
using Array = collage_array;

/// A compiled model.
class Executable {
 public:
  explicit Executable(collage_executable* executable) : handle_(executable) {}

  std::size_t input_count() const { return collage_executable_input_count(get()); }
  std::size_t output_count() const { return collage_executable_output_count(get()); }
  const collage_port& input(std::size_t index) const { return at(collage_executable_input(get(), index)); }
  const collage_port& output(std::size_t index) const { return at(collage_executable_output(get(), index)); }
  double predicted_seconds() const { return collage_executable_predicted_seconds(get()); }
  /// The placed model as a text in the model language, without weights.
  std::string placed() const { return collage_executable_placed(get()); }
  const collage_executable* get() const { return handle_.get(); }

  /// Specialisations; 1 but for a package that `collagec --buckets` wrote. Inputs and outputs are those of the first.
  std::size_t shape_count() const { return collage_executable_shape_count(get()); }
  /// `batch=8`
  std::string shape_name(std::size_t index) const {
    const char* name = collage_executable_shape_name(get(), index);
    if (name == nullptr) throw std::out_of_range("the executable has no such specialisation");
    return name;
  }
  /// One specialisation alone.
  Executable shape(std::size_t index) const {
    char error[512];
    collage_executable* one = collage_executable_shape(get(), index, error, sizeof(error));
    if (one == nullptr) throw Error(error);
    return Executable(one);
  }

  /// Writes a package.
  void save(const std::string& path) const {
    char error[512];
    if (collage_executable_save(get(), path.c_str(), error, sizeof(error)) != 0) throw Error(error);
  }
  /// Reads a package, without the compiler.
  static Executable load(const std::string& path) {
    char error[512];
    collage_executable* loaded = collage_executable_load(path.c_str(), error, sizeof(error));
    if (loaded == nullptr) throw Error(error);
    return Executable(loaded);
  }

 private:
  static const collage_port& at(const collage_port* port) {
    if (port == nullptr) throw std::out_of_range("the executable has no such input or output");
    return *port;
  }
  detail::Owned<collage_executable, collage_executable_free> handle_;
};

/// A loaded executable.
class Session {
 public:
  explicit Session(const Executable& executable, int threads = 0)
      : inputs_(executable.input_count()), outputs_(executable.output_count()) {
    char error[512];
    handle_.reset(collage_session_create(executable.get(), threads, error, sizeof(error)));
    if (handle_ == nullptr) throw Error(error);
  }

  /// Buffers of the caller, in the order of the executable's inputs and outputs.
  void run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
    if (inputs.size() != inputs_ || outputs.size() != outputs_) {
      throw std::invalid_argument("a buffer is missing or too many: the executable has " + std::to_string(inputs_) +
                                  " inputs and " + std::to_string(outputs_) + " outputs");
    }
    char error[512];
    if (collage_session_run(handle_.get(), inputs.data(), outputs.data(), error, sizeof(error)) != 0) {
      throw Error(error);
    }
  }
  double device_seconds() const { return collage_session_device_seconds(handle_.get()); }
  std::uint64_t link_bytes() const { return collage_session_link_bytes(handle_.get()); }

  /// The input of each run after the next one is the output of the run before, which stays where it is. Their buffers
  /// may then be null.
  void keep(std::size_t output, std::size_t input) {
    char error[512];
    if (collage_session_keep(handle_.get(), output, input, error, sizeof(error)) != 0) throw Error(error);
  }
  /// The value of a kept output after the last run.
  void read_kept(std::size_t output, void* buffer) const {
    char error[512];
    if (collage_session_read_kept(handle_.get(), output, buffer, error, sizeof(error)) != 0) throw Error(error);
  }
  /// The next run takes kept inputs from their buffers again.
  void restart_kept() { collage_session_restart_kept(handle_.get()); }

 private:
  std::size_t inputs_, outputs_;
  detail::Owned<collage_session, collage_session_free> handle_;
};

/// An executable of one shape or of several, run on inputs of any shape that it takes.
class ShapedSession {
 public:
  /// The `kept` specialisations that were used last stay loaded.
  explicit ShapedSession(const Executable& executable, int threads = 0, std::size_t kept = 8) {
    char error[512];
    handle_.reset(collage_shaped_session_create(executable.get(), threads, kept, error, sizeof(error)));
    if (handle_ == nullptr) throw Error(error);
  }

  /// In the order of the executable's inputs.
  std::vector<Array> run(const std::vector<Array>& inputs) {
    char error[2048];
    if (collage_shaped_session_run(handle_.get(), inputs.data(), inputs.size(), error, sizeof(error)) != 0) {
      throw Error(error);
    }
    std::vector<Array> results;
    for (std::size_t i = 0; i < collage_shaped_session_result_count(handle_.get()); ++i)
      results.push_back(*collage_shaped_session_result(handle_.get(), i));
    return results;
  }
  /// Which specialisation the last run took.
  std::size_t taken() const { return collage_shaped_session_taken(handle_.get()); }

 private:
  detail::Owned<collage_shaped_session, collage_shaped_session_free> handle_;
};

/// A run that was handed over.
class Request {
 public:
  explicit Request(collage_request* request) : handle_(request) {}

  bool is_done() const { return collage_request_is_done(handle_.get()) != 0; }
  void wait() {
    char error[512];
    if (collage_request_wait(handle_.get(), error, sizeof(error)) != 0) throw Error(error);
  }

 private:
  detail::Owned<collage_request, collage_request_free> handle_;
};

/// Several runs at once: a bounded queue, and workers that serve it.
class Requests {
 public:
  /// As collage_requests_open; `instances` empty: as many as it was compiled for.
  Requests(const Executable& executable, int workers, std::size_t capacity, int threads = 0,
           const std::string& instances = "")
      : inputs_(executable.input_count()), outputs_(executable.output_count()) {
    char error[512];
    handle_.reset(collage_requests_open(executable.get(), threads, workers, capacity,
                                        instances.empty() ? nullptr : instances.c_str(), error, sizeof(error)));
    if (handle_ == nullptr) throw Error(error);
  }

  /// Null where as many requests wait as may. The buffers stay as they are until the request is done.
  std::unique_ptr<Request> submit(const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
    if (inputs.size() != inputs_ || outputs.size() != outputs_) {
      throw std::invalid_argument("a buffer is missing or too many: the executable has " + std::to_string(inputs_) +
                                  " inputs and " + std::to_string(outputs_) + " outputs");
    }
    char error[512];
    collage_request* request = nullptr;
    const int code =
        collage_requests_submit(handle_.get(), inputs.data(), outputs.data(), &request, error, sizeof(error));
    if (code == COLLAGE_BUSY) return nullptr;
    if (code != 0) throw Error(error);
    return std::make_unique<Request>(request);
  }

 private:
  std::size_t inputs_, outputs_;
  detail::Owned<collage_requests, collage_requests_free> handle_;
};

/// A tensor of an .npy file.
class Tensor {
 public:
  explicit Tensor(const std::string& path) {
    char error[512];
    handle_.reset(collage_tensor_read(path.c_str(), error, sizeof(error)));
    if (handle_ == nullptr) throw Error(error);
  }
  const collage_port& port() const { return *collage_tensor_port(handle_.get()); }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(collage_tensor_data(handle_.get()));
  }

 private:
  detail::Owned<collage_tensor, collage_tensor_free> handle_;
};

/// Where each part of a model runs.
class Placement {
 public:
  Placement(collage_placement* placement, detail::CompilerHandle compiler)
      : compiler_(std::move(compiler)), handle_(placement) {}

  double value() const { return collage_placement_value(handle_.get()); }
  double bound() const { return collage_placement_bound(handle_.get()); }
  std::string summary() const { return step().take(collage_placement_summary(handle_.get())); }
  std::string text() const { return step().take(collage_placement_text(handle_.get())); }
  std::string json() const { return step().take(collage_placement_json(handle_.get())); }
  std::string summary_json() const { return step().take(collage_placement_summary_json(handle_.get())); }
  std::string nodes_json() const { return step().take(collage_placement_nodes_json(handle_.get())); }
  std::string why(const std::string& nodes) const { return step().take(collage_why(handle_.get(), nodes.c_str())); }
  std::string why_not(const std::string& nodes, const std::string& backend) const {
    return step().take(collage_why_not(handle_.get(), nodes.c_str(), backend.c_str()));
  }
  std::string why_json(const std::string& nodes) const {
    return step().take(collage_why_json(handle_.get(), nodes.c_str()));
  }
  std::string why_not_json(const std::string& nodes, const std::string& backend) const {
    return step().take(collage_why_not_json(handle_.get(), nodes.c_str(), backend.c_str()));
  }
  /// Every strategy, run `runs` times each.
  std::string compare_json(int runs = 0) const { return step().take(collage_compare_json(handle_.get(), runs)); }
  /// Measures the costs that the search did without: later answers are by them.
  void measure() const { step().check(collage_placement_measure(handle_.get())); }
  Executable build() const { return Executable(step().check(collage_build(handle_.get()))); }

 private:
  detail::Step step() const { return detail::Step(compiler_); }
  detail::CompilerHandle compiler_;
  detail::Owned<collage_placement, collage_placement_free> handle_;
};

/// A model that was read.
class Model {
 public:
  Model(collage_model* model, detail::CompilerHandle compiler) : compiler_(std::move(compiler)), handle_(model) {}

  Placement place() const { return {detail::Step(compiler_).check(collage_place(handle_.get())), compiler_}; }

 private:
  detail::CompilerHandle compiler_;
  detail::Owned<collage_model, collage_model_free> handle_;
};

/// A copy of a diagnostic.
struct Diagnostic {
  collage_severity severity;
  std::string code, file;
  int line, column;
  std::string message;
};

/// Settings, rules and diagnostics. Copies share them.
class Compiler {
 public:
  /// Is called with what a step is at, and throws nothing.
  using Listener = std::function<void(const collage_progress&)>;

  Compiler()
      : listener_(std::make_shared<Listener>()),
        handle_(collage_compiler_create(COLLAGE_ABI_VERSION),
                [listener = listener_](collage_compiler* compiler) { collage_compiler_free(compiler); }) {
    if (handle_ == nullptr) throw Error("libcollage_compiler has another ABI version than this program");
  }

  Compiler& set(const std::string& name, const std::string& value) {
    step().check(collage_compiler_set(handle_.get(), name.c_str(), value.c_str()));
    return *this;
  }
  /// In place of the rules that came with the library.
  Compiler& rules(const std::vector<std::string>& paths) {
    std::vector<const char*> texts;
    for (const std::string& path : paths) texts.push_back(path.c_str());
    step().check(collage_compiler_rules(handle_.get(), texts.data(), texts.size()));
    return *this;
  }
  /// The same for one file or folder.
  template <typename Path, typename = std::enable_if_t<std::is_convertible_v<const Path&, std::string>>>
  Compiler& rules(const Path& path) {
    return rules(std::vector<std::string>{path});
  }
  /// A file in memory: these bytes are read in place of what lies at `path`.
  Compiler& file(const std::string& path, const std::string& bytes) {
    step().check(collage_compiler_file(handle_.get(), path.c_str(), bytes.data(), bytes.size()));
    return *this;
  }
  /// Frees the bytes of a file in memory.
  Compiler& forget_file(const std::string& path) {
    step().check(collage_compiler_file(handle_.get(), path.c_str(), nullptr, 0));
    return *this;
  }
  /// As collage_compiler_listen; empty: none is called any more.
  Compiler& listen(Listener listener) {
    *listener_ = std::move(listener);
    const collage_listener call = [](void* context, const collage_progress* progress) {
      (*static_cast<Listener*>(context))(*progress);
    };
    step().check(collage_compiler_listen(handle_.get(), *listener_ ? call : nullptr, listener_.get()));
    return *this;
  }
  /// As collage_compiler_stop: from any thread, and from a signal handler.
  void stop(bool stops = true) const { collage_compiler_stop(handle_.get(), stops ? 1 : 0); }

  /// The backends of the rules, and what they are on this machine.
  std::string backends_json() const { return step().take(collage_backends_json(handle_.get())); }

  Model load(const std::string& path) const {
    return {step().check(collage_model_load(handle_.get(), path.c_str())), handle_};
  }

  /// What kernels, conversions and copies take. `inputs` empty: random ones.
  std::string profile_json(const Executable& executable, const std::vector<const void*>& inputs = {}) const {
    if (!inputs.empty() && inputs.size() != executable.input_count()) {
      throw std::invalid_argument("a buffer is missing or too many: the executable has " +
                                  std::to_string(executable.input_count()) + " inputs");
    }
    return step().take(collage_profile_json(handle_.get(), executable.get(), inputs.empty() ? nullptr : inputs.data()));
  }

  /// The same of the specialisation for the shapes of the inputs.
  std::string profile_arrays_json(const Executable& executable, const std::vector<Array>& inputs) const {
    return step().take(collage_profile_arrays_json(handle_.get(), executable.get(), inputs.data(), inputs.size()));
  }

  std::string diagnostics_json() const { return step().take(collage_diagnostics_json(handle_.get())); }
  /// Returns those of all steps, until they are cleared.
  std::vector<Diagnostic> diagnostics() const {
    std::vector<Diagnostic> all;
    for (std::size_t i = 0; i < collage_diagnostic_count(handle_.get()); ++i) {
      collage_diagnostic one{};
      if (collage_diagnostic_get(handle_.get(), i, &one) != 0) break;
      all.push_back(
          {static_cast<collage_severity>(one.severity), one.code, one.file, one.line, one.column, one.message});
    }
    return all;
  }
  void clear_diagnostics() { collage_diagnostics_clear(handle_.get()); }

 private:
  detail::Step step() const { return detail::Step(handle_); }
  friend class DynamicSession;
  std::shared_ptr<Listener> listener_;  ///< lives as long as the handle
  detail::CompilerHandle handle_;
};

/// A model that is specialised while it runs, to the shapes of its inputs.
class DynamicSession {
 public:
  /// Keeps the `kept` specialisations that were used last.
  DynamicSession(const Compiler& compiler, const std::string& path, std::size_t kept = 8)
      : compiler_(compiler.handle_),
        handle_(detail::Step(compiler_).check(collage_dynamic_session_create(compiler_.get(), path.c_str(), kept))) {}

  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < collage_dynamic_session_input_count(handle_.get()); ++i)
      names.push_back(collage_dynamic_session_input_name(handle_.get(), i));
    return names;
  }
  /// In the order of the inputs.
  std::vector<Array> run(const std::vector<Array>& inputs) {
    detail::Step(compiler_).check(collage_dynamic_session_run(handle_.get(), inputs.data(), inputs.size()));
    std::vector<Array> results;
    for (std::size_t i = 0; i < collage_dynamic_session_result_count(handle_.get()); ++i)
      results.push_back(*collage_dynamic_session_result(handle_.get(), i));
    return results;
  }
  /// Names of the results of the last run.
  std::vector<std::string> result_names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < collage_dynamic_session_result_count(handle_.get()); ++i)
      names.push_back(collage_dynamic_session_result_name(handle_.get(), i));
    return names;
  }
  /// Specialisations made so far.
  std::size_t made() const { return collage_dynamic_session_made(handle_.get()); }

 private:
  detail::CompilerHandle compiler_;
  detail::Owned<collage_dynamic_session, collage_dynamic_session_free> handle_;
};

}  // namespace collage
