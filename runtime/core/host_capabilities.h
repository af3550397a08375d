// SPDX-License-Identifier: Apache-2.0
// What this machine's processor is and can do. Code generation takes vector widths from here (codegen/target/isa.h),
// cost floors the peak rates (measure/machine_limits.h), the database of measured costs what identifies the machine
// (measure/environment.h), measuring the size of the private cache (measure/time_candidate.h), and programs the number
// of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace collage::runtime {

/// Vectors of f32 as generated code uses them.
struct VectorUnit {
  int lanes = 4;       ///< of the widest vector
  int registers = 16;  ///< vector registers
  bool has_fma = false;
};

/// AVX-512 counts only with its parts F, VL and DQ.
VectorUnit vector_unit(bool has_avx512, bool has_avx2, bool has_fma);

struct HostCapabilities {
  std::string processor;  ///< its name as the kernel reports it
  std::string features;   ///< its feature flags as the kernel reports them
  VectorUnit vectors;
  double hertz = 0;            ///< highest clock rate to expect
  double flops_per_cycle = 0;  ///< most f32 operations of one core
  double bytes_per_cycle = 0;  ///< most bytes that one core loads from its nearest cache
  int processors = 1;          ///< hardware threads that this process may use
  // Bytes; 0 where the kernel does not report the size.
  int64_t level1_data_cache = 0;
  int64_t level2_cache = 0;
  int64_t level3_cache = 0;

  double flops_per_second(int threads) const { return hertz * threads * flops_per_cycle; }
  double bytes_per_second(int threads) const { return hertz * threads * bytes_per_cycle; }
};

/// The part that `cpuinfo`, the text of /proc/cpuinfo, reports. Where it reports nothing, rates assume the best,
/// vectors the least.
HostCapabilities capabilities_from(std::string_view cpuinfo);

/// This machine's, read once; of the instruction sets that code generators use, what the processor reports.
const HostCapabilities& host_capabilities();

}  // namespace collage::runtime
