// SPDX-License-Identifier: Apache-2.0
// The host's constants are laid out anew, each at a page, as they lie in the buffers: what a plan says of their offsets
// holds for the file's region.
//
//     constants   | host region: c0 … | c1 … | c2 …  | tensors: of libraries … | of devices … | of attributes … |
#include <algorithm>
#include <exception>
#include <map>

#include "include/collage/version.h"
#include "runtime/core/checked_size.h"
#include "runtime/core/code_features.h"
#include "runtime/core/external_functions.h"
#include "runtime/libraries/library.h"
#include "runtime/package/package.h"
#include "runtime/package/package_file.h"
#include "runtime/package/plan_archive.h"
#include "runtime/package/plan_calls.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

/// Kernels begin at a cache line.
constexpr size_t kKernelAlignment = 64;

/// The section of constants as it grows: pieces of memory that others own, with zeros between them.
class ConstantSection {
 public:
  /// Puts `bytes` at the next page and returns its place.
  size_t add(std::span<const char> bytes) {
    const size_t place = align_up(size_, kPageBytes);
    pad_to(place);
    pieces_.push_back(bytes);
    size_ += bytes.size();
    return place;
  }

  /// The place of a tensor, which is stored once however often it is asked for.
  size_t place_of(const Tensor& tensor) {
    const std::span<const char> bytes = bytes_of(tensor);
    const auto [known, is_new] = places_.try_emplace({bytes.data(), bytes.size()}, 0);
    if (is_new) known->second = add(bytes);
    return known->second;
  }

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
  std::map<std::pair<const char*, size_t>, size_t> places_;
};

/// The host's constants of a plan, moved to the section. `rewritten` keeps those that lie in another form than plain.
class HostRegion {
 public:
  HostRegion(Plan* plan, ConstantSection* section) : plan_(*plan), section_(*section) {}

  void move() {
    std::erase_if(plan_.constants, [&](const ConstantInit& init) {
      Buffer& buffer = plan_.buffers[static_cast<size_t>(init.buffer)];
      if (buffer.space != 0) return false;
      buffer.offset = section_.add(in_its_form(init.data, buffer.tensor));
      return true;
    });
    if (const ReadyRegion& ready = plan_.host_constants; ready.first != nullptr) move(ready);
    section_.pad_to(align_up(section_.size(), kPageBytes));
    plan_.spaces[0].constant_bytes = section_.size();
    plan_.host_constants = {};
  }

 private:
  /// Of a plan that was read from a package.
  void move(const ReadyRegion& ready) {
    const size_t place = section_.add({reinterpret_cast<const char*>(ready.first.get()), ready.bytes});
    for (Buffer& buffer : plan_.buffers) {
      if (buffer.is_constant && buffer.space == 0) buffer.offset += place;
    }
  }

  std::span<const char> in_its_form(const Tensor& data, const StoredTensor& stored) {
    if (stored.form.is_plain()) return ConstantSection::bytes_of(data);
    Tensor& made = rewritten_.emplace_back(data.clone());
    rewrite(data.dtype(), data.shape(), data.data(), {}, made.data(), stored.form);
    return ConstantSection::bytes_of(made);
  }

  Plan& plan_;
  ConstantSection& section_;
  std::vector<Tensor> rewritten_;
};

/// All code of a plan in one piece.
CodeImage joined(const std::vector<CodeImage>& images) {
  CodeImage all;
  for (const CodeImage& image : images) {
    all.text.resize(align_up(all.text.size(), kKernelAlignment));
    for (const auto& [symbol, offset] : image.symbols) all.symbols.emplace_back(symbol, all.text.size() + offset);
    all.text.insert(all.text.end(), image.text.begin(), image.text.end());
  }
  return all;
}

json about(const Package& package) {
  json libraries = json::object();
  for_each_library(package.plan, [&](const std::string& name) { libraries[name] = library_version(name); });
  return {{"collage", COLLAGE_VERSION},
          {"model", package.plan.model},
          {"threads", package.threads},
          {"architecture", host_architecture()},
          {"processor", host_capabilities().processor},
          {"features", package.code->features()},
          {"external_functions", static_cast<int>(ExternalFunction::Count)},
          {"libraries", libraries}};
}

template <typename Bytes>
std::span<const char> as_chars(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status write_sections(const std::string& path, const Package& package) {
  const CodeImage code = joined(package.code->images());
  Plan plan = package.plan;
  ConstantSection constants;
  HostRegion region(&plan, &constants);
  region.move();
  json document = {
      {"plan", to_json(std::move(plan), [&](const Tensor& tensor) { return constants.place_of(tensor); })}};
  document["symbols"] = json::object();
  for (const auto& [symbol, offset] : code.symbols) document["symbols"][symbol] = offset;
  const std::vector<uint8_t> plan_bytes = json::to_cbor(document);
  // Names need not be UTF-8; whatever is not is replaced, rather than thrown at.
  const std::string about_text = about(package).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  return write_package_file(path, {{"about", {as_chars(about_text)}},
                                   {"plan", {as_chars(plan_bytes)}},
                                   {"code", {as_chars(code.text)}},
                                   {"placed", {as_chars(package.placed)}},
                                   {"constants", constants.pieces()}});
}

}  // namespace

Status write_package(const std::string& path, const Package& package) {
  bool is_whole = true;
  const std::vector<CodeImage> images = package.code->images();
  const auto is_stored = [&](const std::string& symbol) {
    return std::any_of(images.begin(), images.end(), [&](const CodeImage& image) {
      return std::any_of(image.symbols.begin(), image.symbols.end(),
                         [&](const auto& one) { return one.first == symbol; });
    });
  };
  for_each_kernel_call(package.plan, [&](const KernelCall& call) { is_whole = is_whole && is_stored(call.symbol); });
  if (!is_whole) return Status::error("cannot write '" + path + "': a kernel has no code that can be stored");
  try {
    return write_sections(path, package);
  } catch (const std::exception& exception) {
    return Status::error("cannot write '" + path + "': " + exception.what());
  }
}

}  // namespace collage::runtime
