// SPDX-License-Identifier: Apache-2.0
// Dimensions are merged if both sides permit it; then lanes lie along the last one:
//
//   contiguous in both         rows of vectors, long ones cut into chunks
//   short                      more dimensions are flattened into the lanes; a table has the offsets of the source
//   strided in the source      a block of lanes moves along the dimension in which the source is contiguous, so that
//                              every cache line of a gather is used completely
#include "compiler/codegen/lower/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {
namespace {

/// Elements of a contiguous row in one task, and the least for a separate thread.
constexpr int64_t kChunk = 8192;
constexpr int64_t kGrainElements = 16384;
/// Shorter rows are flattened with their neighbours, up to this many elements.
constexpr int64_t kShortRow = 32;
constexpr int64_t kMostFlattened = 4096;
/// Lane offsets are 32-bit.
constexpr int64_t kMostOffset = int64_t{1} << 26;

bool divides_by_four(const StridedCopy& copy) {
  if (copy.dims.empty() || copy.from_offset % 4 != 0 || copy.to_offset % 4 != 0) return false;
  const CopyDim& last = copy.dims.back();
  if (last.to != 1 || last.from != 1 || last.extent % 4 != 0) return false;
  return std::all_of(copy.dims.begin(), copy.dims.end() - 1,
                     [](const CopyDim& d) { return d.to % 4 == 0 && d.from % 4 == 0; });
}

// (a, b) => one dimension if b's end is a's next step, on both sides.
void merge_dims(StridedCopy& copy) {
  std::vector<CopyDim> merged;
  for (const CopyDim& d : copy.dims) {
    if (d.extent == 1) continue;
    if (!merged.empty() && merged.back().to == d.to * d.extent && merged.back().from == d.from * d.extent) {
      merged.back() = {merged.back().extent * d.extent, d.to, d.from};
    } else {
      merged.push_back(d);
    }
  }
  copy.dims = std::move(merged);
}

// Elements => words of 4 bytes, where a copy of words is one of elements.
void count_words(StridedCopy& copy, size_t element) {
  if (element == 8 && copy.from.is_valid()) {
    for (CopyDim& d : copy.dims) d = {d.extent, 2 * d.to, 2 * d.from};
    copy.from_offset *= 2;
    copy.to_offset *= 2;
    copy.dims.push_back({2, 1, 1});
  } else if (element == 1 && copy.from.is_valid() && divides_by_four(copy)) {
    for (CopyDim& d : copy.dims) d = {d.extent, d.to / 4, d.from / 4};
    copy.dims.back() = {copy.dims.back().extent / 4, 0, 0};
    copy.from_offset /= 4;
    copy.to_offset /= 4;
    copy.dims.back().to = copy.dims.back().from = 1;
  }
}

/// How the elements of a copy lie, and the numbers that vectors of them are.
struct CopyTypes {
  Element element = Element::F32;
  Element number = Element::F32;
};

class CopyEmitter {
 public:
  CopyEmitter(const LoweringContext& context, StridedCopy copy, CopyTypes types)
      : builder_(context, types.number),
        nest_(builder_.nest()),
        copy_(std::move(copy)),
        types_(types),
        lanes_(nest_.lanes()) {}

  KernelSketch run() {
    if (copy_.from.is_valid()) from_ = builder_.value_buffer_of(types_.element, copy_.from, false);
    to_ = builder_.value_buffer_of(types_.element, copy_.to, true);
    if (copy_.dims.empty()) copy_.dims.push_back({1, 1, 1});
    choose_lanes();
    choose_loops();
    emit();
    return builder_.finish(tasks_, kGrainElements / std::max<int64_t>(1, task_elements_));
  }

 private:
  bool fills() const { return !copy_.from.is_valid(); }

