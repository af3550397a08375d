// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/buffer_table.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/core/checked_size.h"
#include "runtime/core/room.h"
#include "runtime/encodings/encodings.h"
#include "runtime/support/hash.h"

namespace collage::plan {

using runtime::BufferId;

namespace {

/// A hash of the size and of some bytes all over the data: it differs for most data.
uint64_t sample_of(const runtime::Tensor& data) {
  constexpr size_t kSamples = 256;
  const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.bytes());
  const size_t stride = bytes.size() / kSamples + 1;
  uint64_t sample = support::kHashOfNothing ^ bytes.size();
  for (size_t at = 0; at < bytes.size(); at += stride) sample = support::hash_bytes(bytes.substr(at, 1), sample);
  return sample;
}

}  // namespace

int BufferTable::space(const std::string& name) {
  auto at =
      std::find_if(plan_.spaces.begin(), plan_.spaces.end(), [&](const auto& space) { return space.name == name; });
  auto index = static_cast<int>(at - plan_.spaces.begin());
  if (at == plan_.spaces.end()) plan_.spaces.push_back({name, 0, 0, 0});
  return index;
}

BufferId BufferTable::add(runtime::Buffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

void BufferTable::make_resident(BufferId id, runtime::Tensor data) {
  runtime::Buffer& buffer = plan_.buffers[static_cast<size_t>(id)];
  runtime::MemorySpace& space = plan_.spaces[static_cast<size_t>(buffer.space)];
  buffer.is_constant = true;
  buffer.offset = space.constant_bytes;
  space.constant_bytes += runtime::room_for(data.bytes());
  plan_.constants.push_back({id, std::move(data)});
}

BufferId BufferTable::of(ir::ValueId value, const ir::Format& format) {
  auto [at, is_new] = by_value_.try_emplace({value, format}, -1);
  if (!is_new) return at->second;
  const ir::Value& described = graph_.value(value);
  BufferId id =
      add({described.name, space(format.space), false, 0, {described.type.dtype, described.type.shape, format.form()}});
  if (described.is_constant()) make_resident(id, described.constant->data);
  at->second = id;
  return id;
}

runtime::Result<BufferId> BufferTable::of_encoded(ir::ValueId constant, const std::string& space_name,
                                                  const std::string& encoding) {
  auto [at, is_new] = encoded_.try_emplace({constant, space_name, encoding}, -1);
  if (!is_new) return at->second;
  const ir::Value& described = graph_.value(constant);
  runtime::Result<std::vector<std::byte>> bytes = runtime::encode_constant(described.constant->data, encoding);
  if (!bytes) {
    encoded_.erase(at);
    return bytes.status();
  }
  runtime::Tensor data(runtime::DType::U8, {static_cast<int64_t>(bytes->size())});
  std::copy(bytes->begin(), bytes->end(), data.data());
  BufferId id = add({described.name,
                     space(space_name),
                     false,
                     0,
                     {described.type.dtype, described.type.shape, {}, encoding, bytes->size()}});
  make_resident(id, std::move(data));
  at->second = id;
  return id;
}

BufferTable::Place BufferTable::place_of(BufferId id) const {
  Place place{id, 0};
  for (auto at = shared_.find(id); at != shared_.end(); at = shared_.find(place.root)) {
    place = {at->second.root, place.offset + at->second.offset};
  }
  return place;
}

bool BufferTable::share(ir::ValueId part, ir::ValueId whole, size_t offset, const std::string& space_name) {
  BufferId inner = of(part, {space_name, "plain"});
  BufferId outer = of(whole, {space_name, "plain"});
  auto buffer = [&](BufferId id) -> const runtime::Buffer& { return plan_.buffers[static_cast<size_t>(id)]; };
  auto bytes = [&](BufferId id) { return runtime::checked_bytes(buffer(id).tensor.dtype, buffer(id).tensor.shape); };
  // A view of all of a buffer moves with it.
  if (Place own = place_of(inner); bytes(own.root) == bytes(inner)) inner = own.root;
  if (buffer(inner).is_constant || buffer(outer).is_constant || shared_.count(inner) > 0) return false;
  Place place = place_of(outer);
  if (place.root == inner || (place.offset + offset) % runtime::kTensorAlignment != 0) return false;
  shared_[inner] = {outer, offset};
  return true;
}

/// The constant of these elements that is there already; -1: none.
BufferId BufferTable::find_equal(uint64_t sample, int space, const runtime::Tensor& data) const {
  const auto [first, last] = added_.equal_range(sample);
  for (auto at = first; at != last; ++at) {
    const runtime::ConstantInit& known = plan_.constants[at->second];
    const bool is_alike = plan_.buffers[static_cast<size_t>(known.buffer)].space == space &&
                          known.data.dtype() == data.dtype() && known.data.shape() == data.shape();
    const size_t bytes = data.bytes();
    if (is_alike && (bytes == 0 || std::memcmp(known.data.data(), data.data(), bytes) == 0)) return known.buffer;
  }
  return -1;
}

BufferId BufferTable::add_constant(std::string name, runtime::Tensor data, const std::string& space_name) {
  const uint64_t sample = sample_of(data);
  const int in_space = space(space_name);
  if (const BufferId equal = find_equal(sample, in_space, data); equal >= 0) return equal;
  BufferId id = add({std::move(name), in_space, false, 0, {data.dtype(), data.shape()}});
  added_.emplace(sample, plan_.constants.size());
  make_resident(id, std::move(data));
  return id;
}

BufferId BufferTable::add_temporary(std::string name, runtime::DType dtype, runtime::Shape shape,
                                    const std::string& space_name) {
  return add({std::move(name), space(space_name), false, 0, {dtype, std::move(shape)}});
}

}  // namespace collage::plan
