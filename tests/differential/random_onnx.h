// SPDX-License-Identifier: Apache-2.0
// Random ONNX models of a few nodes: operators, attributes, shapes and opsets as exporters write them. The maker works
// out every shape by ONNX's formulas on its own, so a model also says what the importer's inference should find.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace collage::testing {

using Dims = std::vector<int64_t>;

/// The most elements of one tensor: larger ones take the time of many models.
inline constexpr int64_t kMostElements = 20'000;

/// The same numbers from the same seed on every machine, which std::uniform_int_distribution does not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// Between `low` and `high`, both included.
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  /// In [-1, 1).
  float unit() { return static_cast<float>(engine_() >> 40) * 0x1p-23f - 1.0f; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(in(0, static_cast<int64_t>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

/// What stands for a value while the model grows.
struct OnnxValue {
  std::string name;
  Dims dims;
  bool is_exact = false;  ///< moved or compared only: the same bits from every backend, so steps may be taken on it
};

/// Grows one model. Values are f32 unless a method says otherwise.
class OnnxMaker {
 public:
  explicit OnnxMaker(uint64_t seed);

  Random random;
  int opset = 17;

  /// Adds a node; `outputs` are the shapes of its results.
  std::vector<OnnxValue> add(const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<Dims>& outputs);
  /// Adds a node of one result; attributes then go to `last()`.
  OnnxValue add1(const std::string& op, const std::vector<std::string>& inputs, const Dims& dims);
  /// Makes a value an operand that later nodes may pick.
  void keep(const OnnxValue& value);

  OnnxMaker& set(const std::string& name, int64_t value);
  OnnxMaker& set(const std::string& name, float value);
  OnnxMaker& set(const std::string& name, const std::string& value);
  OnnxMaker& set(const std::string& name, const Dims& values);
  OnnxMaker& set_floats(const std::string& name, const std::vector<float>& values);

  OnnxValue add_input(const Dims& dims);
  /// Weights in [-scale, scale) around `shift`; raw data or float_data, as exporters do either.
  std::string weights(const Dims& dims, float scale = 1, float shift = 0);
  std::string ints(const Dims& values);
  std::string floats(const std::vector<float>& values);
  std::string scalar(float value);
  std::string integer(int64_t value);  ///< of rank 0
  /// Random numbers from `low` to `high`, of INT8, UINT8 or INT32.
  std::string small_ints(onnx::TensorProto::DataType type, const Dims& dims, int64_t low, int64_t high);

  const std::vector<OnnxValue>& values() const { return values_; }
  /// A value of rank `low` to `high`, if there is one.
  std::optional<OnnxValue> pick(int low, int high, bool exact_only = false);

  /// Marks every value that nobody reads, and now and then one that somebody does, as an output.
  onnx::ModelProto finish();

 private:
  std::string fresh(const std::string& base) { return base + std::to_string(count_++); }
  onnx::AttributeProto* attribute(const std::string& name);

  onnx::ModelProto model_;
  std::vector<OnnxValue> values_;
  int count_ = 0;
};

/// Keeps the value. True, for an operator whose making succeeds with it.
inline bool keep(OnnxMaker& m, const OnnxValue& value) {
  m.keep(value);
  return true;
}

int64_t element_count(const Dims& dims);

/// One random model of at most about `most_nodes` nodes.
onnx::ModelProto random_onnx(uint64_t seed, int most_nodes);

}  // namespace collage::testing
