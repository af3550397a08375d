// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/workers.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <system_error>

namespace collage::runtime {

Workers::Workers(int threads, From from)
    : most_parts_(std::max(threads, 1)), from_(from), is_lent_(from == From::Own), chunks_(most_parts_) {
  if (from == From::OpenMp) return;
  try {
    for (int part = 1; part < threads; ++part) threads_.emplace_back([this, part] { work(part); });
  } catch (const std::system_error&) {  // the loops are divided among those that there are
  }
}

Workers::~Workers() {
  state_.fetch_or(kEnd);
  state_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status Workers::lend(const std::function<Status()>& body) {
  if (is_lent_ || most_parts_ == 1) return body();
  Status status = Status::ok();
  is_lent_ = true;
#pragma omp parallel num_threads(most_parts_)
  {
    if (const int part = omp_get_thread_num(); part > 0) {
      work(part);
    } else {
      try {
        status = body();
      } catch (const std::exception& exception) {  // nothing may leave the region
        status = Status::error(exception.what());
      }
      state_.fetch_or(kEnd);
      state_.notify_all();
    }
  }
  state_.fetch_and(~kEnd);
  is_lent_ = false;
  return status;
}

Status Workers::run(int64_t extent, int64_t grain, RangeFunction function, void* context) {
  const int present = from_ == From::Own ? static_cast<int>(threads_.size()) + 1 : most_parts_;
  const int parts = part_count(extent, grain, is_lent_ ? present : 1);
  if (parts == 0) return Status::ok();
  if (parts == 1) {
    std::string failure = run_part(function, context, {0, extent}, 0);
    return failure.empty() ? Status::ok() : Status::error(std::move(failure));
  }
  loop_.function = function;
  loop_.context = context;
  loop_.parts = parts;
  loop_.failures.assign(static_cast<size_t>(parts), {});
  chunks_.restart(extent, grain, parts);
  state_.store(((state_.load() & ~(kOneLoop - 1)) + kOneLoop) | kOpen);
  state_.notify_all();
  take_chunks(0);
  uint32_t state = state_.fetch_and(~kOpen) & ~kOpen;
  while ((state & kInside) != 0) {
    const bool is_done = owner_waiting_.spin([&] { return (state_.load(std::memory_order_acquire) & kInside) == 0; });
    if (is_done) break;
    state = state_.load();
    if ((state & kInside) != 0) state_.wait(state);
    state = state_.load();
  }
  for (std::string& failure : loop_.failures) {
    if (!failure.empty()) return Status::error(std::move(failure));
  }
  return Status::ok();
}

void Workers::take_chunks(int part) {
  while (std::optional<Range> range = chunks_.take(part)) {
    std::string failure = run_part(loop_.function, loop_.context, *range, part);
    if (!failure.empty()) loop_.failures[static_cast<size_t>(part)] = std::move(failure);
  }
}

bool Workers::enter(uint32_t* seen) {
  uint32_t state = state_.load();
  while ((state & kOpen) != 0 && state / kOneLoop != *seen) {
    if (!state_.compare_exchange_weak(state, state + kOneInside)) continue;
    *seen = state / kOneLoop;
    return true;
  }
  return false;
}

void Workers::leave() {
  const uint32_t before = state_.fetch_sub(kOneInside);
  if ((before & kInside) == kOneInside && (before & kOpen) == 0) state_.notify_all();
}

void Workers::work(int part) {
  Waiting waiting;
  uint32_t seen = 0;
  const auto has_news = [&](uint32_t state) {
    return (state & kEnd) != 0 || ((state & kOpen) != 0 && state / kOneLoop != seen);
  };
  for (;;) {
    if (!waiting.spin([&] { return has_news(state_.load(std::memory_order_acquire)); })) {
      for (uint32_t state = state_.load(); !has_news(state); state = state_.load()) state_.wait(state);
    }
    if ((state_.load() & kEnd) != 0) return;
    if (!enter(&seen)) continue;
    if (part < loop_.parts) take_chunks(part);
    leave();
  }
}

}  // namespace collage::runtime
