// SPDX-License-Identifier: Apache-2.0
// Encodings of constants, for devices that need their weights in another form: `encode(w, "OHWI")` in a lowering.
//
// An encoding is a chain of names with `+` between, applied from left to right: `OHWI+bf16+rle`. The rows are
// encoding_list.def. Decoding gives back the tensor, bit for bit but for what `bf16` rounds away.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Single names, for messages.
std::vector<std::string> encoding_names();
bool is_known_encoding(std::string_view name);

/// Does the chain keep less than its input?
bool is_lossy(std::string_view chain);

/// What of such a constant does not fit the chain, a rank, a dtype, a name; empty if it does.
std::string encoding_misfit(DType dtype, const Shape& shape, std::string_view chain);

/// What an encoded constant takes at least, whatever its elements are; what it takes as it is where the chain does not
/// fit.
size_t least_encoded_bytes(DType dtype, const Shape& shape, std::string_view chain);

/// The bytes that the device holds. The failure says what does not fit: a rank, a dtype, a name.
Result<std::vector<std::byte>> encode_constant(const Tensor& constant, std::string_view chain);

/// Decodes the bytes. Accepts any bytes: they may come from a damaged package.
Result<Tensor> decode_constant(std::span<const std::byte> bytes, DType dtype, const Shape& shape,
                               std::string_view chain);

/// To the nearest bf16, ties to even; NaN stays NaN.
float round_to_bf16(float value);

}  // namespace collage::runtime
