// SPDX-License-Identifier: Apache-2.0
// How the runtime reports failure: a value, never an exception, never an exit.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace collage::runtime {

/// Success, or a message that says what went wrong (lower case, no period).
class [[nodiscard]] Status {
 public:
  static Status ok() { return Status(); }
  static Status error(std::string message) { return Status(std::move(message)); }

  bool is_ok() const { return !message_; }
  explicit operator bool() const { return is_ok(); }
  /// Only of a failure.
  const std::string& message() const { return *message_; }

 private:
  Status() = default;
  explicit Status(std::string message) : message_(std::move(message)) {}
  std::optional<std::string> message_;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), status_(Status::ok()) {}  // NOLINT: implicit on purpose
  Result(Status failure) : status_(std::move(failure)) {}               // NOLINT: implicit on purpose

  bool is_ok() const { return status_.is_ok(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }
  const std::string& message() const { return status_.message(); }

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  /// The value, or nullopt: for a caller that needs no reason.
  std::optional<T> to_optional() && { return std::move(value_); }

  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace collage::runtime
