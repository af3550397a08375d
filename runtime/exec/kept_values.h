// SPDX-License-Identifier: Apache-2.0
// A value that stays from run to run: an output is the input of the next run, as the cache of keys and values of a
// language model is. It stays on its device where the output is copied from the device to which the input is copied,
// and nothing on the host uses either; then it crosses no link:
//
//     copy in past -> a   …   copy out b -> present      =>   move kept[0] -> a   …   move b -> kept[1]; then they swap
//
// Otherwise it stays in memory of the host, where both runs use it in place.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/exec/step_runner.h"

namespace collage::runtime {

class KeptValue {
 public:
  /// Ports of the plan. Fails unless they hold equal tensors, or where the device has no memory for it. `program` and
  /// `runner` outlive it.
  static Result<std::unique_ptr<KeptValue>> make(const Program& program, const ExecutionMemory& memory, size_t output,
                                                 size_t input, StepRunner& runner);
  KeptValue(const KeptValue&) = delete;
  KeptValue& operator=(const KeptValue&) = delete;
  /// Gives its memory back; the runner does as planned again.
  ~KeptValue();

  size_t output() const { return output_; }
  size_t input() const { return input_; }
  /// True after the first run: the input has the value of the run before.
  bool has_value() const { return has_value_; }
  /// Its device; null: it is in memory of the host.
  const Device* device() const { return device_; }
  /// Where the next run finds the value, and where it writes the next one. On the host only.
  const Tensor& current() const { return tensors_[0]; }
  const Tensor& next() const { return tensors_[1]; }

  /// Before a run: gives the runner the kept values.
  void prepare() const;
  /// After a run that succeeded.
  void advance();
  /// Forgets the value: the next run has its input from the caller.
  void forget() { has_value_ = false; }
  /// Copies the value to the host, as a plain tensor. Expects has_value().
  Status read(std::byte* to) const;

 private:
  KeptValue(const Program& program, const ExecutionMemory& memory, size_t output, size_t input, StepRunner& runner)
      : program_(program), memory_(memory), output_(output), input_(input), runner_(runner) {}
  Status allocate();
  bool find_steps();
  DeviceTensor place(int which) const { return {addresses_[which], form_}; }

  const Program& program_;
  const ExecutionMemory& memory_;
  size_t output_, input_;
  StepRunner& runner_;
  bool has_value_ = false;
  Tensor tensors_[2];
  Device* device_ = nullptr;
  StoredTensor form_{};           ///< on the device
  DeviceAddress addresses_[2]{};  ///< the value, and room for the next one
  int allocated_ = 0;
  size_t out_step_ = 0;
  std::vector<size_t> in_steps_{};  ///< copies of the input to the device
};

}  // namespace collage::runtime
