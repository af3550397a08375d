// SPDX-License-Identifier: Apache-2.0
// The host's constants are laid out anew, each at a page, as they lie in the buffers: what a plan says of their offsets
// holds for the file's region.
//
//     constants   | host region: c0 … | c1 … | c2 …  | tensors: of libraries … | of devices … | of attributes … |
//
// In a package of several specialisations, each has the section from its beginning for its region, and elements that
// are there already are not written again:
//
//     constants   | c0 c1 c2 | tensors | c3, of the second alone | tensors |        region of the second: up to c3
//
// Each host of a cluster has a section of its own.
#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <set>

#include "include/collage/version.h"
#include "runtime/core/checked_size.h"
#include "runtime/core/code_features.h"
#include "runtime/core/external_functions.h"
#include "runtime/core/host_space.h"
#include "runtime/libraries/library.h"
#include "runtime/package/content_hash.h"
#include "runtime/package/package.h"
#include "runtime/package/package_file.h"
#include "runtime/package/plan_archive.h"
#include "runtime/package/plan_ports.h"
#include "runtime/package/shape_archive.h"
#include "runtime/plan/plan_calls.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

/// Kernels begin at a cache line.

/// The section of constants as it grows: pieces of memory that others own, with zeros between them.
class ConstantSection {
 public:
  /// The place of these bytes, at a page: where equal ones are already, else the next.
  size_t add(std::span<const char> bytes) {
    const auto [same, is_new] = by_address_.try_emplace({bytes.data(), bytes.size()}, 0);
    if (!is_new) return same->second;
    const std::string hash = content_hash(bytes, 1);
    for (auto [at, end] = by_hash_.equal_range(hash); at != end; ++at) {
      const auto& [place, known] = at->second;
      const bool is_equal = known.size() == bytes.size() && std::equal(known.begin(), known.end(), bytes.begin());
      if (is_equal) return same->second = place;
    }
    same->second = align_up(size_, kPageBytes);
    pad_to(same->second);
    pieces_.push_back(bytes);
    size_ += bytes.size();
    by_hash_.emplace(hash, std::pair(same->second, bytes));
    return same->second;
  }

  size_t place_of(const Tensor& tensor) { return add(bytes_of(tensor)); }

  void pad_to(size_t place) {
    for (; size_ < place; size_ += pieces_.back().size())
      pieces_.push_back(std::span(padding_).first(std::min(padding_.size(), place - size_)));
  }

  static std::span<const char> bytes_of(const Tensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
  }

  size_t size() const { return size_; }
  const std::vector<std::span<const char>>& pieces() const { return pieces_; }

 private:
  const std::string padding_ = std::string(kPageBytes, '\0');
  std::vector<std::span<const char>> pieces_;
  size_t size_ = 0;
  std::map<std::pair<const char*, size_t>, size_t> by_address_;
  std::multimap<std::string, std::pair<size_t, std::span<const char>>> by_hash_;
};

/// The host's constants of a plan, moved to the section. `rewritten` keeps those that lie in another form than plain.
class HostRegion {
 public:
  HostRegion(Plan* plan, ConstantSection* section) : plan_(*plan), section_(*section) {}

  void move() {
    std::erase_if(plan_.constants, [&](const ConstantInit& init) {
      Buffer& buffer = plan_.buffers[static_cast<size_t>(init.buffer)];
      if (buffer.space != 0) return false;
      buffer.offset = add(in_its_form(init.data, buffer.tensor));
      return true;
    });
    if (const ReadyRegion& ready = plan_.host_constants; ready.first != nullptr) move(ready);
    section_.pad_to(align_up(section_.size(), kPageBytes));
    plan_.spaces[0].constant_bytes = align_up(end_, kPageBytes);
    plan_.host_constants = {};
  }

 private:
  /// Moves the constants of a plan that was read from a package.
  void move(const ReadyRegion& ready) {
    const auto* region = reinterpret_cast<const char*>(ready.first.get());
    for (Buffer& buffer : plan_.buffers) {
      if (!buffer.is_constant || buffer.space != 0) continue;
      buffer.offset = add({region + buffer.offset, buffer.tensor.bytes()});
    }
  }

  size_t add(std::span<const char> bytes) {
    const size_t place = section_.add(bytes);
    end_ = std::max(end_, place + bytes.size());
    return place;
  }

  std::span<const char> in_its_form(const Tensor& data, const StoredTensor& stored) {
    if (stored.form.is_plain()) return ConstantSection::bytes_of(data);
    Tensor& made = rewritten_.emplace_back(data.clone());
    rewrite(data.dtype(), data.shape(), data.data(), {}, made.data(), stored.form);
    return ConstantSection::bytes_of(made);
  }

