// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/window.h"

#include <algorithm>

namespace collage::runtime {
namespace {

using Problem = std::optional<WindowProblem>;

int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

std::string quoted(std::string_view attr) {
  std::string text(1, '`');
  text += attr;
  text += '`';
  return text;
}

/// A list attribute of `count` numbers in [least, kMaxWindowValue].
Problem read_list(const AttrMap& attrs, std::string_view name, size_t count, int64_t least, int64_t fallback,
                  Ints* list) {
  *list = attrs.get_ints(name, Ints(count, fallback));
  if (list->size() != count) {
    return WindowProblem{
        name, quoted(name) + " has " + std::to_string(list->size()) + " values, needs " + std::to_string(count)};
  }
  for (int64_t value : *list) {
    if (value < least || value > kMaxWindowValue) {
      return WindowProblem{name, quoted(name) + " must be between " + std::to_string(least) + " and " +
                                     std::to_string(kMaxWindowValue) + ", found " + std::to_string(value)};
    }
  }
  return std::nullopt;
}

enum class AutoPad { NotSet, SameUpper, SameLower, Valid };

Problem read_auto_pad(const AttrMap& attrs, AutoPad* mode) {
  std::string text = attrs.get_string("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) {
    *mode = AutoPad::NotSet;
  } else if (text == "SAME_UPPER") {
    *mode = AutoPad::SameUpper;
  } else if (text == "SAME_LOWER") {
    *mode = AutoPad::SameLower;
  } else if (text == "VALID") {
    *mode = AutoPad::Valid;
  } else {
    return WindowProblem{"auto_pad",
                         "`auto_pad` is one of NOTSET, SAME_UPPER, SAME_LOWER and VALID, found \"" + text + "\""};
  }
  return std::nullopt;
}

/// Fills everything but the output; pads as written.
Problem read_window(const Shape& input, const Shape& kernel, const AttrMap& attrs, AutoPad* auto_pad, Window* window) {
  size_t rank = input.size();
  window->input = input;
  window->kernel = kernel;
  for (int64_t extent : kernel) {
    if (extent < 1 || extent > kMaxWindowValue) {
      return WindowProblem{
          attrs.has("kernel_shape") ? "kernel_shape" : "",
          "kernel " + to_string(kernel) + " must have extents between 1 and " + std::to_string(kMaxWindowValue)};
    }
  }
  Ints pads;
  if (Problem p = read_list(attrs, "strides", rank, 1, 1, &window->strides)) return p;
  if (Problem p = read_list(attrs, "dilations", rank, 1, 1, &window->dilations)) return p;
  if (Problem p = read_list(attrs, "pads", 2 * rank, 0, 0, &pads)) return p;
  if (Problem p = read_auto_pad(attrs, auto_pad)) return p;
  if (*auto_pad != AutoPad::NotSet && std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; })) {
    return WindowProblem{"pads", "`pads` and `auto_pad` exclude each other"};
  }
  window->pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window->pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  window->output.assign(rank, 0);
  return std::nullopt;
}

/// Divides `total` over both ends; the odd one goes to the end for SAME_UPPER.
void split_pad(int64_t total, bool upper, int64_t* begin, int64_t* end) {
  int64_t half = total / 2;
  *begin = upper ? half : total - half;
  *end = total - *begin;
}

}  // namespace

