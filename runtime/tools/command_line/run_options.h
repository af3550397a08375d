// SPDX-License-Identifier: Apache-2.0
// Options that `collagec` and `collage-run` share: one name, one form, one meaning.
#pragma once

#include <string_view>

namespace collage::tools {

struct SharedOption {
  std::string_view flag;
  std::string_view value;  ///< `FILE`
  std::string_view help;   ///< without a full stop
};

inline constexpr SharedOption kScaleOption = {"--scale", "X",
                                              "multiply the levels of pictures by this number or fraction"};
inline constexpr std::string_view kScaleInitial = "1/255";
inline constexpr SharedOption kToleranceOption = {"--tolerance", "X",
                                                  "difference that --expect accepts, relative to the largest value"};
inline constexpr SharedOption kExpectOption = {"--expect", "NAME=FILE", "compare a model output with a file"};
inline constexpr SharedOption kLabelsOption = {"--labels", "FILE",
                                               "right classes of a batch given as --input; prints the accuracy"};
inline constexpr SharedOption kBenchOption = {"--bench", "N", "time this many runs"};
inline constexpr double kMostBenchRuns = 1e6;
inline constexpr SharedOption kBenchJsonOption = {"--bench-json", "FILE", "write the times of --bench as JSON"};
inline constexpr SharedOption kTraceOption = {
    "--trace", "FILE", "write a run, predicted and actual, as JSON that Perfetto and chrome://tracing open"};
inline constexpr std::string_view kTimelineFlag = "--timeline";
inline constexpr std::string_view kTimelineHelp = "print what ran where and when, predicted and actual, and the memory";
inline constexpr SharedOption kFaultsOption = {"--faults", "FILE|SPEC",
                                               "let commands of devices fail: `npu[0]: lose after 3 launches`"};
inline constexpr SharedOption kThreadsOption = {"--threads", "N", "threads of the host"};

}  // namespace collage::tools
