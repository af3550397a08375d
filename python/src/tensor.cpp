// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace py = pybind11;

namespace collage::python {
namespace {

/// What a capsule of DLPack keeps alive.
struct Exported {
  DLManagedTensor managed{};
  std::vector<int64_t> shape;
  Memory memory;
};

void delete_exported(DLManagedTensor* managed) {
  delete static_cast<Exported*>(managed->manager_ctx);
}

/// A consumer renames the capsule and calls the deleter itself.
void delete_unconsumed(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

}  // namespace

Memory allocate(size_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, [](std::byte* freed) { std::free(freed); }};
}

py::array Tensor::numpy(const py::dtype& dtype) const {
  const py::capsule owner(new Memory(memory_), [](void* memory) { delete static_cast<Memory*>(memory); });
  return py::array(dtype, std::vector<py::ssize_t>(shape_.begin(), shape_.end()), memory_.get(), owner);
}

py::capsule Tensor::dlpack() const {
  auto exported = std::make_unique<Exported>();
  exported->shape = shape_;
  exported->memory = memory_;
  exported->managed.dl_tensor = {memory_.get(),
                                 {kDLCPU, 0},
                                 static_cast<int32_t>(shape_.size()),
                                 element_->dlpack,
                                 exported->shape.data(),
                                 nullptr,
                                 0};
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = delete_exported;
  PyObject* capsule = PyCapsule_New(&exported->managed, "dltensor", delete_unconsumed);
  if (capsule == nullptr) throw py::error_already_set();
  exported.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace collage::python
