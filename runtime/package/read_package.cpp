// SPDX-License-Identifier: Apache-2.0
// From a file whose bytes are as written to a plan that this machine can run. Nothing of what the file says is
// believed: a package may come from a program that is not ours.
#include <algorithm>
#include <exception>

#include "include/collage/version.h"
#include "runtime/core/checked_size.h"
#include "runtime/core/code_features.h"
#include "runtime/core/external_functions.h"
#include "runtime/core/joined.h"
#include "runtime/core/tiles.h"
#include "runtime/package/package.h"
#include "runtime/package/package_file.h"
#include "runtime/package/plan_archive.h"
#include "runtime/package/plan_ports.h"
#include "runtime/package/shallow_json.h"
#include "runtime/package/shape_archive.h"
#include "runtime/package/stored_code.h"
#include "runtime/plan/memory_need.h"
#include "runtime/plan/plan_calls.h"
#include "runtime/plan/validate.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

Status damaged(const std::string& what) {
  return Status::error("is damaged: " + what);
}

std::string section_text(const PackageFile& file, const std::string& name) {
  const std::span<const char> section = file.section(name);
  return {section.begin(), section.end()};
}

/// `plan` of a package of one shape, `plan.2` of one of several, or for several hosts.
std::string section_name(const char* name, bool is_numbered, size_t index) {
  return is_numbered ? section_of(name, index) : std::string(name);
}

/// The section `about`.
class AboutReader {
 public:
  Status read(const std::string& text) {
    const std::optional<json> about = parse_shallow(text, json::input_format_t::json);
    const auto is_text = [](const json& value) { return value.is_string(); };
    const bool is_whole = about && about->is_object() && is_text(about->value("architecture", json())) &&
                          is_text(about->value("collage", json())) && is_text(about->value("processor", json())) &&
                          about->value("threads", json()).is_number_unsigned() &&
                          about->value("external_functions", json()).is_number_unsigned() &&
                          about->value("features", json()).is_array();
    if (!is_whole) return damaged("its description cannot be read");
    const auto stated = (*about)["threads"].get<uint64_t>();
    if (stated < 1 || stated > static_cast<uint64_t>(kMostThreads))
      return damaged("its number of threads is impossible");
    threads = static_cast<int>(stated);
    has_own_threads = about->value("threads_asked", json(false)) == json(true);
    for (const json& feature : (*about)["features"]) {
      if (!feature.is_string()) return damaged("its description cannot be read");
      features.push_back(feature.get<std::string>());
    }
    const auto found = about->find("hosts");
    if (found != about->end()) {
      if (!found->is_array() || found->empty() || found->size() > kMostHosts)
        return damaged("its number of hosts is impossible");
      hosts = found->size();
    }
    return check_machine(*about);
  }

  int threads = 1;
  bool has_own_threads = false;
  std::optional<size_t> hosts;  ///< of a cluster
  std::vector<std::string> features;

 private:
  Status check_machine(const json& about) const {
    const auto text = [&](const char* key) { return about[key].get<std::string>(); };
    if (text("architecture") != host_architecture()) {
      return Status::error("was compiled for " + text("architecture") + ", this machine is " + host_architecture());
    }
    std::string missing;
    for (const std::string& feature : missing_features(features, host_capabilities())) add_to_list(missing, feature);
    if (!missing.empty()) {
      return Status::error("was compiled for a processor with " + missing + ", which this one lacks: it was made on `" +
                           text("processor") + "`");
    }
    const bool has_tiles = std::find(features.begin(), features.end(), tile_features().back()) != features.end();
    if (has_tiles && !tile_obstacle().empty()) return Status::error("cannot run: " + tile_obstacle());
    if (about["external_functions"].get<uint64_t>() != static_cast<uint64_t>(ExternalFunction::Count)) {
      return Status::error("was made by Collage " + text("collage") +
                           ", whose kernels this version (" COLLAGE_VERSION ") cannot call: compile the model again");
    }
    return Status::ok();
  }
};

/// A specialisation, or a part.
class PackageReader {
 public:
  /// `hosts`: of a package for a cluster.
  PackageReader(const PackageFile& file, bool is_shaped, std::optional<size_t> hosts, size_t index,
                std::vector<std::string> features)
      : file_(file), is_numbered_(is_shaped || hosts), hosts_(hosts), index_(index), features_(std::move(features)) {}

