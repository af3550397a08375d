// SPDX-License-Identifier: Apache-2.0
// Typed indices: a NodeId cannot be mistaken for a ValueId, and a table with one T per node takes only a NodeId as
// index.
//
//     Id<Tag>         an index, or none (-1)
//     Table<I, T>     a vector that is indexed by I
//     IdRange<I>      [begin, end) of ids, for loops
//     Groups<K, I>    consecutive ranges of I, one per K: [begin(k), begin(k + 1))
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

namespace collage::support {

/// A constant converts by itself (`ids = {0, 1}`); a variable of another type does not.
template <typename Tag>
struct Id {
  int32_t index = -1;

  constexpr Id() = default;
  consteval Id(int constant) : index(constant) {}  // NOLINT(google-explicit-constructor)
  constexpr explicit Id(int64_t i) : index(static_cast<int32_t>(i)) {}
  constexpr explicit Id(size_t i) : index(static_cast<int32_t>(i)) {}
  constexpr bool is_valid() const { return index >= 0; }
  constexpr size_t slot() const { return static_cast<size_t>(index); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

/// The id that stands `distance` after `id`.
template <typename Tag>
constexpr Id<Tag> advance(Id<Tag> id, int64_t distance) {
  return Id<Tag>(id.index + distance);
}

template <typename I>
class IdRange {
 public:
  class Iterator {
   public:
    using value_type = I;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr explicit Iterator(I id) : id_(id) {}
    constexpr I operator*() const { return id_; }
    constexpr Iterator& operator++() {
      ++id_.index;
      return *this;
    }
    constexpr Iterator operator++(int) {
      const Iterator before = *this;
      ++id_.index;
      return before;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    I id_;
  };

  constexpr IdRange() : begin_(int64_t{0}), end_(int64_t{0}) {}
  /// Empty where `end` comes before `begin`.
  constexpr IdRange(I begin, I end) : begin_(begin), end_(end < begin ? begin : end) {}
  constexpr Iterator begin() const { return Iterator(begin_); }
  constexpr Iterator end() const { return Iterator(end_); }
  constexpr I front() const { return begin_; }
  constexpr I last_plus_one() const { return end_; }
  constexpr size_t size() const { return static_cast<size_t>(end_.index - begin_.index); }
  constexpr bool empty() const { return end_ == begin_; }

 private:
  I begin_;
  I end_;
};

/// 0 … count-1.
template <typename I>
constexpr IdRange<I> first_ids(size_t count) {
  return {I(size_t{0}), I(count)};
}

/// A vector whose index is an I. What a vector has, under its names; `items` is the vector itself.
template <typename I, typename T>
class Table {
 public:
  using value_type = T;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  Table() = default;
  explicit Table(size_t size, const T& value = T()) : items_(size, value) {}
  Table(std::initializer_list<T> items) : items_(items) {}
  explicit Table(std::vector<T> items) : items_(std::move(items)) {}

  typename std::vector<T>::reference operator[](I id) { return items_[id.slot()]; }
  typename std::vector<T>::const_reference operator[](I id) const { return items_[id.slot()]; }

  /// Appends, and returns where.
  I add(T item) {
    items_.push_back(std::move(item));
    return I(items_.size() - 1);
  }
  IdRange<I> ids() const { return first_ids<I>(items_.size()); }
  /// The id that the next `add` returns.
  I next_id() const { return I(items_.size()); }
  bool holds(I id) const { return id.is_valid() && id.slot() < items_.size(); }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  iterator begin() { return items_.begin(); }
  iterator end() { return items_.end(); }
  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }
  T& front() { return items_.front(); }
  const T& front() const { return items_.front(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  T* data() { return items_.data(); }
  const T* data() const { return items_.data(); }
  void push_back(T item) { items_.push_back(std::move(item)); }
  void pop_back() { items_.pop_back(); }
  void reserve(size_t size) { items_.reserve(size); }
  void resize(size_t size, const T& value = T()) { items_.resize(size, value); }
  void assign(size_t size, const T& value) { items_.assign(size, value); }
  void clear() { items_.clear(); }
  std::vector<T>& items() { return items_; }
  const std::vector<T>& items() const { return items_; }

  friend bool operator==(const Table&, const Table&) = default;

 private:
  std::vector<T> items_;
};

/// Consecutive ranges of I, one per K, without a list each: filled in the order of K.
template <typename K, typename I>
class Groups {
 public:
  /// The next key's range ends before `end`; it begins where the one before it ended.
  void close(I end) { bounds_.push_back(end); }
  IdRange<I> operator[](K key) const { return {bounds_[key.slot()], bounds_[key.slot() + 1]}; }
  size_t size() const { return bounds_.size() - 1; }
  /// One past the last id of all ranges.
  I total() const { return bounds_.back(); }

 private:
  std::vector<I> bounds_ = {I(size_t{0})};  ///< where ranges begin, and where the last one ends: no branch in a look-up
};

}  // namespace collage::support

template <typename Tag>
struct std::hash<collage::support::Id<Tag>> {
  size_t operator()(collage::support::Id<Tag> id) const noexcept { return std::hash<int32_t>()(id.index); }
};
