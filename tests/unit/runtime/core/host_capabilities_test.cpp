// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/host_capabilities.h"

#include <gtest/gtest.h>

#include <string>

namespace collage::runtime {
namespace {

std::string cpuinfo(const std::string& flags) {
  return "processor\t: 0\nmodel name\t: A Processor @ 2 GHz\ncpu MHz\t\t: 2100.5\nflags\t\t: fpu " + flags +
         "\nvmx flags\t: avx512f\n\nprocessor\t: 1\nmodel name\t: Another\ncpu MHz\t\t: 5000.0\n";
}

TEST(HostCapabilities, NameFeaturesAndClockComeFromTheKernel) {
  HostCapabilities host = capabilities_from(cpuinfo("sse2 avx2 fma"));
  EXPECT_EQ(host.processor, " A Processor @ 2 GHz");
  EXPECT_EQ(host.features, " fpu sse2 avx2 fma");
  EXPECT_EQ(host.hertz, 5e9);
  EXPECT_EQ(capabilities_from("").hertz, 4.5e9);
}

TEST(HostCapabilities, VectorsFollowTheFeatures) {
  VectorUnit sse = capabilities_from(cpuinfo("sse2")).vectors;
  EXPECT_EQ(sse.lanes, 4);
  EXPECT_FALSE(sse.has_fma);
  VectorUnit avx2 = capabilities_from(cpuinfo("sse2 avx2 fma")).vectors;
  EXPECT_EQ(avx2.lanes, 8);
  EXPECT_EQ(avx2.registers, 16);
  EXPECT_TRUE(avx2.has_fma);
  VectorUnit avx512 = capabilities_from(cpuinfo("sse2 avx2 avx512f avx512dq avx512vl")).vectors;
  EXPECT_EQ(avx512.lanes, 16);
  EXPECT_EQ(avx512.registers, 32);
  // Without VL and DQ generated code keeps to shorter vectors; a library may use them, so the peak counts them.
  HostCapabilities part = capabilities_from(cpuinfo("sse2 avx2 avx512f"));
  EXPECT_EQ(part.vectors.lanes, 8);
  EXPECT_EQ(part.flops_per_cycle, 64);
}

TEST(HostCapabilities, RatesGrowWithTheThreads) {
  HostCapabilities host = capabilities_from(cpuinfo("sse2 avx2"));
  EXPECT_EQ(host.flops_per_second(3), 3 * 5e9 * 32);
  EXPECT_EQ(host.bytes_per_second(2), 2 * 5e9 * 128);
}

TEST(HostCapabilities, ThisMachineHasAProcessor) {
  HostCapabilities host = host_capabilities();
  EXPECT_GE(host.processors, 1);
  EXPECT_GE(host.vectors.lanes, 4);
  if (host.level1_data_cache > 0 && host.level2_cache > 0) {
    EXPECT_LE(host.level1_data_cache, host.level2_cache);
  }
}

}  // namespace
}  // namespace collage::runtime
