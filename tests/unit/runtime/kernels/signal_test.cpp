// SPDX-License-Identifier: Apache-2.0
// Spectra against the sum that defines them, windows and filter banks against their formulas.
#include <numbers>

#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

Tensor waves(Shape shape) {
  Tensor x(DType::F32, std::move(shape));
  auto elements = x.as<float>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = std::sin(static_cast<float>(i * i) * 0.37F + 0.1F);
  return x;
}

/// y[k] = sum of x[n] exp(-+2 pi i k n / length), lines of [lines, samples, parts], zeros past their end.
Tensor defined_dft(const Tensor& x, int64_t length, int64_t kept, bool inverse) {
  const Shape& shape = x.shape();
  Tensor y(DType::F32, {shape[0], kept, 2});
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t k = 0; k < kept; ++k) {
      double real = 0, imaginary = 0;
      for (int64_t n = 0; n < std::min(length, shape[1]); ++n) {
        const float* number = x.as<float>().data() + (b * shape[1] + n) * shape[2];
        const double angle =
            (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k * n % length) / static_cast<double>(length);
        const double re = number[0], im = shape[2] == 2 ? number[1] : 0;
        real += re * std::cos(angle) - im * std::sin(angle);
        imaginary += re * std::sin(angle) + im * std::cos(angle);
      }
      const double scale = inverse ? 1.0 / static_cast<double>(length) : 1;
      y.as<float>()[static_cast<size_t>((b * kept + k) * 2)] = static_cast<float>(real * scale);
      y.as<float>()[static_cast<size_t>((b * kept + k) * 2 + 1)] = static_cast<float>(imaginary * scale);
    }
  }
  return y;
}

TEST(SignalKernels, DftOfAnyLengthIsItsDefinition) {
  for (int64_t samples : {1, 2, 3, 8, 12, 17, 31, 64}) {
    for (int64_t length : {samples, samples + 3, std::max<int64_t>(1, samples - 2)}) {
      Tensor real = waves({2, samples, 1}), complex = waves({2, samples, 2});
      expect_equal(run("DFT", {real, i64({}, {length})})[0], defined_dft(real, length, length, false), 1e-5);
      expect_equal(run("DFT", {complex, i64({}, {length})})[0], defined_dft(complex, length, length, false), 1e-5);
      expect_equal(run("DFT", {complex, i64({}, {length})}, {{"inverse", int64_t{1}}})[0],
                   defined_dft(complex, length, length, true), 1e-5);
      expect_equal(run("DFT", {real, i64({}, {length})}, {{"onesided", int64_t{1}}})[0],
                   defined_dft(real, length, length / 2 + 1, false), 1e-5);
    }
  }
}

TEST(SignalKernels, OnesidedSpectraAreInverted) {
  for (int64_t samples : {2, 7, 10}) {
    Tensor x = waves({3, samples, 1});
    Tensor spectrum = run("DFT", {x}, {{"onesided", int64_t{1}}})[0];
    Tensor back = run("DFT", {spectrum, i64({}, {samples})}, {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}})[0];
    expect_equal(back, x, 1e-6);
  }
}

TEST(SignalKernels, DftAlongAnotherAxis) {
  Tensor x = waves({4, 3, 2});
  Tensor y = run("DFT", {x}, {{"axis", int64_t{0}}})[0];
  ASSERT_EQ(y.shape(), (Shape{4, 3, 2}));
  // Line 1: x[:, 1].
  Tensor line(DType::F32, {1, 4, 2});
  for (size_t n = 0; n < 4; ++n) {
    for (size_t part = 0; part < 2; ++part) line.as<float>()[n * 2 + part] = x.as<float>()[(n * 3 + 1) * 2 + part];
  }
  Tensor wanted = defined_dft(line, 4, 4, false);
  for (size_t k = 0; k < 8; ++k) {
    EXPECT_NEAR(y.as<float>()[(k / 2 * 3 + 1) * 2 + k % 2], wanted.as<float>()[k], 1e-5);
  }
}

TEST(SignalKernels, StftIsTheDftOfWeighedFrames) {
  Tensor x = waves({2, 20, 1}), window = f32({6}, {0.1F, 0.5F, 1, 1, 0.5F, 0.2F});
  Tensor y = run("STFT", {x, i64({}, {4}), window})[0];
  ASSERT_EQ(y.shape(), (Shape{2, 4, 4, 2}));  // (20 - 6) / 4 + 1 frames
  Tensor frames(DType::F32, {8, 6, 1});
  for (size_t i = 0; i < 48; ++i) {
    size_t batch = i / 24, frame = i / 6 % 4, n = i % 6;
    frames.as<float>()[i] = x.as<float>()[batch * 20 + frame * 4 + n] * window.as<float>()[n];
  }
  expect_equal(y.reshaped({8, 4, 2}), defined_dft(frames, 6, 4, false), 1e-5);
  EXPECT_EQ(run("STFT", {x, i64({}, {5}), absent(), i64({}, {7})}, {{"onesided", int64_t{0}}})[0].shape(),
            (Shape{2, 3, 7, 2}));
}

TEST(SignalKernels, Windows) {
  expect_equal(run("HannWindow", {i64({}, {4})})[0], f32({4}, {0, 0.5F, 1, 0.5F}), 1e-7);
  expect_equal(run("HannWindow", {i32({}, {3})}, {{"periodic", int64_t{0}}})[0], f32({3}, {0, 1, 0}), 1e-7);
  expect_equal(run("HammingWindow", {i64({}, {2})})[0], f32({2}, {4.0F / 46, 1}), 1e-7);
  expect_equal(run("BlackmanWindow", {i64({}, {5})}, {{"periodic", int64_t{0}}})[0], f32({5}, {0, 0.34F, 1, 0.34F, 0}),
               1e-7);
  expect_equal(run("BlackmanWindow", {i64({}, {1})}, {{"periodic", int64_t{0}}})[0], f32({1}, {1}), 1e-7);
  EXPECT_EQ(run("HannWindow", {i64({}, {4})}, {{"output_datatype", int64_t{11}}})[0].dtype(), DType::F64);
}

TEST(SignalKernels, MelWeightsAreTriangles) {
  // Every band reaches 1 where its triangle has its middle.
  Tensor m = run("MelWeightMatrix", {i64({}, {8}), i64({}, {16}), i64({}, {8192}), f32({}, {0}), f32({}, {4096})})[0];
  ASSERT_EQ(m.shape(), (Shape{9, 8}));
  for (size_t band = 0; band < 8; ++band) {
    float most = 0;
    for (size_t bin = 0; bin < 9; ++bin) most = std::max(most, m.as<float>()[bin * 8 + band]);
    EXPECT_EQ(most, 1) << band;
  }
  EXPECT_EQ(m.as<float>()[0], 1);
  std::string why;
  run("MelWeightMatrix", {i64({}, {8}), i64({}, {16}), i64({}, {8192}), f32({}, {0}), f32({}, {90000})}, {}, 1, &why);
  EXPECT_NE(why.find("outside of the spectrum"), std::string::npos) << why;
}

}  // namespace
}  // namespace collage::runtime
