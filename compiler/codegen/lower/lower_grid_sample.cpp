// SPDX-License-Identifier: Apache-2.0
// GridSample of pictures. Lanes are neighbouring places of the grid: pixels and weights are computed once for all
// channels, whose pixels are gathered. A task is a vector of places. As in the reference kernel
// (runtime/kernels/grid_sample.cpp), places that are NaN or infinite lie far outside.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

constexpr int64_t kSampleGrain = 4096;
/// Pixels of a plane are numbered in f32.
constexpr int64_t kMostPixels = 1 << 24;

enum class SampleMode { Nearest, Linear, Cubic };
enum class SamplePadding { Zeros, Border, Reflection };

/// A pixel of an axis, its weight, and where it lies in the picture (null: everywhere).
struct AxisTap {
  Expr index;
  Expr weight;
  Expr inside;
};

class GridSampleLowering {
 public:
  GridSampleLowering(const LoweringContext& context, const ir::Node& node)
      : node_(node), builder_(context), nest_(builder_.nest()), lanes_(nest_.lanes()) {
    const ir::Shape& x = context.graph.value(node.inputs[0]).type.shape;
    const ir::Shape& y = context.graph.value(node.outputs[0]).type.shape;
    images_ = y[0];
    channels_ = y[1];
    places_ = y[2] * y[3];
    height_ = x[2];
    width_ = x[3];
    const std::string mode = ir::attrs_of(node).string_of("mode");
    mode_ = mode == "nearest"                        ? SampleMode::Nearest
            : mode == "bilinear" || mode == "linear" ? SampleMode::Linear
                                                     : SampleMode::Cubic;
    const std::string padding = ir::attrs_of(node).string_of("padding_mode");
    padding_ = padding == "border"       ? SamplePadding::Border
               : padding == "reflection" ? SamplePadding::Reflection
                                         : SamplePadding::Zeros;
    align_ = ir::attrs_of(node).int_of("align_corners") != 0;
  }

  std::vector<KernelSketch> run() {
    x_ = builder_.value_buffer(node_.inputs[0], false);
    const int grid = builder_.value_buffer(node_.inputs[1], false);
    y_ = builder_.value_buffer(node_.outputs[0], true);
    const int64_t vectors = ceil_div(places_, lanes_);
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    const Expr image = nest_.let("image", div(task, vectors));
    const Expr place = nest_.let("place", mul(rem(task, vectors), lanes_));
    const bool is_ragged = places_ % lanes_ != 0;
    const Expr mask = is_ragged ? nest_.let("mask", nest_.lanes_below(sub(int_const(places_), place))) : nullptr;
    const Expr at = nest_.let("at", mul(add(mul(image, places_), place), 2));
    const Expr across = nest_.let("across", gather(grid, at, nest_.lane_offsets(2), mask));
    const Expr down = nest_.let("down", gather(grid, add(at, 1), nest_.lane_offsets(2), mask));
    emit_channels(image, place, mask, taps(down, height_), taps(across, width_));
    nest_.end_for();
    const int64_t work = channels_ * lanes_ * (mode_ == SampleMode::Cubic ? 16 : 4);
    std::vector<KernelSketch> kernels;
    kernels.push_back(builder_.finish(images_ * vectors, kSampleGrain / std::max<int64_t>(1, work)));
    return kernels;
  }

 private:
  Expr number(double value) { return nest_.constant(static_cast<float>(value), lanes_); }
  Expr clamped(double low, double high, const Expr& x) {
    return binary(Op::FMin, number(high), binary(Op::FMax, number(low), x));
  }

  /// Bounds between which a place is reflected.
  std::array<double, 2> mirrors(int64_t extent) const {
    const auto last = static_cast<double>(extent - 1);
    return align_ ? std::array<double, 2>{0, last} : std::array<double, 2>{-0.5, last + 0.5};
  }

  static double reflected(double x, double low, double high) {
    const double span = high - low;
    if (span <= 0) return low;
    const double past = std::fmod(std::abs(x - low), 2 * span);
    return low + (past > span ? 2 * span - past : past);
  }

