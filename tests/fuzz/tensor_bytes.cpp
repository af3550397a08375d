// SPDX-License-Identifier: Apache-2.0
// `.npy` and `.safetensors` bytes -> tensors: refused with a message, or every element can be read.
#include <cstdint>

#include "runtime/io/npy.h"
#include "runtime/io/safetensors.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

/// Touches every byte, so that a tensor larger than its memory shows.
void read_through(const runtime::Tensor& tensor) {
  unsigned sum = 0;
  for (size_t i = 0; i < tensor.bytes(); ++i) sum += static_cast<unsigned>(tensor.data()[i]);
  static volatile unsigned kept;
  kept = kept + sum;
}

void check(std::string_view bytes) {
  if (auto tensor = runtime::parse_npy(bytes)) {
    read_through(*tensor);
  } else if (tensor.message().empty()) {
    fail("a .npy file refused without a word");
  }
  if (auto tensors = runtime::parse_safetensors(bytes)) {
    for (const auto& [name, tensor] : *tensors) read_through(tensor);
  } else if (tensors.message().empty()) {
    fail("a .safetensors file refused without a word");
  }
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
