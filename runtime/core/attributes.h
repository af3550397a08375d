// SPDX-License-Identifier: Apache-2.0
// Operator attributes, with ONNX's names. Floats are kept as the double whose shortest decimal the user wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/core/tensor.h"

namespace collage::runtime {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;
using AttrValue = std::variant<int64_t, double, std::string, Ints, Floats, Strings, Tensor>;

/// Same kind and same value; tensors by their bits. (Not `operator==`: std::variant's wants one of Tensor.)
bool equal(const AttrValue& a, const AttrValue& b);

/// Ordered by name, so that printing and hashing are deterministic.
class AttrMap {
 public:
  void set(std::string name, AttrValue value) { values_[std::move(name)] = std::move(value); }
  void erase(std::string_view name);
  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool empty() const { return values_.empty(); }
  size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

  /// The attribute, or `fallback` where it is absent or of another kind. An int serves as a float. Floats are f32.
  int64_t get_int(std::string_view name, int64_t fallback) const;
  double get_float(std::string_view name, double fallback) const;
  std::string get_string(std::string_view name, std::string fallback) const;
  Ints get_ints(std::string_view name, Ints fallback = {}) const;
  Floats get_floats(std::string_view name, Floats fallback = {}) const;
  Strings get_strings(std::string_view name) const;  ///< empty where it is absent

  friend bool operator==(const AttrMap& a, const AttrMap& b);

 private:
  std::map<std::string, AttrValue, std::less<>> values_;
};

/// As both languages write it: `2`, `1e-05`, `"same"`, `[3, 3]`. A double always shows `.` or an exponent.
std::string to_string(const AttrValue& value);

/// The shortest decimal that reads back as this double, with `.0` where it would look like an int.
std::string format_double(double value);

}  // namespace collage::runtime
