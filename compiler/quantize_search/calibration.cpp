// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/quantize/quantize_graph.h"
#include "compiler/quantize_search/host_run.h"
#include "runtime/io/file_bytes.h"
#include "runtime/package/content_hash.h"
#include "runtime/support/write_file.h"

namespace collage::quantize_search {
namespace {

using nlohmann::ordered_json;
using quantize::Range;
using quantize::RangeObserver;
using runtime::Tensor;
using support::Code;

constexpr int kCalibrationVersion = 1;
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

std::string text_of(const quantize::RangeChoice& choice) {
  for (const quantize::RangeMethodRow& row : quantize::kRangeMethodRows) {
    if (row.method != choice.method) continue;
    const std::string name(row.name);
    return choice.method == quantize::RangeMethod::Percentile ? name + fmt::format(" {}", choice.percentile) : name;
  }
  return "";
}

std::string hash_of(const ir::Graph& graph) {
  runtime::ContentHash hash;
  auto add = [&](const std::string& text) { hash.add({text.data(), text.size() + 1}); };
  for (ir::ValueId id : graph.inputs()) add(graph.value(id).name + to_string(graph.value(id).type));
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    add(std::string(node.op->name));
    for (const auto& [name, value] : node.attrs) add(name + " " + runtime::to_string(value));
    for (ir::ValueId input : node.inputs) {
      add(input.is_valid() ? graph.value(input).name : "");
      if (!input.is_valid() || !graph.value(input).is_constant()) continue;
      const Tensor& data = graph.value(input).constant->data;
      add(to_string(graph.value(input).type));
      hash.add({reinterpret_cast<const char*>(data.data()), data.bytes()});
    }
    for (ir::ValueId output : node.outputs) add(output.is_valid() ? graph.value(output).name : "");
  }
  return hash.finish();
}

/// Whether `text_of` gives this for some choice.
bool is_method(std::string_view text) {
  const size_t blank = text.find(' ');
  const auto row = std::find_if(quantize::kRangeMethodRows.begin(), quantize::kRangeMethodRows.end(),
                                [&](const auto& one) { return one.name == text.substr(0, blank); });
  if (row == quantize::kRangeMethodRows.end()) return false;
  if (row->method != quantize::RangeMethod::Percentile) return blank == std::string_view::npos;
  if (blank == std::string_view::npos) return false;
  const std::string_view number = text.substr(blank + 1);
  double percent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  return error == std::errc() && end == number.data() + number.size() && percent > 0 && percent <= 100;
}

/// Values of f32 in order.
bool is_range_of_floats(const Range& range) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return range.low >= -kMost && range.high <= kMost && range.low <= range.high;  // false for NaN
}

std::optional<Calibration> bad_file(const std::string& path, const std::string& why, support::Diagnostics& diags) {
  return diags.error_at(Code::BadTensorFile, "--calibration " + path, "{}", why);
}

}  // namespace

std::optional<Calibration> calibrate(const compilation::Compilation& compilation, const Samples& samples,
                                     const quantize::RangeChoice& choice, support::Diagnostics& diags) {
  const ir::Graph& graph = compilation.graph();
  const std::vector<ir::ValueId> values = quantize::values_of(quantize::find_sites(graph));
  Calibration calibration{text_of(choice), samples.count(), {}, {}};
  if (values.empty()) return calibration;
  const ir::Graph observed = quantize::with_outputs(graph, values);
  std::vector<RangeObserver> observers(values.size());
  const bool is_run = run_on_host(
      observed, compilation, samples,
      [&](int64_t, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
        for (size_t i = 0; i < values.size(); ++i) {
          const bool is_input = graph.value(values[i]).is_input;
          const std::vector<ir::ValueId>& ports = is_input ? observed.inputs() : observed.outputs();
          const auto at = std::find(ports.begin(), ports.end(), values[i]) - ports.begin();
          observers[i].add((is_input ? inputs : outputs)[static_cast<size_t>(at)].as<float>());
        }
      },
      diags);
  if (!is_run) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = graph.value(values[i]).name;
    if (observers[i].special_count() > 0) {
      calibration.unusable.push_back(name);
    } else {
      calibration.ranges[name] = observers[i].range(choice);
    }
  }
  return calibration;
}

bool write_calibration(const std::string& path, const ir::Graph& graph, const Calibration& calibration,
                       support::Diagnostics& diags) {
  ordered_json json = {{"collage_calibration", kCalibrationVersion},
                       {"model", graph.name},
                       {"hash", hash_of(graph)},
                       {"method", calibration.method},
                       {"samples", calibration.samples},
                       {"ranges", ordered_json::object()}};
  for (const auto& [name, range] : calibration.ranges) json["ranges"][name] = {range.low, range.high};
  return write_file(path, json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n", diags);
}

std::optional<Calibration> read_calibration(const std::string& path, const ir::Graph& graph,
                                            support::Diagnostics& diags) {
  const runtime::Result<runtime::Descriptor> file = runtime::open_to_read(path);
  const runtime::Result<std::string> text = file ? runtime::read_all(*file, kMostBytes) : file.status();
  if (!text) return diags.error_at(Code::CannotRead, "--calibration", "cannot read '{}': {}", path, text.message());
  const ordered_json json = ordered_json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("collage_calibration")) {
    return bad_file(path, "is no calibration: `--save-calibration` writes one", diags);
  }
  if (json["collage_calibration"] != kCalibrationVersion) return bad_file(path, "is of another version", diags);
  if (json.value("hash", ordered_json()) != hash_of(graph)) {
    const ordered_json name = json.value("model", ordered_json());
    return diags
        .error_at(Code::BadTensorFile, "--calibration " + path, "is of another model, `{}`",
                  name.is_string() ? name.get<std::string>() : "?")
        .note("a change of operators, names, weights or passes makes another model: `--calibrate FILES` again");
  }
  Calibration calibration;
  const ordered_json method = json.value("method", ordered_json()), samples = json.value("samples", ordered_json());
  const ordered_json ranges = json.value("ranges", ordered_json());
  if (!method.is_string() || !samples.is_number_integer() || !ranges.is_object()) {
    return bad_file(path, "lacks `method`, `samples` or `ranges`", diags);
  }
  calibration.method = method.get<std::string>();
  if (!is_method(calibration.method))
    return bad_file(path, fmt::format("`{}` is no method of ranges", calibration.method), diags);
  calibration.samples = samples.get<int64_t>();
  if (calibration.samples < 1) return bad_file(path, fmt::format("{} is no number of samples", samples.dump()), diags);
  std::set<std::string> known;
  for (const ir::ValueId value : quantize::values_of(quantize::find_sites(graph)))
    known.insert(graph.value(value).name);
  for (const auto& [name, range] : ranges.items()) {
    if (!known.contains(name)) return bad_file(path, fmt::format("`{}` is no value that needs a range", name), diags);
    const bool is_pair = range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number();
    const Range read = is_pair ? Range{range[0].get<double>(), range[1].get<double>()} : Range{1, 0};
    if (!is_range_of_floats(read))
      return bad_file(path, fmt::format("the range of `{}` is no pair of numbers of f32 in order", name), diags);
    calibration.ranges[name] = read;
  }
  return calibration;
}

}  // namespace collage::quantize_search