  Result<Package> read() {
    if (Status status = read_plan(); !status) return status;
    if (Status status = read_code(); !status) return status;
    if (Status status = check(); !status) return status;
    package_.placed = section_text(file_, section_name("placed", is_numbered_ && !hosts_, index_));
    return std::move(package_);
  }

 private:
  std::span<const char> section(const char* name) const {
    return file_.section(section_name(name, is_numbered_, index_));
  }
  std::string constants() const { return section_name("constants", hosts_.has_value(), index_); }

  Status read_plan() {
    std::optional<json> document = parse_shallow(section("plan"), json::input_format_t::cbor);
    const bool is_whole = document && document->is_object() && document->size() == 2 && document->contains("plan") &&
                          document->contains("symbols") && (*document)["symbols"].is_object();
    if (!is_whole) return damaged("its plan cannot be read");
    Result<Plan> plan = plan_from_json((*document)["plan"], [&](DType dtype, const Shape& shape, size_t place) {
      return tensor_at(dtype, shape, place);
    });
    if (!plan) return damaged("in its plan, " + plan.message());
    package_.plan = std::move(*plan);
    if (hosts_) package_.plan.part = {static_cast<int>(index_), static_cast<int>(*hosts_)};
    for (const auto& [symbol, offset] : (*document)["symbols"].items()) {
      if (!offset.is_number_unsigned()) return damaged("kernel `" + symbol + "` has no place");
      image_.symbols.emplace_back(symbol, offset.get<size_t>());
    }
    return place_host_constants();
  }

  /// A tensor where it is mapped.
  Result<Tensor> tensor_at(DType dtype, const Shape& shape, size_t place) const {
    const std::span<const char> section = file_.section(constants());
    const std::optional<size_t> bytes = checked_bytes(dtype, shape);
    const bool is_inside = bytes && place <= section.size() && *bytes <= section.size() - place;
    if (!is_inside || place % kTensorAlignment != 0) return Status::error("lies outside the constants");
    const auto* first = reinterpret_cast<const std::byte*>(section.data()) + place;
    return Tensor(dtype, shape, {file_.memory_of(constants()), first});
  }

  /// Places the host's constants, which are at the beginning of the section.
  Status place_host_constants() {
    Plan& plan = package_.plan;
    const std::span<const char> section = file_.section(constants());
    if (plan.spaces.empty() || plan.spaces[0].constant_bytes > section.size()) {
      return damaged("its constants are missing");
    }
    const auto* first = reinterpret_cast<const std::byte*>(section.data());
    if (section.data() != nullptr) {
      plan.host_constants = {{file_.memory_of(constants()), first}, plan.spaces[0].constant_bytes};
    }
    return Status::ok();
  }

  Status read_code() {
    const std::span<const char> bytes = section("code");
    const auto* text = reinterpret_cast<const std::byte*>(bytes.data());
    image_.bytes.assign(text, text + bytes.size());
    Result<std::shared_ptr<const StoredCode>> code = StoredCode::create(std::move(image_), std::move(features_));
    if (!code) return damaged(code.message());
    package_.code = std::move(*code);
    return Status::ok();
  }

  Status check() const {
    if (Status status = validate(package_.plan); !status) return damaged(status.message());
    std::string missing;
    for_each_kernel_call(package_.plan, [&](const KernelCall& call) {
      if (package_.code->find(call.symbol) == nullptr) missing = call.symbol;
    });
    if (!missing.empty()) return damaged("there is no code for kernel `" + missing + "`");
    return check_memory(package_.plan);
  }

  const PackageFile& file_;
  bool is_numbered_;
  std::optional<size_t> hosts_;
  size_t index_;
  std::vector<std::string> features_;
  Package package_;
  CodeImage image_;
};

/// Whether the sections are there that a version needs.
Status check_sections(const PackageFile& file, const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    if (!file.has(name)) return damaged("it has no section `" + name + "`");
  }
  return Status::ok();
}

/// Checks the parts of a package for hosts.
Status check_parts(const PackageFile& file, const std::optional<size_t>& hosts) {
  const bool is_cluster = file.version() == kClusterPackageVersion;
  if (hosts.has_value() != is_cluster)
    return damaged(is_cluster ? "it does not say for which hosts it is" : "it says that it is for several hosts");
  std::vector<std::string> wanted;
  for (size_t i = 0; i < hosts.value_or(0); ++i) {
    for (const char* name : {"plan", "code", "constants"}) wanted.push_back(section_of(name, i));
  }
  return check_sections(file, wanted);
}