  Expr reflected(const Expr& x, double low, double high) {
    const double span = high - low;
    if (span <= 0) return number(low);
    const Expr distance = nest_.let("distance", vector_abs(nest_, binary(Op::FSub, x, number(low))));
    const Expr turns = unary(Op::FFloor, binary(Op::FDiv, distance, number(2 * span)));
    const Expr past = nest_.let("past", fma(turns, number(-2 * span), distance));
    const Expr back = binary(Op::FSub, number(2 * span), past);
    return nest_.let("reflected",
                     binary(Op::FAdd, number(low), select(binary(Op::FLess, number(span), past), back, past)));
  }

  AxisTap pixel(Expr index, const Expr& weight, int64_t extent) {
    const auto last = static_cast<double>(extent - 1);
    if (padding_ == SamplePadding::Zeros) {
      index = nest_.let("index", index);
      const Expr inside =
          mask_op(Op::MaskAnd, binary(Op::FLessEq, number(0), index), binary(Op::FLessEq, index, number(last)));
      return {index, weight, nest_.let("inside", inside)};
    }
    if (padding_ == SamplePadding::Reflection) {
      const auto [low, high] = mirrors(extent);
      index = unary(Op::FRound, reflected(nest_.let("index", index), low, high));
    }
    return {nest_.let("index", clamped(0, last, index)), weight, nullptr};
  }

  /// x to the nearest whole number; `slope` * place + `offset`, which x rounds, decides where x lies in the middle.
  Expr nearest(const Expr& x, const Expr& place, double slope, double offset) {
    const Expr low = nest_.let("low", unary(Op::FFloor, x));
    const Expr is_middle = binary(Op::FEqual, binary(Op::FSub, x, low), number(0.5));
    const Expr lost = nest_.let("lost", fma(place, number(slope), binary(Op::FSub, number(offset), x)));
    const Expr even = nest_.let("even", unary(Op::FRound, x));
    const Expr up = select(binary(Op::FLess, number(0), lost), binary(Op::FAdd, low, number(1)), even);
    const Expr either = select(binary(Op::FLess, lost, number(0)), low, up);
    return nest_.let("nearest", select(is_middle, either, even));
  }

  /// The place in the picture, from -1 to 1, that a place outside reflects. Nothing is rounded on the way.
  Expr reflected_place(const Expr& place) {
    const Expr periods = unary(Op::FRound, binary(Op::FMul, place, number(0.25)));
    const Expr near = nest_.let("near", fma(periods, number(-4), place));
    const Expr up = select(binary(Op::FLess, number(1), near), binary(Op::FSub, number(2), near), near);
    const Expr down = binary(Op::FSub, number(-2), near);
    return nest_.let("reflected", select(binary(Op::FLess, near, number(-1)), down, up));
  }

  std::vector<AxisTap> taps(const Expr& place, int64_t extent) {
    constexpr double kFarOutside = -1e9;
    const auto size = static_cast<double>(extent);
    const double slope = align_ ? (size - 1) / 2 : size / 2;
    const double offset = (size - 1) / 2;
    const Expr infinity = number(std::numeric_limits<double>::infinity());
    const Expr is_finite = nest_.let("finite", binary(Op::FLess, vector_abs(nest_, place), infinity));
    const Expr at = padding_ == SamplePadding::Reflection ? reflected_place(place) : place;
    Expr x = nest_.let("x", fma(at, number(slope), number(offset)));
    double outside = kFarOutside;
    // Places that far away are outside in the same way; their neighbours' numbers stay whole.
    const bool is_moved_by_pixel = padding_ == SamplePadding::Border && mode_ == SampleMode::Cubic;
    if (padding_ == SamplePadding::Zeros || is_moved_by_pixel) x = clamped(-1e6 - size, 1e6 + size, x);
    if (padding_ == SamplePadding::Border) {
      if (!is_moved_by_pixel) x = clamped(0, size - 1, x);
      outside = 0;
    }
    if (padding_ == SamplePadding::Reflection) {
      const auto [low, high] = mirrors(extent);
      outside = reflected(kFarOutside, low, high);
    } else if (padding_ == SamplePadding::Zeros) {
      outside = -1e6 - size;
    }
    x = nest_.let("x", select(is_finite, x, number(outside)));
    if (mode_ == SampleMode::Nearest) return {pixel(nearest(x, at, slope, offset), nullptr, extent)};
    const Expr low = nest_.let("low", unary(Op::FFloor, x));
    const Expr t = nest_.let("t", binary(Op::FSub, x, low));
    const Expr rest = nest_.let("rest", binary(Op::FSub, number(1), t));
    if (mode_ == SampleMode::Linear) {
      return {pixel(low, rest, extent), pixel(binary(Op::FAdd, low, number(1)), t, extent)};
    }
    std::vector<AxisTap> found;
    for (int k = 0; k < 4; ++k) {
      const Expr distance = k < 2 ? t : rest;
      const Expr weight = k == 0 || k == 3 ? outer_cubic(distance) : inner_cubic(distance);
      found.push_back(pixel(binary(Op::FAdd, low, number(k - 1)), nest_.let("weight", weight), extent));
    }
    return found;
  }

