// SPDX-License-Identifier: Apache-2.0
// Conv over any number of spatial dimensions (see convolution.h), and ConvTranspose, which keeps the sums of one plane
// of output in double and rounds once.
#include <algorithm>
#include <vector>

#include "runtime/kernels/convolution.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

Status geometry_of(const KernelArgs& args, bool transposed, ConvGeometry* g) {
  return make_geometry(args.inputs[0].shape, args.inputs[1].shape, args.outputs[0].shape[1], args.attrs, transposed, g);
}

template <typename T>
Status conv(const KernelArgs& args) {
  ConvGeometry g;
  if (Status status = geometry_of(args, false, &g); !status) return status;
  const T* bias = args.input(2).is_absent() ? nullptr : args.input(2).as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  convolve(g, args.inputs[0].as<T>().data(), args.inputs[1].as<T>().data(),
           [=](int64_t channel, int64_t first, int64_t count, const double* sums) {
             double addend = bias == nullptr ? 0.0 : static_cast<double>(bias[channel]);
             for (int64_t i = 0; i < count; ++i) y[first + i] = static_cast<T>(sums[i] + addend);
           });
  return Status::ok();
}

/// Scatters every input row into the plane of one output channel.
template <typename T>
Status conv_transpose(const KernelArgs& args) {
  ConvGeometry g;
  if (Status status = geometry_of(args, true, &g); !status) return status;
  const T* x = args.inputs[0].as<T>().data();
  const T* w = args.inputs[1].as<T>().data();
  const T* bias = args.input(2).is_absent() ? nullptr : args.input(2).as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  int64_t width = g.window.input.back();
  int64_t rows = g.input_size == 0 ? 0 : g.input_size / width;
  int64_t stride = g.window.strides.back();
  // Which taps of a row reach the output is the same for every channel.
  std::vector<std::vector<Tap>> taps_of_row(static_cast<size_t>(rows));
  Ints position(g.window.rank(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    unflatten_row(g.window.input, row, position);
    collect_taps(g.window, g.window.input, g.window.output, position, taps_of_row[static_cast<size_t>(row)]);
  }
  int64_t jobs = g.batch * g.groups * g.out_channels;
#pragma omp parallel if (macs_of(g, g.input_size) > kParallelMacs)
  {
    std::vector<double> sums(static_cast<size_t>(g.output_size));
#pragma omp for
    for (int64_t job = 0; job < jobs; ++job) {
      int64_t channel = job % g.out_channels;
      int64_t image_group = job / g.out_channels;
      int64_t group = image_group % g.groups;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t c = 0; c < g.in_channels; ++c) {
        const T* plane = x + (image_group * g.in_channels + c) * g.input_size;
        const T* weights = w + ((group * g.in_channels + c) * g.out_channels + channel) * g.taps;
        for (int64_t row = 0; row < rows; ++row) {
          const T* from = plane + row * width;
          for (const Tap& tap : taps_of_row[static_cast<size_t>(row)]) {
            double weight = weights[tap.index];
            for (int64_t i = tap.range.begin; i < tap.range.end; ++i) {
              sums[static_cast<size_t>(tap.offset + i * stride)] += weight * static_cast<double>(from[i]);
            }
          }
        }
      }
      double addend = bias == nullptr ? 0.0 : static_cast<double>(bias[group * g.out_channels + channel]);
      T* out = y + job * g.output_size;
      for (int64_t i = 0; i < g.output_size; ++i) out[i] = static_cast<T>(sums[static_cast<size_t>(i)] + addend);
    }
  }
  return Status::ok();
}

}  // namespace

Status kernel_Conv(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return conv<T>(args); });
}

Status kernel_ConvTranspose(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return conv_transpose<T>(args); });
}

}  // namespace collage::runtime
