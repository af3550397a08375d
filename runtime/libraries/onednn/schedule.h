// SPDX-License-Identifier: Apache-2.0
// A program as oneDNN will run it: primitives in order, over memory slots. Nothing is allocated yet.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/tensor.h"
#include "runtime/libraries/onednn/layout.h"

namespace collage::runtime::onednn {

/// A piece of memory. Several values may use a scratch slot, one after the other or as views.
struct Slot {
  enum class Kind {
    Input,     ///< the program's input `index`
    Output,    ///< its output `index`
    Constant,  ///< `constant`, as the model has it
    Packed,    ///< made from constants at load
    Scratch,   ///< private to the kernel
  };
  Kind kind = Kind::Scratch;
  size_t index = 0;
  size_t bytes = 0;  ///< of Packed and Scratch
  Tensor constant;

  bool is_constant() const { return kind == Kind::Constant || kind == Kind::Packed; }
};

/// A tensor in a slot.
struct Stored {
  int slot = -1;
  Desc desc;
};

/// Operand of a primitive. `name` is one of DNNL_ARG_….
struct Argument {
  int name = 0;
  Stored memory;
};

struct Stage {
  dnnl::primitive_desc_base primitive;
  std::vector<Argument> arguments;
  std::string text;      ///< of its LibraryPart
  bool at_load = false;  ///< reads constants only: runs once
  int result = -1;       ///< value of the program that it makes; -1: none, it is a reorder
  int op = -1;           ///< of its LibraryPart
};

struct Schedule {
  std::vector<Slot> slots;
  std::vector<Stage> stages;
};

}  // namespace collage::runtime::onednn