  Plan& plan_;
  ConstantSection& section_;
  size_t end_ = 0;  ///< of what lies in the section for this plan
  std::vector<Tensor> rewritten_;
};

/// All code of a plan in one piece.
CodeImage joined(const std::vector<CodeImage>& images) {
  CodeImage all;
  for (const CodeImage& image : images) {
    all.bytes.resize(align_up(all.bytes.size(), kCodeAlignment));
    for (const auto& [symbol, offset] : image.symbols) all.symbols.emplace_back(symbol, all.bytes.size() + offset);
    all.bytes.insert(all.bytes.end(), image.bytes.begin(), image.bytes.end());
  }
  return all;
}

/// The images that the plan calls something of.
std::vector<CodeImage> called_images(const Package& package) {
  std::set<std::string, std::less<>> called;
  for_each_kernel_call(package.plan, [&](const KernelCall& call) { called.insert(call.symbol); });
  std::vector<CodeImage> images = package.code->images();
  std::erase_if(images, [&](const CodeImage& image) {
    return std::none_of(image.symbols.begin(), image.symbols.end(),
                        [&](const auto& symbol) { return called.contains(symbol.first); });
  });
  return images;
}

json about(const std::vector<Package>& packages) {
  json libraries = json::object();
  std::set<std::string> features;
  for (const Package& package : packages) {
    for_each_library(package.plan, [&](const std::string& name) { libraries[name] = library_version(name); });
    const std::vector<std::string> wanted = package.code->features();
    features.insert(wanted.begin(), wanted.end());
  }
  // The features of a single package stay in the order in which its code names them.
  const json all = packages.size() == 1 ? json(packages.front().code->features()) : json(features);
  const std::string& processor = host_capabilities().processor;
  json stated = {{"collage", COLLAGE_VERSION},
                 {"model", packages.front().plan.model},
                 {"threads", packages.front().threads},
                 {"architecture", host_architecture()},
                 {"processor", processor.substr(std::min(processor.find_first_not_of(' '), processor.size()))},
                 {"features", all},
                 {"external_functions", static_cast<int>(ExternalFunction::Count)},
                 {"libraries", libraries}};
  if (packages.front().has_own_threads) stated["threads_asked"] = true;
  return stated;
}

