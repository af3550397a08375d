// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/attributes.h"

#include <charconv>
#include <cmath>

#include "runtime/core/element.h"

namespace collage::runtime {
namespace {

template <typename T>
const T* find_as(const AttrMap& map, std::string_view name) {
  const AttrValue* value = map.find(name);
  return value ? std::get_if<T>(value) : nullptr;
}

template <typename T, typename F>
std::string list_to_string(const std::vector<T>& items, F item_to_string) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ", ";
    text += item_to_string(items[i]);
  }
  return text + "]";
}

std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

struct ValueEqual {
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
  template <typename A>
  bool operator()(const A& a, const A& b) const {
    return a == b;
  }
  bool operator()(const Tensor& a, const Tensor& b) const { return identical(a, b); }
};

struct Printer {
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return format_double(v); }
  std::string operator()(const std::string& v) const { return quote(v); }
  std::string operator()(const Ints& v) const {
    return list_to_string(v, [](int64_t x) { return std::to_string(x); });
  }
  std::string operator()(const Floats& v) const { return list_to_string(v, format_double); }
  std::string operator()(const Strings& v) const { return list_to_string(v, quote); }
  /// `dense f32[2] [1.0, 2.0]`
  std::string operator()(const Tensor& v) const {
    std::string text = "dense " + std::string(name_of(v.dtype())) + to_string(v.shape()) + " [";
    for (int64_t i = 0; i < v.count(); ++i) {
      if (i > 0) text += ", ";
      text += is_float(v.dtype()) ? format_double(element_as_double(v.view(), i)) : integer_text(v.view(), i);
    }
    return text + "]";
  }
};

}  // namespace

bool equal(const AttrValue& a, const AttrValue& b) {
  return std::visit(ValueEqual{}, a, b);
}

void AttrMap::erase(std::string_view name) {
  auto it = values_.find(name);
  if (it != values_.end()) values_.erase(it);
}

const AttrValue* AttrMap::find(std::string_view name) const {
  auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

int64_t AttrMap::get_int(std::string_view name, int64_t fallback) const {
  const auto* value = find_as<int64_t>(*this, name);
  return value ? *value : fallback;
}

double AttrMap::get_float(std::string_view name, double fallback) const {
  if (const auto* value = find_as<double>(*this, name)) return static_cast<float>(*value);
  if (const auto* value = find_as<int64_t>(*this, name)) return static_cast<double>(*value);
  return static_cast<float>(fallback);
}

std::string AttrMap::get_string(std::string_view name, std::string fallback) const {
  const auto* value = find_as<std::string>(*this, name);
  return value ? *value : fallback;
}

Ints AttrMap::get_ints(std::string_view name, Ints fallback) const {
  const auto* value = find_as<Ints>(*this, name);
  return value ? *value : fallback;
}

Floats AttrMap::get_floats(std::string_view name, Floats fallback) const {
  const auto* value = find_as<Floats>(*this, name);
  Floats floats = value ? *value : std::move(fallback);
  for (double& x : floats) x = static_cast<float>(x);
  return floats;
}

Strings AttrMap::get_strings(std::string_view name) const {
  const auto* value = find_as<Strings>(*this, name);
  return value ? *value : Strings();
}

bool operator==(const AttrMap& a, const AttrMap& b) {
  if (a.values_.size() != b.values_.size()) return false;
  auto ib = b.values_.begin();
  for (const auto& [name, value] : a.values_) {
    if (name != ib->first || !equal(value, ib->second)) return false;
    ++ib;
  }
  return true;
}

std::string to_string(const AttrValue& value) {
  return std::visit(Printer{}, value);
}

std::string format_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  (void)error;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace collage::runtime
