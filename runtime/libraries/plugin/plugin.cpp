// SPDX-License-Identifier: Apache-2.0
// Plug-ins: dlopen, the handshake, and a LibraryKernel over the functions of the ABI. A plug-in that was loaded once
// stays loaded until the process ends: its code may have threads or destructors.
#include "runtime/libraries/plugin/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "runtime/core/text.h"
#include "runtime/io/files_read.h"
#include "runtime/libraries/plugin/c_program.h"

namespace collage::runtime {
namespace {

namespace fs = std::filesystem;

constexpr size_t kErrorBytes = 512;
constexpr size_t kMostLines = 10'000;  // of a description

Result<const collage_plugin*> open_plugin(std::string_view library) {
  std::string path(library.substr(kPluginPrefix.size()));
  std::error_code error;
  if (!fs::exists(path, error)) return Status::error("plug-in `" + path + "` does not exist");
  note_read(path);
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return Status::error("plug-in `" + path + "` cannot be loaded: " + (why == nullptr ? "" : why));
  }
  auto entry = reinterpret_cast<collage_plugin_entry_fn>(::dlsym(handle, "collage_plugin_entry"));
  if (entry == nullptr) return Status::error("`" + path + "` is no plug-in: it has no `collage_plugin_entry`");
  const collage_plugin* plugin = entry(COLLAGE_PLUGIN_ABI_VERSION);
  std::string ours = std::to_string(COLLAGE_PLUGIN_ABI_VERSION);
  if (plugin == nullptr) return Status::error("plug-in `" + path + "` does not have version " + ours + " of the ABI");
  if (plugin->abi_version != COLLAGE_PLUGIN_ABI_VERSION) {
    return Status::error("plug-in `" + path + "` has version " + std::to_string(plugin->abi_version) +
                         " of the ABI, this build " + ours);
  }
  bool is_whole = plugin->prepare != nullptr && plugin->run != nullptr && plugin->destroy != nullptr;
  if (!is_whole) return Status::error("plug-in `" + path + "` lacks a function");
  return plugin;
}

class PluginKernel : public LibraryKernel {
 public:
  explicit PluginKernel(const collage_plugin* plugin) : plugin_(plugin) {}
  ~PluginKernel() override {
    if (is_prepared_) plugin_->destroy(kernel_);
  }
  PluginKernel(const PluginKernel&) = delete;
  PluginKernel& operator=(const PluginKernel&) = delete;

  Status prepare(const LibraryProgram& program, int threads) {
    if (Status status = program_.build(program, threads); !status) return status;
    char error[kErrorBytes] = "";
    if (plugin_->prepare(&program_.get(), &kernel_, error, kErrorBytes) != 0) return failure(error);
    is_prepared_ = true;
    return Status::ok();
  }

  Status load() override { return Status::ok(); }

  Status run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) override {
    std::vector<const void*> from(inputs.begin(), inputs.end());
    std::vector<void*> to(outputs.begin(), outputs.end());
    char error[kErrorBytes] = "";
    return plugin_->run(kernel_, from.data(), to.data(), error, kErrorBytes) == 0 ? Status::ok() : failure(error);
  }

  std::vector<LibraryPart> parts() const override {
    std::vector<LibraryPart> parts;
    if (plugin_->describe == nullptr) return parts;
    for (size_t i = 0; i < kMostLines; ++i) {
      const char* line = plugin_->describe(kernel_, i);
      if (line == nullptr) break;
      parts.push_back({line});
    }
    return parts;
  }

 private:
  Status failure(char (&error)[kErrorBytes]) const {
    error[kErrorBytes - 1] = '\0';
    std::string name = plugin_->name == nullptr ? "plug-in" : plugin_->name;
    return Status::error(name + ": " + (error[0] == '\0' ? "it failed without a reason" : error));
  }

  const collage_plugin* plugin_;
  CProgram program_;  ///< lives as long as the plug-in's kernel
  void* kernel_ = nullptr;
  bool is_prepared_ = false;
};

}  // namespace

std::string plugin_library(const std::string& file, const std::string& rule_file) {
  fs::path beside = fs::path(rule_file).parent_path() / file;
  std::vector<fs::path> places = {beside};
  if (const char* folders = std::getenv("COLLAGE_PLUGIN_PATH")) {
    for (const std::string& folder : split(folders, ':')) {
      if (!folder.empty()) places.push_back(fs::path(folder) / file);
    }
  }
  std::error_code error;
  for (const fs::path& place : places) {
    if (fs::exists(place, error)) return std::string(kPluginPrefix) + fs::absolute(place, error).string();
  }
  return std::string(kPluginPrefix) + beside.string();
}

bool leads_out_of_its_folder(const std::string& file) {
  const fs::path path(file);
  return path.is_absolute() || std::find(path.begin(), path.end(), fs::path("..")) != path.end();
}

std::string plugin_absence(std::string_view library) {
  Result<const collage_plugin*> plugin = open_plugin(library);
  return plugin ? "" : plugin.message();
}

Result<std::unique_ptr<LibraryKernel>> prepare_plugin(std::string_view library, const LibraryProgram& program,
                                                      int threads) {
  Result<const collage_plugin*> plugin = open_plugin(library);
  if (!plugin) return plugin.status();
  auto kernel = std::make_unique<PluginKernel>(*plugin);
  if (Status status = kernel->prepare(program, threads); !status) return status;
  return std::unique_ptr<LibraryKernel>(std::move(kernel));
}

std::string version_of_plugin(std::string_view library) {
  Result<const collage_plugin*> plugin = open_plugin(library);
  return plugin && (*plugin)->version != nullptr ? (*plugin)->version : "";
}

}  // namespace collage::runtime