template <typename Bytes>
std::span<const char> as_chars(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Names need not be UTF-8; whatever is not is replaced, rather than thrown at.
std::string written(const json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Sections of specialisations or parts; their bytes live as long as it.
class SectionWriter {
 public:
  /// `shapes`: null for a package of one, and for one of parts.
  SectionWriter(const ShapeTable* shapes, bool is_for_hosts) : shapes_(shapes), is_for_hosts_(is_for_hosts) {}

  void add(const Package& package) {
    const CodeImage& code =
        codes_.emplace_back(joined(is_for_hosts_ ? called_images(package) : package.code->images()));
    if (is_for_hosts_ || constants_.empty()) constants_.emplace_back();
    ConstantSection& constants = constants_.back();
    Plan plan = package.plan;
    HostRegion& region = regions_.emplace_back(&plan, &constants);
    region.move();
    json document = {
        {"plan", to_json(std::move(plan), [&](const Tensor& tensor) { return constants.place_of(tensor); })}};
    document["symbols"] = json::object();
    for (const auto& [symbol, offset] : code.symbols) document["symbols"][symbol] = offset;
    const std::vector<uint8_t>& bytes = plans_.emplace_back(json::to_cbor(document));
    const auto name = [&](const char* section) {
      return shapes_ == nullptr && !is_for_hosts_ ? std::string(section) : section_of(section, plans_.size() - 1);
    };
    sections_.push_back({name("plan"), {as_chars(bytes)}});
    sections_.push_back({name("code"), {as_chars(code.bytes)}});
    if (is_for_hosts_) {
      sections_.push_back({name("constants"), constants.pieces()});
      if (plans_.size() > 1) return;
      sections_.insert(sections_.begin(), SectionPieces{"placed", {as_chars(package.placed)}});
    } else {
      sections_.push_back({name("placed"), {as_chars(package.placed)}});
    }
  }

  size_t plan_bytes(size_t part) const { return plans_[part].size(); }
  size_t code_bytes(size_t part) const { return codes_[part].bytes.size(); }
  size_t constant_bytes(size_t part) const { return constants_[part].size(); }

  Status write(const std::string& path, const std::string& about) {
    const std::string table = shapes_ == nullptr ? "" : written(to_json(*shapes_));
    std::vector<SectionPieces> all{{"about", {as_chars(about)}}};
    if (shapes_ != nullptr) all.push_back({"shapes", {as_chars(table)}});
    all.insert(all.end(), sections_.begin(), sections_.end());
    if (!is_for_hosts_) all.push_back({"constants", constants_.front().pieces()});
    const uint32_t of_one_host = shapes_ == nullptr ? kPackageVersion : kShapedPackageVersion;
    return write_package_file(path, all, is_for_hosts_ ? kClusterPackageVersion : of_one_host);
  }

 private:
  const ShapeTable* shapes_;
  bool is_for_hosts_;
  std::deque<ConstantSection> constants_;  ///< one for all specialisations; one for each host
  std::deque<HostRegion> regions_;
  std::deque<CodeImage> codes_;
  std::deque<std::vector<uint8_t>> plans_;
  std::vector<SectionPieces> sections_;
};

/// What a host has to have room for.
json about_host(const Package& part, size_t host, const SectionWriter& writer) {
  json devices = json::object();
  for (const DeviceSpec& device : part.plan.devices) {
    if (device.kind == kRemoteKind) continue;
    for (const MemorySpace& space : part.plan.spaces) {
      if (space.name == device.space) devices[device.space] = space.arena_bytes + space.constant_bytes;
    }
  }
  return {{"name", host_space(static_cast<int>(host))},     {"plan_bytes", writer.plan_bytes(host)},
          {"code_bytes", writer.code_bytes(host)},          {"constant_bytes", writer.constant_bytes(host)},
          {"arena_bytes", part.plan.spaces[0].arena_bytes}, {"devices", devices}};
}

/// Whether all code that the plan calls can be stored.
bool is_whole(const Package& package) {
  const std::vector<CodeImage> images = package.code->images();
  const auto is_stored = [&](const std::string& symbol) {
    return std::any_of(images.begin(), images.end(), [&](const CodeImage& image) {
      return std::any_of(image.symbols.begin(), image.symbols.end(),
                         [&](const auto& one) { return one.first == symbol; });
    });
  };
  bool is_whole = true;
  for_each_kernel_call(package.plan, [&](const KernelCall& call) { is_whole = is_whole && is_stored(call.symbol); });
  return is_whole;
}

Status write_all(const std::string& path, const std::vector<Package>& packages, const ShapeTable* shapes,
                 bool is_for_hosts = false) {
  const std::string start = "cannot write '" + path + "': ";
  for (const Package& package : packages) {
    if (!is_whole(package)) return Status::error(start + "a kernel has no code that can be stored");
  }
  try {
    SectionWriter writer(shapes, is_for_hosts);
    for (const Package& package : packages) writer.add(package);
    json description = about(packages);
    for (size_t i = 0; shapes != nullptr && i < packages.size(); ++i)
      description["shapes"].push_back(shapes->name_of(i));
    for (size_t i = 0; is_for_hosts && i < packages.size(); ++i)
      description["hosts"].push_back(about_host(packages[i], i, writer));
    return writer.write(path, written(description));
  } catch (const std::exception& exception) {
    return Status::error(start + exception.what());
  }
}

}  // namespace

Status write_package(const std::string& path, const Package& package) {
  return write_all(path, {package}, nullptr);
}

Status write_cluster_package(const std::string& path, const std::vector<Package>& parts) {
  const std::string start = "cannot write '" + path + "': ";
  if (parts.size() > kMostHosts) return Status::error(start + "more than " + std::to_string(kMostHosts) + " hosts");
  if (parts.empty()) return Status::error(start + "it has no parts");
  for (size_t host = 0; host < parts.size(); ++host) {
    const PlanPart expected{static_cast<int>(host), static_cast<int>(parts.size())};
    const Plan& plan = parts[host].plan;
    if (plan.part != expected || plan.model != parts.front().plan.model)
      return Status::error(start + "its parts are not those of one plan");
  }
  return write_all(path, parts, nullptr, true);
}

Status write_packages(const std::string& path, const std::vector<Package>& packages, const ShapeTable& shapes) {
  const std::string start = "cannot write '" + path + "': ";
  if (packages.size() > kMostShapes) {
    return Status::error(start + "more than " + std::to_string(kMostShapes) + " shapes");
  }
  if (Status status = validate(shapes); !status) return Status::error(start + status.message());
  if (packages.size() != shapes.variants.size()) return Status::error(start + "its table of shapes has other shapes");
  for (size_t i = 0; i < packages.size(); ++i) {
    if (Status status = check_ports(packages[i].plan, shapes, i); !status) {
      return Status::error(start + status.message());
    }
  }
  return write_all(path, packages, &shapes);
}

}  // namespace collage::runtime
