// SPDX-License-Identifier: Apache-2.0
// What a caller gives for an input of a program: a NumPy array, an object with `__dlpack__`, or numbers.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "python/src/element.h"

namespace collage::python {

/// An input or output of a program.
struct Port {
  std::string name;  ///< UTF-8
  const Element* element;
  std::vector<int64_t> shape;
  size_t bytes;
  pybind11::dtype numpy;  ///< of arrays
};

/// The port that takes `value` in any shape. `element`: of the input; null: any, and `value` has to say which. Throws
/// TypeError where it does not, as numbers and lists of them do not.
Port port_for(pybind11::handle value, const std::string& name, const Element* element);

/// Dense elements, and who owns them.
struct Operand {
  const void* data;
  pybind11::object owner;
};

/// The elements of `value` where they lie, if they are dense and row-major, otherwise a copy of them. Throws TypeError
/// for another element type, ValueError for another shape or a device that is not the host. Numbers and lists of them
/// have no element type: integers become any number type that holds them, floats are rounded to float types, bools stay
/// bools. The data of an input without elements may be null.
Operand operand_of(pybind11::handle value, const Port& port);

}  // namespace collage::python
