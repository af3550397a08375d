// SPDX-License-Identifier: Apache-2.0
// A LibraryProgram as the C structs of include/collage/plugin.h.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "include/collage/plugin.h"
#include "runtime/core/status.h"
#include "runtime/plan/library_program.h"

namespace collage::runtime {

/// Owns everything that its structs point to; must not be moved.
class CProgram {
 public:
  CProgram() = default;
  CProgram(const CProgram&) = delete;
  CProgram& operator=(const CProgram&) = delete;

  /// Expects a program whose indices were checked. The failure says which constant cannot be encoded, or what the ABI
  /// cannot express.
  Status build(const LibraryProgram& program, int threads);
  const collage_program& get() const { return program_; }

 private:
  Status add_value(const LibraryValue& value);
  Status add_op(const LibraryOp& op);
  void add_call(const LoweringCall& call);
  /// Returns false for a kind that the ABI cannot express.
  bool add_attr(const std::string& name, const AttrValue& value, std::vector<collage_attr>* attrs);
  const char* keep(const std::string& text) { return texts_.emplace_back(text).c_str(); }

  std::deque<std::string> texts_;
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<double>> reals_;
  std::deque<std::vector<int32_t>> indices_;
  std::deque<std::vector<std::byte>> encoded_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<collage_attr>> attrs_;
  std::vector<collage_value> values_;
  std::vector<collage_op> ops_;
  std::vector<collage_call> calls_;
  collage_program program_{};
};

}  // namespace collage::runtime