/// The section `shapes`; empty where there is none. Sections and version agree then.
Result<ShapeTable> read_shapes(const PackageFile& file) {
  if (file.version() == kClusterPackageVersion) {
    if (Status status = check_sections(file, {"about", "placed"}); !status) return status;
    return ShapeTable();
  }
  const bool is_shaped = file.version() == kShapedPackageVersion;
  if (file.has("shapes") != is_shaped) {
    return damaged(is_shaped ? "it has no section `shapes`" : "it has a section `shapes`, which its format has not");
  }
  ShapeTable table;
  if (is_shaped) {
    const std::optional<json> document = parse_shallow(file.section("shapes"), json::input_format_t::json);
    if (!document) return damaged("its table of shapes cannot be read");
    Result<ShapeTable> read = shape_table_from_json(*document);
    if (!read) return damaged(read.message());
    table = std::move(*read);
    if (table.variants.size() > kMostShapes) return damaged("its table of shapes has too many");
  }
  std::vector<std::string> wanted{"about"};
  for (size_t i = 0; i < std::max<size_t>(table.variants.size(), 1); ++i) {
    for (const char* name : {"plan", "code", "placed"}) wanted.push_back(section_name(name, is_shaped, i));
  }
  wanted.emplace_back("constants");
  if (Status status = check_sections(file, wanted); !status) return status;
  return table;
}

}  // namespace

Result<PackageSet> PackageSet::open(const std::string& path) {
  try {
    Result<PackageFile> file = PackageFile::open(path, host_capabilities().processors);
    if (!file) return file.status();
    Result<ShapeTable> shapes = read_shapes(*file);
    if (!shapes) return shapes.status();
    PackageSet set;
    set.shapes_ = std::move(*shapes);
    for (const char* name : {"about", "placed"}) {
      if (file->version() != kClusterPackageVersion) continue;
      if (Status status = file->read(name); !status) return status;
    }
    set.about_ = section_text(*file, "about");
    AboutReader about;
    if (Status status = about.read(set.about_); !status) return status;
    if (Status status = check_parts(*file, about.hosts); !status) return status;
    set.is_for_cluster_ = about.hosts.has_value();
    set.hosts_ = about.hosts.value_or(1);
    set.threads_ = about.threads;
    set.has_own_threads_ = about.has_own_threads;
    set.features_ = std::move(about.features);
    set.file_ = std::make_shared<const PackageFile>(std::move(*file));
    return set;
  } catch (const std::exception& exception) {
    return Status::error(std::string("cannot read: ") + exception.what());
  }
}

const std::string& PackageSet::digest() const {
  return file_->table_hash();
}

Status PackageSet::check_one_host() const {
  if (!is_cluster()) return Status::ok();
  const std::string hosts = std::to_string(hosts_);
  return Status::error("holds the parts of " + hosts + " hosts: `mpirun -n " + hosts + " collage-run` runs it");
}

std::string PackageSet::placed(size_t index) const {
  return section_text(*file_, section_name("placed", is_shaped(), index));
}

Result<Package> PackageSet::load(size_t index) const {
  try {
    std::optional<size_t> hosts;
    PackageFile file = *file_;  // threads share the set
    if (is_for_cluster_) {
      if (index >= hosts_) return Status::error("has no part for host " + std::to_string(index));
      hosts = hosts_;
      for (const char* name : {"plan", "code", "constants"}) {
        if (Status status = file.read(section_of(name, index)); !status) return status;
      }
    }
    Result<Package> package = PackageReader(file, is_shaped(), hosts, index, features_).read();
    if (!package) return package.status();
    package->threads = threads_;
    package->has_own_threads = has_own_threads_;
    package->about = about_;
    if (is_shaped()) {
      if (Status status = check_ports(package->plan, shapes_, index); !status) return damaged(status.message());
    }
    return package;
  } catch (const std::exception& exception) {
    return Status::error(std::string("cannot read: ") + exception.what());
  }
}

Result<Package> read_package(const std::string& path) {
  Result<PackageSet> set = PackageSet::open(path);
  if (!set) return set.status();
  if (set->is_shaped()) return Status::error("holds several shapes: " + set->shapes().held());
  if (Status status = set->check_one_host(); !status) return status;
  return set->load(0);
}

bool looks_like_package(std::string_view bytes) {
  return bytes.starts_with(kPackageMagic);
}

}  // namespace collage::runtime
