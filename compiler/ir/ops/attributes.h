// SPDX-License-Identifier: Apache-2.0
// The attributes that an operator has, and those of a node as its operator defines them: what is not written has the
// default of the definition, so that nothing else states one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/core/attributes.h"

namespace collage::ir {

struct Node;
struct OpDef;

/// In the order of the alternatives of `runtime::AttrValue`.
enum class AttrKind { Int, Float, String, Ints, Floats, Strings, Tensor };

/// `a list of ints`
std::string_view phrase_of(AttrKind kind);

/// Why an attribute has no default: every node writes it, or its absence means something that no value says (`axis` of
/// Compress), or something that follows from the operands (`strides` of Conv).
enum class NoDefault { Required, Absent };
inline constexpr NoDefault Required = NoDefault::Required;
inline constexpr NoDefault Absent = NoDefault::Absent;

struct AttrDef {
  std::string_view name;
  AttrKind kind;
  std::variant<NoDefault, int64_t, double, std::string_view, runtime::Ints> value;  ///< the default, of that kind

  bool is_required() const;
  /// Returns nullopt if there is none.
  std::optional<runtime::AttrValue> default_value() const;
};

/// The attributes of a node. It refers to both of its parts, which must live on.
class AttrView {
 public:
  AttrView(const OpDef& op, const runtime::AttrMap& written) : op_(&op), written_(&written) {}

  /// What is written, else the default. An attribute without one, or one that the operator does not have, is 0 or
  /// empty.
  int64_t int_of(std::string_view name) const;
  double float_of(std::string_view name) const;
  std::string string_of(std::string_view name) const;
  runtime::Ints ints_of(std::string_view name) const;

  /// Whether it is written.
  bool has(std::string_view name) const { return written_->has(name); }
  const runtime::AttrMap& written() const { return *written_; }

 private:
  /// Returns the default of this type; null if there is none.
  template <class T>
  const T* default_of(std::string_view name) const;

  const OpDef* op_;
  const runtime::AttrMap* written_;
};

AttrView attrs_of(const Node& node);

}  // namespace collage::ir
