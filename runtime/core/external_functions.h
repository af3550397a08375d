// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace collage::runtime {

/// The functions that kernels may call, in the order of the table that they are handed: each has the C signature named.
/// Kernels are otherwise self-contained: they load without a linker.
enum class ExternalFunction {
  Expf,   ///< float(float)
  Erff,   ///< float(float)
  Tanhf,  ///< float(float)
  Powf,   ///< float(float, float)
  Logf,   ///< float(float)
  Sinf,   ///< float(float)
  Cosf,   ///< float(float)
  Erf,    ///< double(double)
  Pow,    ///< double(double, double)
  Sin,    ///< double(double)
  Cos,    ///< double(double)
  Fmodf,  ///< float(float, float)
  Fmod,   ///< double(double, double)
  Count
};

/// The table itself; one entry per ExternalFunction.
const void* const* external_table();

}  // namespace collage::runtime