  // Chooses the last dimension, or several with a table of offsets.
  void choose_lanes() {
    inner_ = copy_.dims.back();
    copy_.dims.pop_back();
    if (inner_.extent >= kShortRow || inner_.to != 1 || copy_.dims.empty()) return;
    std::vector<CopyDim> flat = {inner_};
    int64_t count = inner_.extent;
    while (!copy_.dims.empty() && copy_.dims.back().to == count && count < 2 * kShortRow &&
           count * copy_.dims.back().extent <= kMostFlattened) {
      flat.insert(flat.begin(), copy_.dims.back());
      count *= copy_.dims.back().extent;
      copy_.dims.pop_back();
    }
    if (flat.size() == 1) return;
    std::vector<int64_t> offsets = {0};
    for (const CopyDim& d : flat) {
      std::vector<int64_t> next;
      for (int64_t base : offsets) {
        for (int64_t i = 0; i < d.extent; ++i) next.push_back(base + i * d.from);
      }
      offsets = std::move(next);
    }
    inner_ = {count, 1, 1};
    runtime::Tensor table(runtime::DType::I32, {count + lanes_});
    auto entries = table.as<int32_t>();
    std::fill(entries.begin(), entries.end(), 0);
    std::copy(offsets.begin(), offsets.end(), entries.begin());
    if (!fills()) table_ = builder_.constant_buffer(std::move(table), "offsets");
  }

  // Inner dimensions become loops of a task until it has enough to do.
  void choose_loops() {
    if (table_ < 0 && inner_.from != 1 && inner_.from != 0) {
      auto along = std::find_if(copy_.dims.begin(), copy_.dims.end(), [](const CopyDim& d) { return d.from == 1; });
      if (along != copy_.dims.end()) {
        walk_ = *along;
        copy_.dims.erase(along);
      }
    }
    bool blocked = walk_.extent > 1;
    chunk_ = blocked ? lanes_ : std::min(inner_.extent, kChunk);
    chunks_ = ceil_div(inner_.extent, chunk_);
    task_elements_ = chunk_ * walk_.extent;
    loops_ = copy_.dims.size();
    while (loops_ > 0 && chunks_ == 1 && task_elements_ * copy_.dims[loops_ - 1].extent <= 4 * kChunk) {
      task_elements_ *= copy_.dims[--loops_].extent;
    }
    tasks_ = chunks_;
    for (size_t d = 0; d < loops_; ++d) tasks_ *= copy_.dims[d].extent;
  }

  void emit() {
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    Expr begin = chunks_ > 1 ? nest_.let("begin", mul(rem(task, chunks_), chunk_)) : int_const(0);
    Expr rest = chunks_ > 1 ? nest_.let("rest", div(task, chunks_)) : task;
    Expr from = int_const(copy_.from_offset);
    Expr to = int_const(copy_.to_offset);
    for (size_t d = loops_; d-- > 0;) {
      Expr i = d == 0 ? rest : nest_.let("i", rem(rest, copy_.dims[d].extent));
      if (d > 0) rest = nest_.let("rest", div(rest, copy_.dims[d].extent));
      from = add(mul(i, copy_.dims[d].from), from);
      to = add(mul(i, copy_.dims[d].to), to);
    }
    std::vector<CopyDim> loops(copy_.dims.begin() + static_cast<long>(loops_), copy_.dims.end());
    for (const CopyDim& d : loops) {
      Expr i = nest_.begin_for("i", int_const(0), int_const(d.extent));
      from = add(mul(i, d.from), from);
      to = add(mul(i, d.to), to);
    }
    from = nest_.let("from", from);
    to = nest_.let("to", to);
    if (walk_.extent > 1) {
      emit_block(begin, from, to);
    } else {
      emit_row(begin, from, to);
    }
    for (size_t i = 0; i < loops.size(); ++i) nest_.end_for();
    nest_.end_for();
  }

  // Copies a block of lanes from `begin` on, at every step along the source's contiguous dimension.
  void emit_block(const Expr& begin, const Expr& from, const Expr& to) {
    auto walk = [&](const Expr& mask) {
      Expr p = nest_.begin_for("p", int_const(0), int_const(walk_.extent));
      vector(begin, add(from, p), add(to, mul(p, walk_.to)), mask);
      nest_.end_for();
    };
    if (inner_.extent % lanes_ == 0) return walk(nullptr);
    nest_.begin_if(less(begin, int_const(inner_.extent / lanes_ * lanes_)));
    walk(nullptr);
    nest_.end_if();
    nest_.begin_if(less(int_const(inner_.extent - lanes_), begin));
    walk(nest_.let("mask", nest_.lanes_below(int_const(inner_.extent % lanes_))));
    nest_.end_if();
  }