  /// Keys' kernel with a = -0.75, at distance s from 0 to 1, and at distance 1 + s.
  Expr inner_cubic(const Expr& s) {
    const Expr p = fma(s, number(kCubic + 2), number(-(kCubic + 3)));
    return fma(binary(Op::FMul, s, s), p, number(1));
  }
  Expr outer_cubic(const Expr& s) {
    const Expr d = nest_.let("d", binary(Op::FAdd, s, number(1)));
    Expr p = fma(d, number(kCubic), number(-5 * kCubic));
    p = fma(p, d, number(8 * kCubic));
    return fma(p, d, number(-4 * kCubic));
  }

  void emit_channels(const Expr& image, const Expr& place, const Expr& mask, const std::vector<AxisTap>& down,
                     const std::vector<AxisTap>& across) {
    struct Pixel {
      Expr offsets, weight, inside;
    };
    std::vector<Pixel> pixels;
    for (const AxisTap& row : down) {
      for (const AxisTap& column : across) {
        Pixel made;
        const Expr index = fma(row.index, number(static_cast<double>(width_)), column.index);
        made.inside = row.inside ? nest_.let("inside", mask_op(Op::MaskAnd, row.inside, column.inside)) : nullptr;
        // Pixels outside are not read, but need a valid index.
        const Expr bounded = made.inside ? select(made.inside, index, number(0)) : index;
        made.offsets = nest_.let("offsets", unary(Op::ToBits, bounded));
        if (row.weight) made.weight = nest_.let("weight", binary(Op::FMul, row.weight, column.weight));
        pixels.push_back(made);
      }
    }
    const Expr c = nest_.begin_for("c", int_const(0), int_const(channels_));
    const Expr plane = nest_.let("plane", add(mul(image, channels_), c));
    const Expr from = nest_.let("from", mul(plane, height_ * width_));
    Expr sum;
    for (const Pixel& pixel : pixels) {
      const Expr value = gather(x_, from, pixel.offsets, pixel.inside);
      if (!pixel.weight) {
        sum = value;
      } else {
        sum = nest_.let("sum", sum ? fma(value, pixel.weight, sum) : binary(Op::FMul, value, pixel.weight));
      }
    }
    nest_.store(y_, add(mul(plane, places_), place), sum, mask);
    nest_.end_for();
  }

  static constexpr double kCubic = -0.75;

  const ir::Node& node_;
  KernelBuilder builder_;
  Nest& nest_;
  int lanes_;
  int64_t images_ = 1, channels_ = 1, places_ = 1, height_ = 1, width_ = 1;
  SampleMode mode_ = SampleMode::Linear;
  SamplePadding padding_ = SamplePadding::Zeros;
  bool align_ = false;
  int x_ = -1, y_ = -1;
};

bool accepts_grid_sample(const ir::Graph& graph, ir::NodeId id) {
  const ir::TensorType& x = graph.value(graph.node(id).inputs[0]).type;
  const ir::TensorType& grid = graph.value(graph.node(id).inputs[1]).type;
  return x.dtype == ir::DType::F32 && grid.dtype == ir::DType::F32 && x.shape.size() == 4 &&
         x.shape[2] * x.shape[3] <= kMostPixels;
}

std::vector<KernelSketch> lower_grid_sample(const LoweringContext& context, const Group& group) {
  return GridSampleLowering(context, context.graph.node(group.anchor)).run();
}

}  // namespace

const Lowering& grid_sample_lowering() {
  static constexpr Lowering row{accepts_grid_sample, [](const ir::Graph&, ir::NodeId) { return size_t{0}; },
                                lower_grid_sample};
  return row;
}

}  // namespace collage::codegen
