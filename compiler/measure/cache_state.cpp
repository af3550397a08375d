// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cache_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "runtime/core/host_capabilities.h"

namespace collage::measure {
namespace {

constexpr std::string_view kBefore = "// ", kAfter = " MiB are read between runs\n";
constexpr int64_t kMebibyte = 1 << 20;
/// What a candidate with fewer bytes of weights reads of them takes no time.
constexpr size_t kLeastWeights = 16 << 10;
/// Networks with so many MiB of weights sweep so many. More than the last makes no difference: they come from memory,
/// whatever share of a large last cache this machine has.
constexpr struct {
  int64_t weights;
  int swept;
} kSteps[] = {{8, 16}, {40, 64}, {160, 256}};

size_t weights_of(const ir::Graph& graph, const ir::Partition& candidate) {
  std::set<ir::ValueId> constants;
  size_t bytes = 0;
  for (ir::NodeId node : candidate.nodes) {
    for (ir::ValueId input : graph.node(node).inputs) {
      if (!input.is_valid() || !graph.value(input).is_constant() || !constants.insert(input).second) continue;
      bytes += graph.value(input).type.bytes();
    }
  }
  return bytes;
}

/// One word of each line, of each part.
void read_parts(const SweepMemory& memory, size_t words, int64_t begin, int64_t end) {
  constexpr size_t kLine = 64 / sizeof(uint64_t);
  uint64_t sum = 0;
  for (size_t i = static_cast<size_t>(begin) * words; i < static_cast<size_t>(end) * words; i += kLine)
    sum += memory[i];
  volatile uint64_t kept = sum;  // so that the reads are not optimised away
  (void)kept;
}

}  // namespace

int swept_mebibytes(const ir::Graph& network) {
  int64_t bytes = 0;
  for (ir::ValueId value : network.value_ids()) {
    if (network.value(value).is_constant()) bytes += static_cast<int64_t>(network.value(value).type.bytes());
  }
  int swept = 0;
  for (const auto& step : kSteps) {
    if (bytes >= step.weights * kMebibyte) swept = step.swept;
  }
  return swept;
}

std::string with_cache_state(std::string text, int mebibytes, const ir::Graph& graph, const ir::Partition& candidate) {
  if (mebibytes == 0 || weights_of(graph, candidate) < kLeastWeights) return text;
  return fmt::format("{}{}{}{}", kBefore, mebibytes, kAfter, text);
}

int cache_state_of(std::string_view text) {
  if (!text.starts_with(kBefore)) return 0;
  text.remove_prefix(kBefore.size());
  int mebibytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mebibytes);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  const bool is_good = error == std::errc() && text.starts_with(kAfter);
  return is_good ? std::clamp(mebibytes, 0, std::rbegin(kSteps)->swept) : 0;
}

CacheSweeper::CacheSweeper(runtime::Executor& executor, int threads, int mebibytes, SweepMemory& memory)
    : executor_(executor), memory_(memory) {
  constexpr size_t kUsualL2 = size_t{1} << 20;
  const auto l2 = static_cast<size_t>(runtime::host_capabilities().level2_cache);
  const auto shared = static_cast<size_t>(mebibytes) * static_cast<size_t>(kMebibyte);
  const auto count = static_cast<size_t>(std::max(1, threads));
  const size_t bytes = std::max(2 * std::clamp<size_t>(l2, kUsualL2, 8 * kUsualL2), shared / count);
  words_of_thread_ = bytes / sizeof(uint64_t);
  if (memory_.size() < count * words_of_thread_) memory_.resize(count * words_of_thread_, 1);
}

runtime::Status CacheSweeper::sweep() {
  return executor_.on_threads(
      [](void* sweeper, int64_t begin, int64_t end, int) {
        auto& self = *static_cast<CacheSweeper*>(sweeper);
        read_parts(self.memory_, self.words_of_thread_, begin, end);
      },
      this);
}

}  // namespace collage::measure