  void emit_row(const Expr& begin, const Expr& from, const Expr& to) {
    Expr end = chunks_ > 1 ? nest_.let("end", min(add(begin, chunk_), int_const(inner_.extent))) : int_const(chunk_);
    int64_t unroll = 4 * lanes_;
    Expr i = nest_.begin_for("i", begin, add(end, 1 - unroll), unroll);
    for (int64_t u = 0; u < unroll; u += lanes_) vector(add(i, u), from, to, nullptr);
    nest_.end_for();
    if (inner_.extent % unroll == 0) return;
    Expr whole = nest_.let("whole", add(begin, mul(div(sub(end, begin), unroll), unroll)));
    Expr j = nest_.begin_for("j", whole, end, lanes_);
    vector(j, from, to, nest_.let("mask", nest_.lanes_below(sub(end, j))));
    nest_.end_for();
  }

  void vector(const Expr& i, const Expr& from, const Expr& to, const Expr& mask) {
    int lanes = nest_.lanes();
    Expr value;
    if (fills()) {
      value = nest_.constant_bits(copy_.fill, lanes);
    } else if (table_ >= 0) {
      value = gather(from_, from, load(table_, i, lanes), mask);
    } else if (inner_.from == 0) {
      value = splat(load(from_, from, 1), lanes);
    } else if (inner_.from == 1) {
      value = load(from_, add(from, i), lanes, mask);
    } else {
      value = gather(from_, add(from, mul(i, inner_.from)), nest_.lane_offsets(inner_.from), mask);
    }
    if (inner_.to == 1) {
      nest_.store(to_, add(to, i), value, mask);
    } else {
      nest_.scatter(to_, add(to, mul(i, inner_.to)), value, nest_.lane_offsets(inner_.to), mask);
    }
  }

  KernelBuilder builder_;
  Nest& nest_;
  StridedCopy copy_;
  CopyTypes types_;
  CopyDim inner_;
  CopyDim walk_;
  size_t loops_ = 0;  ///< dimensions from here on are loops of a task
  int64_t lanes_ = 1;
  int64_t chunk_ = 1;
  int64_t chunks_ = 1;
  int64_t tasks_ = 1;
  int64_t task_elements_ = 1;
  int from_ = -1;
  int to_ = -1;
  int table_ = -1;
};

/// Small elements that do not make up words become words in the vectors.
CopyTypes types_of(const StridedCopy& copy, size_t element) {
  if (element == 8 && !copy.from.is_valid()) return {Element::I64, Element::I64};
  if (element == 1 && (!copy.from.is_valid() || !divides_by_four(copy))) return {Element::U8, Element::I32};
  if (element == 2) return {Element::I16, Element::I32};
  return {};
}

size_t element_size(const ir::Graph& graph, const StridedCopy& copy) {
  return runtime::size_of(graph.value(copy.to).type.dtype);
}

}  // namespace

bool can_copy(const ir::Graph& graph, const StridedCopy& copy) {
  if (element_size(graph, copy) > 8) return false;
  return std::all_of(copy.dims.begin(), copy.dims.end(),
                     [](const CopyDim& d) { return std::abs(d.from) <= kMostOffset && std::abs(d.to) <= kMostOffset; });
}

KernelSketch copy_kernel(const LoweringContext& context, StridedCopy copy) {
  merge_dims(copy);
  const size_t element = element_size(context.graph, copy);
  const CopyTypes types = types_of(copy, element);
  count_words(copy, element);
  merge_dims(copy);
  return CopyEmitter(context, std::move(copy), types).run();
}

std::optional<SharedMemory> shared_memory(const ir::Graph& graph, const StridedCopy& copy) {
  if (!copy.from.is_valid()) return std::nullopt;
  StridedCopy merged = copy;
  merge_dims(merged);
  int64_t count = 1;
  if (merged.dims.size() > 1) return std::nullopt;
  if (!merged.dims.empty()) {
    if (merged.dims[0].to != 1 || merged.dims[0].from != 1) return std::nullopt;
    count = merged.dims[0].extent;
  }
  size_t size = element_size(graph, copy);
  if (copy.to_offset == 0 && count == runtime::element_count(graph.value(copy.to).type.shape)) {
    return SharedMemory{copy.to, copy.from, static_cast<size_t>(copy.from_offset) * size};
  }
  if (copy.from_offset == 0 && count == runtime::element_count(graph.value(copy.from).type.shape)) {
    return SharedMemory{copy.from, copy.to, static_cast<size_t>(copy.to_offset) * size};
  }
  return std::nullopt;
}

}  // namespace collage::codegen
