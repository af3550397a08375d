// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "compiler/match/attribute_value.h"
#include "compiler/measure/candidate_text.h"
#include "compiler/measure/printable.h"
#include "runtime/core/storage.h"

namespace collage::measure {
namespace {

using Json = nlohmann::ordered_json;
using ir::Graph;
using ir::ValueId;

Json elements_of(const runtime::Tensor& tensor) {
  const bool is_float = runtime::is_float(tensor.dtype());
  Json elements = Json::array();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (is_float) {
      elements.push_back(runtime::element_as_double(tensor.view(), i));
    } else {
      elements.push_back(runtime::element_as_int(tensor.view(), i));
    }
  }
  return elements;
}

Json json_of(const runtime::AttrValue& value) {
  if (const auto* tensor = std::get_if<runtime::Tensor>(&value))
    return tells_elements(*tensor) ? elements_of(*tensor) : Json();
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, runtime::Tensor>) {
          return Json();
        } else {
          return Json(held);
        }
      },
      value);
}

/// Names values `v0`, `v1`, … by first occurrence, and describes each once.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) : graph_(graph) {}

  std::string name(ValueId id) {
    const auto [at, is_new] = names_.emplace(id, "v" + std::to_string(names_.size()));
    if (is_new) values_[at->second] = description(id);
    return at->second;
  }
  Json operand(ValueId id) { return id.is_valid() ? Json(name(id)) : Json(); }
  Json take_values() { return std::move(values_); }

 private:
  Json description(ValueId id) const {
    const ir::Value& value = graph_.value(id);
    Json made = {{"dtype", runtime::name_of(value.type.dtype)}, {"shape", value.type.shape}};
    if (!value.is_constant()) return made;
    made["constant"] = true;
    if (tells_elements(value.constant->data)) made["elements"] = elements_of(value.constant->data);
    return made;
  }

  const Graph& graph_;
  std::map<ValueId, std::string> names_;
  Json values_ = Json::object();
};

Json attributes_of(const Graph& graph, ir::NodeId node) {
  Json made = Json::object();
  for (const ir::AttrDef& attr : graph.node(node).op->attrs) {
    if (auto value = match::attribute_or_default(graph, node, attr.name))
      made[std::string(attr.name)] = json_of(*value);
  }
  return made;
}

Json boundary(const std::vector<ir::BoundaryValue>& entries, ValueNames& names) {
  Json made = Json::array();
  for (const ir::BoundaryValue& entry : entries) {
    Json one = {{"value", names.name(entry.value)}, {"layout", entry.format.layout}};
    if (entry.format.storage) one["storage"] = runtime::to_string(*entry.format.storage);
    made.push_back(std::move(one));
  }
  return made;
}

/// Seconds in a unit; 0: there is no such unit.
double seconds_of(const std::string& unit) {
  constexpr std::pair<const char*, double> kUnits[] = {
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}};
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) return seconds;
  }
  return 0;
}

}  // namespace

ir::Partition on_first_instance(const ir::Partition& candidate) {
  ir::Partition made = candidate;
  const size_t bracket = made.instance.rfind('[');
  if (bracket == std::string::npos || made.split) return made;
  const std::string from = made.instance;
  made.instance = from.substr(0, bracket) + "[0]";
  for (auto* entries : {&made.inputs, &made.outputs}) {
    for (ir::BoundaryValue& entry : *entries) {
      if (entry.format.space == from) entry.format.space = made.instance;
    }
  }
  return made;
}

std::string cost_request(int64_t id, const Graph& graph, const ir::Partition& candidate,
                         const place::ActiveBackend& active) {
  ValueNames names(graph);
  Json request = {{"id", id}, {"backend", candidate.backend}};
  request["device"] = candidate.instance.substr(0, candidate.instance.rfind('['));
  Json& settings = request["attributes"] = Json::object();
  for (const ir::AttrDecl& decl : active.backend->attrs) {
    const auto set = active.attrs.find(decl.name);
    settings[decl.name] = json_of(set == active.attrs.end() ? decl.fallback : set->second);
  }
  request["matches"] = ir::rule_names(candidate);
  Json reads = boundary(candidate.inputs, names);
  Json operators = Json::array();
  for (ir::NodeId id_of_node : candidate.nodes) {
    const ir::Node& node = graph.node(id_of_node);
    Json one = {{"op", node.op->name}, {"inputs", Json::array()}, {"outputs", Json::array()}};
    for (ValueId input : node.inputs) one["inputs"].push_back(names.operand(input));
    for (ValueId output : node.outputs) one["outputs"].push_back(names.operand(output));
    one["attributes"] = attributes_of(graph, id_of_node);
    operators.push_back(std::move(one));
  }
  Json writes = boundary(candidate.outputs, names);
  request["operators"] = std::move(operators);
  request["values"] = names.take_values();
  request["reads"] = std::move(reads);
  request["writes"] = std::move(writes);
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

runtime::Result<Measurement> parse_cost_answer(const std::string& line, int64_t id) {
  using runtime::Status;
  const Json answer = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (answer.is_discarded()) return Status::error(fmt::format("answered `{}`, which is not JSON", printable(line, 60)));
  if (!answer.is_object()) return Status::error("answered with JSON that is not an object");
  const auto answered = answer.find("id");
  if (answered == answer.end() || !answered->is_number_integer() || answered->get<int64_t>() != id)
    return Status::error(fmt::format("answered another request than {}", id));
  if (const auto refused = answer.find("refused"); refused != answer.end()) {
    if (!refused->is_string()) return Status::error("refused without a reason: `refused` is no text");
    const std::string reason = printable(refused->get<std::string>());
    Measurement made =
        failed_measurement("refused by the cost program: " + (reason.empty() ? "no reason given" : reason));
    made.lasting = true;
    return made;
  }
  const auto cost = answer.find("cost"), unit = answer.find("unit");
  if (cost == answer.end() || !cost->is_number()) return Status::error("answered without a number as `cost`");
  if (unit == answer.end() || !unit->is_string() || seconds_of(unit->get<std::string>()) == 0)
    return Status::error("answered a cost without a `unit`, which is one of s, ms, us, ns, ps");
  const double seconds = cost->get<double>() * seconds_of(unit->get<std::string>());
  if (!(seconds > 0) || seconds > kMostCost.seconds())
    return Status::error(fmt::format("answered an impossible cost, {} {}", cost->dump(), unit->get<std::string>()));
  Measurement made;
  made.cost = std::max(Duration::seconds(seconds), Duration::picoseconds(1));
  made.runs = 1;
  return made;
}

}  // namespace collage::measure
