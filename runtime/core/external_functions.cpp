// SPDX-License-Identifier: Apache-2.0
// The table of functions that compiled kernels may call.
#include "runtime/core/external_functions.h"

#include <cmath>
#include <cstddef>
#include <iterator>

namespace collage::runtime {
namespace {

template <typename Result, typename... Args>
const void* address_of(Result (*function)(Args...)) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

const void* const* external_table() {
  static const void* const table[] = {
      address_of(static_cast<float (*)(float)>(std::exp)),             // Expf
      address_of(static_cast<float (*)(float)>(std::erf)),             // Erff
      address_of(static_cast<float (*)(float)>(std::tanh)),            // Tanhf
      address_of(static_cast<float (*)(float, float)>(std::pow)),      // Powf
      address_of(static_cast<float (*)(float)>(std::log)),             // Logf
      address_of(static_cast<float (*)(float)>(std::sin)),             // Sinf
      address_of(static_cast<float (*)(float)>(std::cos)),             // Cosf
      address_of(static_cast<double (*)(double)>(std::erf)),           // Erf
      address_of(static_cast<double (*)(double, double)>(std::pow)),   // Pow
      address_of(static_cast<double (*)(double)>(std::sin)),           // Sin
      address_of(static_cast<double (*)(double)>(std::cos)),           // Cos
      address_of(static_cast<float (*)(float, float)>(std::fmod)),     // Fmodf
      address_of(static_cast<double (*)(double, double)>(std::fmod)),  // Fmod
  };
  static_assert(std::size(table) == static_cast<size_t>(ExternalFunction::Count));
  return table;
}

}  // namespace collage::runtime
