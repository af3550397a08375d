// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/known/problem_digest.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "runtime/core/split_mix.h"

namespace collage::place {
namespace {

/// Two independent chains of 64 bits over a sequence of words.
class ProblemDigest {
 public:
  void add(uint64_t word) {
    first_ = runtime::mix_bits(first_ ^ word);
    second_ = runtime::mix_bits(second_ + word * runtime::kSplitMixStep);
  }
  void add_number(int64_t number) { add(static_cast<uint64_t>(number)); }
  void add(std::string_view text) {
    add(text.size());
    for (; !text.empty(); text.remove_prefix(std::min<size_t>(8, text.size()))) {
      uint64_t word = 0;
      std::memcpy(&word, text.data(), std::min<size_t>(8, text.size()));
      add(word);
    }
  }
  template <typename Id>
  requires requires(Id id) { id.index; }
  void add(Id id) { add_number(id.index); }
  void add(Cost cost) { add_number(cost.count()); }
  template <typename Item>
  void add(const std::optional<Item>& item) {
    add(uint64_t{item.has_value()});
    if (item) add(*item);
  }
  void add(int number) { add_number(number); }
  void add(int64_t number) { add_number(number); }
  template <typename Items>
  void add_all(const Items& items) {
    add(uint64_t{items.size()});
    for (const auto& item : items) add(item);
  }

  void add(const ConversionEdge& edge) {
    add(edge.from);
    add(edge.to);
    add(edge.cost);
  }
  void add(const ProblemValue& value) {
    add(value.writer);
    add_all(value.readers);
    add(uint64_t{value.is_output});
    add_all(value.conversions);
    add(value.bytes);
  }
  void add(const ValueFormat& item) {
    add(item.value);
    add(item.format);
  }
  void add(const Share& share) {
    add(share.owner);
    add(share.constants);
    add(share.bytes);
  }
  void add(const ir::PartitionSplit& split) {
    add(split.node);
    add(static_cast<int>(split.axis));
  }
  void add(const ir::Format& format) { add(std::string_view(ir::to_string(format))); }
  void add(const Candidate& candidate) {
    add_all(candidate.nodes);
    add(candidate.cost);
    add_all(candidate.reads);
    add_all(candidate.writes);
    add(candidate.owner);
    add(std::string_view(candidate.rule));
    add_all(candidate.constants);
    add(uint64_t{candidate.may_join});
    add_all(candidate.shares);
    add(candidate.split);
    add_all(candidate.kept);
  }
  void add(const Owner& owner) {
    add(std::string_view(owner.backend));
    add(std::string_view(owner.instance));
    add(owner.max_partitions);
    add_all(owner.conflicts);
    add(owner.memory);
    add(owner.joins);
    add_all(owner.members);
  }

  std::string text() const { return fmt::format("{:016x}{:016x}", first_, second_); }

 private:
  uint64_t first_ = 1, second_ = 2;
};

}  // namespace

std::string digest_of(const Problem& problem) {
  ProblemDigest digest;
  digest.add(uint64_t{problem.node_count});
  digest.add(static_cast<int>(problem.unit));
  digest.add_all(problem.values);
  digest.add_all(problem.formats);
  digest.add(problem.host_plain);
  digest.add_all(problem.owners);
  digest.add_all(problem.candidates);
  digest.add_all(problem.constant_bytes);
  return digest.text();
}

}  // namespace collage::place
