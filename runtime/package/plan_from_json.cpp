// SPDX-License-Identifier: Apache-2.0
// Reads field by field. After the first mistake nothing more is read, and its message stays.
#include <limits>

#include "runtime/package/plan_archive.h"
#include "runtime/package/plan_fields.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

class PlanFromJson {
 public:
  explicit PlanFromJson(const TensorAt& tensor_at) : tensor_at_(tensor_at) {}

  template <typename T>
  void object(const json& from, T& value) {
    if (!from.is_object()) return fail("is no object");
    const json* outer = std::exchange(object_, &from);
    const size_t outer_taken = std::exchange(taken_, 0);
    fields(*this, value);
    if (taken_ != from.size()) fail("has a field that does not exist");
    object_ = outer;
    taken_ = outer_taken;
  }

  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (!wrong_.empty()) return;
    const auto found = object_->find(name);
    const std::string outer = path_;
    path_ += (path_.empty() ? "" : ".") + std::string(name);
    if (found == object_->end()) return fail("is missing");
    ++taken_;
    read(*found, value);
    path_ = outer;
  }

  Status status() const { return wrong_.empty() ? Status::ok() : Status::error(wrong_); }

 private:
  void fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = (path_.empty() ? "the plan" : "`" + path_ + "`") + " " + what;
  }

  template <typename T>
  void read(const json& from, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) return fail("is neither true nor false");
      value = from.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      read_whole(from, value);
    } else if constexpr (std::is_same_v<T, double>) {
      if (!from.is_number_float()) return fail("is no real number");
      value = from.get<double>();
    } else {
      object(from, value);
    }
  }
  template <typename T>
  void read_whole(const json& from, T& value) {
    if (!from.is_number_integer()) return fail("is no whole number");
    const bool fits =
        from.is_number_unsigned() ? std::in_range<T>(from.get<uint64_t>()) : std::in_range<T>(from.get<int64_t>());
    if (!fits) return fail("is out of range");
    value = from.get<T>();
  }
  void read(const json& from, std::string& value) {
    if (!from.is_string()) return fail("is no text");
    value = from.get<std::string>();
  }
  void read(const json& from, Duration& value) {
    int64_t ps = 0;
    read_whole(from, ps);
    value = Duration::picoseconds(ps);
  }
  void read(const json& from, DType& value) { read_name(from, value, parse_dtype); }
  void read(const json& from, StorageType& value) { read_name(from, value, parse_storage_type); }
  template <typename T>
  void read_name(const json& from, T& value, std::optional<T> (*parse)(std::string_view)) {
    std::string name;
    read(from, name);
    const std::optional<T> parsed = parse(name);
    if (!parsed) return fail("is no type of elements");
    value = *parsed;
  }
  void read(const json& from, Tensor& value) {
    if (from.is_null()) return;
    DType dtype = DType::F32;
    Shape shape;
    size_t place = 0;
    if (!from.is_object() || from.size() != 3 || !from.contains("dtype") || !from.contains("shape") ||
        !from.contains("place"))
      return fail("is no tensor");
    read(from["dtype"], dtype);
    read(from["shape"], shape);
    read(from["place"], place);
    if (!wrong_.empty()) return;
    Result<Tensor> tensor = tensor_at_(dtype, shape, place);
    if (!tensor) return fail(tensor.message());
    value = std::move(*tensor);
  }
  void read(const json& from, AttrMap& value) {
    if (!from.is_object()) return fail("is no object");
    for (const auto& [name, attribute] : from.items()) {
      AttrValue one;
      read(attribute, one);
      value.set(name, std::move(one));
    }
  }
  template <typename T>
  void read(const json& from, std::vector<T>& value) {
    if (!from.is_array()) return fail("is no list");
    const std::string outer = path_;
    for (size_t i = 0; i < from.size() && wrong_.empty(); ++i) {
      path_ = outer + "[" + std::to_string(i) + "]";
      read(from[i], value.emplace_back());
    }
    if (wrong_.empty()) path_ = outer;
  }
  template <typename T>
  void read(const json& from, std::optional<T>& value) {
    if (!from.is_null()) read(from, value.emplace());
  }
  template <typename... T>
  void read(const json& from, std::variant<T...>& value) {
    if (!from.is_array() || from.size() != 2 || !from[0].is_string()) return fail("is no choice");
    const auto& name = from[0].template get_ref<const std::string&>();
    constexpr auto& kNames = AlternativeNames<std::variant<T...>>::names;
    size_t index = 0;
    const bool is_known =
        ((name == kNames[index] ? (read(from[1], value.template emplace<T>()), true) : (++index, false)) || ...);
    if (!is_known) fail("is a choice that does not exist");
  }

  const TensorAt& tensor_at_;
  const json* object_ = nullptr;
  size_t taken_ = 0;
  std::string path_;
  std::string wrong_;
};

}  // namespace

Result<Plan> plan_from_json(const json& document, const TensorAt& tensor_at) {
  Plan plan;
  PlanFromJson reader(tensor_at);
  reader.object(document, plan);
  if (Status status = reader.status(); !status) return status;
  return plan;
}

}  // namespace collage::runtime
