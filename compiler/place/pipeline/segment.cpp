// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/segment.h"

#include <algorithm>

namespace collage::place {

using support::advance;

Segment::Segment(const Chain& chain)
    : chain_(chain),
      at_(chain.steps.size()),
      freed_(chain.steps.size()),
      held_(chain.steps.size()),
      constant_since_(chain.constant_bytes.size()),
      since_(chain.values.size()),
      read_at_(chain.values.size()) {
  for (ChainValueId v : chain.values.ids()) {
    const ChainValue& value = chain.values[v];
    if (value.writer.is_valid()) at_[value.writer].written.push_back(v);
    for (StepId reader : value.readers) at_[reader].read.push_back(v);
  }
}

StepId Segment::last_use(const ChainValue& value) const {
  if (value.is_kept) return advance(chain_.steps.next_id(), -1);
  return value.readers.empty() ? value.writer : std::max(value.writer, value.readers.back());
}

void Segment::start(StepId begin) {
  for (StepId step : frees_) freed_[step] = 0;
  frees_.clear();
  ++start_;
  begin_ = end_ = begin;
  work_ = copies_ = copies_of_inputs_ = copies_home_ = 0;
  constants_ = peak_ = made_ = 0;
}

void Segment::grow() {
  const StepId now = end_;
  const ChainStep& step = chain_.steps[now];
  end_ = advance(end_, 1);
  work_ += step.work;
  for (int constant : step.constants) {
    int64_t& since = constant_since_[static_cast<size_t>(constant)];
    if (since == start_) continue;
    since = start_;
    constants_ += chain_.constant_bytes[static_cast<size_t>(constant)];
  }
  if (now > begin_) made_ -= freed_[advance(now, -1)];
  for (ChainValueId v : at_[now].written) {
    const ChainValue& value = chain_.values[v];
    made_ += value.bytes;
    freed_[last_use(value)] += value.bytes;
    frees_.push_back(last_use(value));
    if (value.is_kept) copies_home_ += value.copy_home;
  }
  held_[now] = made_;
  for (ChainValueId v : at_[now].read) {
    const ChainValue& value = chain_.values[v];
    if (value.writer.is_valid() && value.writer >= begin_) continue;
    StepId from = now;
    if (since_[v] == start_) {
      from = advance(read_at_[v], 1);
    } else {
      since_[v] = start_;
      (value.writer.is_valid() ? copies_ : copies_of_inputs_) += value.copy;
    }
    for (StepId t = from; t <= now; t = advance(t, 1)) {
      held_[t] += value.bytes;
      peak_ = std::max(peak_, held_[t]);
    }
    read_at_[v] = now;
  }
  peak_ = std::max(peak_, held_[now]);
}

}  // namespace collage::place
