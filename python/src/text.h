// SPDX-License-Identifier: Apache-2.0
// Texts of the compiler and the runtime as strings of Python.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

namespace collage::python {

/// The text with U+FFFD in place of bytes that are not UTF-8: names and paths come from files and may hold any bytes.
inline pybind11::str decoded(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(made);
}

}  // namespace collage::python
