// SPDX-License-Identifier: Apache-2.0
// A convolution's geometry, with 1-d and 2-d ones written as 3-d: depth, height, width.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

struct ConvProblem {
  ir::ValueId x, w, b;
  std::optional<runtime::Tensor> own_weights{};  ///< instead of those of `w`
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 1;   ///< per group
  int64_t out_channels = 1;  ///< per group
  std::array<int64_t, 3> input{1, 1, 1};
  std::array<int64_t, 3> kernel{1, 1, 1};
  std::array<int64_t, 3> strides{1, 1, 1};
  std::array<int64_t, 3> dilations{1, 1, 1};
  std::array<int64_t, 3> pads{0, 0, 0};  ///< at the beginning
  std::array<int64_t, 3> output{1, 1, 1};
  std::array<int64_t, 5> x_strides{0, 0, 0, 0,
                                   0};  ///< elements from one image, channel, plane, row, column to the next

  bool is_flattened = false;  ///< a 1x1 convolution: all positions are one row

  // A phase of a transposed convolution: an ordinary convolution of stride 1 with some of the kernel's taps, whose
  // results are not contiguous. An ordinary convolution has one phase.
  bool transposed = false;
  std::array<int64_t, 3> first_tap{0, 0, 0};      ///< in the kernel of the weights
  std::array<int64_t, 3> tap_step{1, 1, 1};       ///< from tap to tap; negative if the kernel is reversed
  std::array<int64_t, 3> weight_kernel{1, 1, 1};  ///< extents of the weights' kernel
  std::array<int64_t, 3> first_output{0, 0, 0};
  std::array<int64_t, 3> output_step{1, 1, 1};
  std::array<int64_t, 3> whole_output{1, 1, 1};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return in_channels * taps(); }
  int64_t in_plane() const { return input[0] * input[1] * input[2]; }
  int64_t out_plane() const { return output[0] * output[1] * output[2]; }
  bool is_depthwise() const { return in_channels == 1 && out_channels == 1 && groups > 1 && taps() <= 64; }
};

/// Describes only the window of an operator with spatial dimensions from the third on.
ConvProblem describe_window(const ir::Graph& graph, ir::NodeId node, const ir::Shape& kernel);

/// Expects a Conv of rank 3 to 5 that inference accepted, in memory order (layout/memory_order.h). A 1x1 convolution
/// with unit strides and no pads becomes one row.
ConvProblem describe_conv(const ir::Graph& graph, ir::NodeId node);

/// The phases of a ConvTranspose of rank 3 to 5, each with at least one result:
///
///   y[o] = sum over i, k with i s + k d - pad = o of x[i] w[k]
///
/// For o = s q + r only the taps k = k0 + j s / gcd(s, d) meet an input, which is q + (r + pad - k d) / s: a
/// convolution over q.
std::vector<ConvProblem> transposed_phases(const ir::Graph& graph, ir::NodeId node);

/// The Resize whose result is the convolution's operand and nothing else's, where its phases are convolutions of the
/// smaller tensor: nearest neighbours, each repeated a whole number of times along the window's dimensions; strides and
/// dilations 1.
std::optional<ir::NodeId> upsampling_of(const ir::Graph& graph, ir::NodeId conv);

/// The phases of such a convolution. Taps that meet the same element of the smaller tensor become one:
///
///   y[s q + r] = sum over k of x[floor((s q + r + k - pad) / s)] w[k]
///              = sum over d of x[q + d] v[d],   v[d] = sum of w[k] with floor((r + k - pad) / s) = d
///
///   3 x 3 taps on twice the picture   =>   4 phases of 2 x 2 taps: 16 products instead of 36
std::vector<ConvProblem> upsampled_phases(const ir::Graph& graph, ir::NodeId conv, ir::NodeId resize);

/// Drops taps at the kernel's edges that meet no input, whatever the position:
///
///   3 taps on 1 element with 1 pad on either side   =>   1 tap, no pads
ConvProblem without_idle_taps(ConvProblem problem);

/// Offsets of the taps within a kernel of the weights.
std::vector<int64_t> weight_taps(const ConvProblem& problem);

/// Index of a weight whose tap has this offset. Weights are [group, channel out, channel in, taps]; of a transposed
/// convolution [group, channel in, channel out, taps].
int64_t weight_index(const ConvProblem& problem, int64_t group, int64_t out, int64_t in, int64_t tap);

/// Accepts plain tensors of f32, rank 3 to 5.
bool accepts_conv(const ir::Graph& graph, ir::NodeId node);

}  // namespace collage::codegen
