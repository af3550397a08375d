// SPDX-License-Identifier: Apache-2.0
// How a tensor lies in memory: the one description that formats of the compiler, buffers of a plan and tensors of a
// device are made of.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>

#include "runtime/core/layout.h"
#include "runtime/core/storage.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Where elements stand and how they are held. `ir::Format` adds the space.
struct TensorForm {
  std::string layout{kPlainLayout};
  std::optional<Storage> storage{};  ///< nullopt: elements are stored as the dtype

  bool is_plain() const { return layout == kPlainLayout && !storage; }
  friend auto operator<=>(const TensorForm&, const TensorForm&) = default;
};

/// A tensor in the memory of some space: all that is needed to read its bytes.
struct StoredTensor {
  DType dtype = DType::F32;  ///< that operators compute in
  Shape shape{};             ///< logical
  TensorForm form{};
  std::string encoding{};    ///< of a constant on a device (encodings.h): it holds encoded bytes, not elements
  size_t encoded_bytes = 0;  ///< where there is an encoding

  bool is_encoded() const { return !encoding.empty(); }
  /// Bytes that it takes in memory.
  size_t bytes() const { return is_encoded() ? encoded_bytes : stored_bytes(dtype, shape, form.storage); }
};

/// Converts a tensor of the *logical* shape from one form to another. Layouts must exist for the rank.
void rewrite(DType dtype, const Shape& shape, const std::byte* from, const TensorForm& from_form, std::byte* to,
             const TensorForm& to_form);

}  // namespace collage::runtime
