// SPDX-License-Identifier: Apache-2.0
// Memory of results, as NumPy arrays and as DLPack capsules.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "python/src/element.h"

namespace collage::python {

/// Memory aligned to 64 bytes, which the runtime uses in place.
using Memory = std::shared_ptr<std::byte>;
Memory allocate(size_t bytes);

/// A dense tensor that owns its memory, together with whatever was made of it.
class Tensor {
 public:
  Tensor(const Element& element, std::vector<int64_t> shape, Memory memory)
      : element_(&element), shape_(std::move(shape)), memory_(std::move(memory)) {}

  const Element& element() const { return *element_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const Memory& memory() const { return memory_; }

  /// An array over the memory. `dtype` is that of the element, which callers keep.
  pybind11::array numpy(const pybind11::dtype& dtype) const;
  pybind11::array numpy() const { return numpy(pybind11::dtype(element_->numpy)); }
  /// A capsule named "dltensor".
  pybind11::capsule dlpack() const;

 private:
  const Element* element_;
  std::vector<int64_t> shape_;
  Memory memory_;
};

}  // namespace collage::python