Problem resolve_window(const Shape& input, const Shape& kernel, const AttrMap& attrs, Window* window) {
  AutoPad auto_pad;
  if (Problem p = read_window(input, kernel, attrs, &auto_pad, window)) return p;
  bool ceil_mode = auto_pad == AutoPad::NotSet && attrs.get_int("ceil_mode", 0) != 0;
  for (size_t d = 0; d < input.size(); ++d) {
    int64_t stride = window->strides[d];
    int64_t extent = (kernel[d] - 1) * window->dilations[d] + 1;
    if (auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower) {
      window->output[d] = ceil_div(input[d], stride);
      int64_t total = std::max<int64_t>(0, (window->output[d] - 1) * stride + extent - input[d]);
      split_pad(total, auto_pad == AutoPad::SameUpper, &window->pads_begin[d], &window->pads_end[d]);
      continue;
    }
    int64_t padded = input[d] + window->pads_begin[d] + window->pads_end[d];
    // Rounded up, the last window ends less than a stride after the padding; also where it is the only one.
    int64_t steps = ceil_mode ? ceil_div(padded - extent, stride) : extent > padded ? -1 : (padded - extent) / stride;
    // A window that would start after the input and its leading pad covers nothing.
    if (ceil_mode && steps >= 0 && steps * stride >= input[d] + window->pads_begin[d]) --steps;
    if (steps < 0) {
      const bool is_over_stride = ceil_mode && extent - padded >= stride;
      return WindowProblem{"", "kernel extent " + std::to_string(extent) + " exceeds the padded input extent " +
                                   std::to_string(padded) + " in spatial dimension " + std::to_string(d) +
                                   (is_over_stride ? " by its stride, " + std::to_string(stride) + ", or more" : "")};
    }
    window->output[d] = steps + 1;
  }
  return std::nullopt;
}

Problem resolve_transposed_window(const Shape& input, const Shape& kernel, const AttrMap& attrs, Window* window) {
  AutoPad auto_pad;
  if (Problem p = read_window(input, kernel, attrs, &auto_pad, window)) return p;
  size_t rank = input.size();
  Ints output_padding;
  if (Problem p = read_list(attrs, "output_padding", rank, 0, 0, &output_padding)) return p;
  Ints output_shape = attrs.get_ints("output_shape");
  if (!output_shape.empty() && output_shape.size() != rank) {
    return WindowProblem{"output_shape", "`output_shape` has " + std::to_string(output_shape.size()) +
                                             " values, needs " + std::to_string(rank)};
  }
  for (size_t d = 0; d < rank; ++d) {
    int64_t stride = window->strides[d];
    int64_t extent = (kernel[d] - 1) * window->dilations[d] + 1;
    int64_t natural = stride * (input[d] - 1) + output_padding[d] + extent;
    bool same = auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower;
    if (!output_shape.empty() || same) {
      window->output[d] = output_shape.empty() ? input[d] * stride : output_shape[d];
      split_pad(std::max<int64_t>(0, natural - window->output[d]), auto_pad == AutoPad::SameUpper,
                &window->pads_begin[d], &window->pads_end[d]);
    } else {
      window->output[d] = natural - window->pads_begin[d] - window->pads_end[d];
    }
    if (window->output[d] < 1) {
      return WindowProblem{output_shape.empty() ? "" : "output_shape",
                           "output extent " + std::to_string(window->output[d]) + " in spatial dimension " +
                               std::to_string(d) + " is not positive"};
    }
  }
  return std::nullopt;
}

Problem resolve_unpooled_shape(const Shape& pooled, const AttrMap& attrs, Shape* shape) {
  size_t rank = pooled.size() - 2;
  Shape kernel = attrs.get_ints("kernel_shape");
  if (kernel.size() != rank) {
    return WindowProblem{"kernel_shape", "`kernel_shape` has " + std::to_string(kernel.size()) + " values, needs " +
                                             std::to_string(rank)};
  }
  Window window;
  AutoPad auto_pad;
  if (Problem p = read_window(Shape(pooled.begin() + 2, pooled.end()), kernel, attrs, &auto_pad, &window)) return p;
  *shape = pooled;
  for (size_t d = 0; d < rank; ++d) {
    int64_t extent = (pooled[d + 2] - 1) * window.strides[d] + kernel[d] - window.pads_begin[d] - window.pads_end[d];
    if (extent < 1) return WindowProblem{"pads", "`pads` leave nothing of spatial dimension " + std::to_string(d)};
    (*shape)[d + 2] = extent;
  }
  return std::nullopt;
}

IndexRange indices_inside(int64_t count, int64_t stride, int64_t offset, int64_t limit) {
  // offset + i * stride >= 0  <=>  i >= ceil(-offset / stride);  offset + i * stride < limit likewise
  int64_t begin = offset >= 0 ? 0 : ceil_div(-offset, stride);
  int64_t end = limit > offset ? ceil_div(limit - offset, stride) : 0;
  end = std::min(end, count);
  return {std::min(begin, end), std::max<int64_t>(end, 0)};
}

}  // namespace collage::runtime
