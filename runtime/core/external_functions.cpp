// SPDX-License-Identifier: Apache-2.0
// The table of functions that compiled kernels may call.
#include "runtime/core/external_functions.h"

#include <cmath>
#include <cstddef>
#include <iterator>

namespace collage::runtime {
namespace {

const void* address_of(float (*function)(float)) {
  return reinterpret_cast<const void*>(function);
}
const void* address_of(float (*function)(float, float)) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

const void* const* external_table() {
  static const void* const table[] = {
      address_of(static_cast<float (*)(float)>(std::exp)),         // Expf
      address_of(static_cast<float (*)(float)>(std::erf)),         // Erff
      address_of(static_cast<float (*)(float)>(std::tanh)),        // Tanhf
      address_of(static_cast<float (*)(float, float)>(std::pow)),  // Powf
      address_of(static_cast<float (*)(float)>(std::log)),         // Logf
      address_of(static_cast<float (*)(float)>(std::sin)),         // Sinf
      address_of(static_cast<float (*)(float)>(std::cos)),         // Cosf
  };
  static_assert(std::size(table) == static_cast<size_t>(ExternalFunction::Count));
  return table;
}

}  // namespace collage::runtime
