// SPDX-License-Identifier: Apache-2.0
// Element types of Collage as NumPy and DLPack have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "python/src/dlpack.h"

namespace collage::python {

/// An element type, one for each row of enum collage_dtype. NumPy has no bf16 and no floats of 8 and 4 bits: arrays
/// show their bits as unsigned integers. Integers of less than a byte lie one to a byte.
struct Element {
  int32_t dtype;      ///< enum collage_dtype
  const char* name;   ///< as the model language writes it
  const char* numpy;  ///< of arrays
  size_t bytes;
  DLDataType dlpack;
  const char* extension;  ///< the dtype of ml_dtypes and the like that has the same bits; empty: none
};

/// Throws std::invalid_argument for a number that is no dtype.
const Element& element_of(int32_t dtype);

const std::vector<Element>& all_elements();

/// `f32[1, 10]`
std::string to_string(const Element& element, const std::vector<int64_t>& shape);

}  // namespace collage::python
