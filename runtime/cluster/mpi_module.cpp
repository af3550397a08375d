// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/mpi_module.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace collage::runtime {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

int count_of(const std::optional<std::string>& text) {
  int count = 0;
  if (text) (void)std::from_chars(text->data(), text->data() + text->size(), count);
  return count > 0 ? count : 0;
}

}  // namespace

std::optional<MpiLaunch> find_mpi_launch() {
  const std::optional<std::string> openmpi = variable("OMPI_COMM_WORLD_SIZE"), mpich = variable("PMI_SIZE");
  std::optional<MpiLaunch> launch;
  if (openmpi) {
    launch = {"openmpi", count_of(openmpi)};
  } else if (mpich) {
    launch = {"mpich", count_of(mpich)};
  } else if (variable("PMIX_RANK")) {
    launch = {"openmpi", count_of(variable("SLURM_NTASKS"))};
  }
  const std::optional<std::string> chosen = variable("COLLAGE_MPI");
  if (!chosen) return launch;
  if (*chosen == "none") return std::nullopt;
  return MpiLaunch{*chosen, launch ? launch->size : 0};
}

std::string mpi_module_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : (program.parent_path() / COLLAGE_MPI_MODULE_FOLDER).lexically_normal().string();
}

Result<const collage_mpi_functions*> load_mpi_module(const std::string& module, const std::string& folder) {
  if (module.empty() || module.find('/') != std::string::npos) {
    return Status::error("COLLAGE_MPI is `" + module + "`, which names no module");
  }
  const std::string path = folder + "/collage_mpi_" + module + ".so";
  if (!std::filesystem::exists(path)) {
    return Status::error("this process was started by `mpirun` of " + module + ", and there is no module `" + path +
                         "`: Collage was built without that MPI");
  }
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Status::error(std::string("cannot load MPI: ") + ::dlerror());
  using Entry = const collage_mpi_functions* (*)();
  void* const symbol = ::dlsym(library, COLLAGE_MPI_ENTRY);
  Entry entry = nullptr;
  static_assert(sizeof entry == sizeof symbol);
  std::memcpy(&entry, &symbol, sizeof entry);
  const collage_mpi_functions* functions = entry == nullptr ? nullptr : entry();
  if (functions == nullptr || functions->version != COLLAGE_MPI_MODULE_VERSION) {
    return Status::error("`" + path + "` is of another version of Collage");
  }
  return functions;
}

}  // namespace collage::runtime
