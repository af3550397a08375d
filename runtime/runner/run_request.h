// SPDX-License-Identifier: Apache-2.0
// What is to be run on which files, as plain data, and how its parts are written on a command line.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runner {

inline constexpr double kPictureScale = 1.0 / 255.0;
inline constexpr double kExpectTolerance = 2e-5;

/// `NAME=FILE`; an empty name stands for the only input or output.
struct NamedFile {
  std::string name;
  std::string file;
};
/// The name ends at the first `=`: `named_by` tells it from one that is part of the name.
NamedFile parse_named_file(const std::string& text);
/// The entry with the longest known name that it begins with: `a=b=c.npy` is `c.npy` for `a=b` where that is known.
/// Unchanged where none is known.
NamedFile named_by(const NamedFile& entry, const std::function<bool(const std::string&)>& is_known);
/// The files that the entry may mean, whatever names there are: `b=c.npy` and `c.npy` of `a=b=c.npy`.
std::vector<std::string> files_meant(const NamedFile& entry);

/// `0.5`, `1/255`. Returns nullopt for any other text.
std::optional<double> parse_number(std::string_view text);

/// A kind of tensor files, beside those that the runtime reads.
struct TensorFormat {
  std::string extension;  ///< `.pb`
  runtime::Result<runtime::Tensor> (*read)(const std::string& path);
  runtime::Status (*write)(const runtime::Tensor& tensor, const std::string& name, const std::string& path);
};
using TensorFormats = std::vector<TensorFormat>;

struct RunRequest {
  bool is_asked = false;
  std::string asked_by = "--input";  ///< for messages
  std::vector<NamedFile> inputs{};
  std::vector<NamedFile> expected{};
  std::vector<NamedFile> results{};
  std::string labels{};
  double scale = kPictureScale;         ///< of pictures
  double tolerance = kExpectTolerance;  ///< of `expected`, relative to max|y|
  TensorFormats formats{};
  std::map<std::string, runtime::Tensor>
      read{};  ///< files of inputs that have been read, by name: they are not read again
};

/// Several requests at once (bench_requests.h).
struct RequestsRequest {
  int in_flight = 0;        ///< 0: not asked for
  std::string instances{};  ///< `npu=3,dsp=1`; empty: as many as the plan uses

  bool is_asked() const { return in_flight > 0; }
};

/// What is reported of a run, step by step (trace.h).
struct TraceRequest {
  std::string file{};   ///< `--trace`; empty: none
  bool prints = false;  ///< `--timeline`

  bool is_asked() const { return prints || !file.empty(); }
};

}  // namespace collage::runner
