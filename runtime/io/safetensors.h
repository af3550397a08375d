// SPDX-License-Identifier: Apache-2.0
// `.safetensors`: named tensors in one file. Layout: 8 bytes length of a JSON header, the header, the elements.
// F32 F64 I8 U8 I16 I32 I64 BOOL as they are, F16 and BF16 as f32. Format: https://github.com/huggingface/safetensors
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/io/file_replacement.h"

namespace collage::runtime {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

Result<NamedTensors> read_safetensors(const std::string& path);
/// From bytes in memory. Messages do not name a file.
Result<NamedTensors> parse_safetensors(std::string_view bytes);
/// The same tensors make the same bytes. `stage_` leaves it to `commit` to give the file its name.
Result<FileReplacement> stage_safetensors(const std::string& path, const NamedTensors& tensors);
Status write_safetensors(const std::string& path, const NamedTensors& tensors);

}  // namespace collage::runtime
