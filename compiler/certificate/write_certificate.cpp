// SPDX-License-Identifier: Apache-2.0
// to_json of certificate_file.h. Each candidate, value, owner and share is a small JSON value of its own, printed on
// one line: there may be hundreds of thousands of them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "compiler/certificate/certificate_file.h"
#include "runtime/core/checksum.h"
#include "runtime/core/joined.h"
#include "runtime/support/check.h"

namespace collage::certificate {
namespace {

using place::Cost;
using place::Proof;
using Json = nlohmann::ordered_json;

std::string printed(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(Cost cost) {
  return cost < Cost::max() ? Json(cost.count()) : Json();
}

template <typename I>
Json json_of(const std::vector<I>& ids) {
  Json list = Json::array();
  for (I id : ids) list.push_back(id.index);
  return list;
}

Json json_of(const std::vector<place::ValueFormat>& formats) {
  Json list = Json::array();
  for (const place::ValueFormat& item : formats) list.push_back(Json::array({item.value.index, item.format.index}));
  return list;
}

Json json_of(const place::Owner& owner) {
  Json json = {{"backend", owner.backend}, {"instance", owner.instance}};
  if (owner.max_partitions) json["max_partitions"] = *owner.max_partitions;
  if (!owner.conflicts.empty()) json["conflicts"] = json_of(owner.conflicts);
  if (owner.memory) json["memory"] = *owner.memory;
  if (owner.joins) json["joins"] = owner.joins->count();
  return json;
}

Json json_of(const place::Candidate& candidate) {
  Json json = {{"owner", candidate.owner.index},    {"rule", candidate.rule},
               {"nodes", json_of(candidate.nodes)}, {"cost", json_of(candidate.cost)},
               {"reads", json_of(candidate.reads)}, {"writes", json_of(candidate.writes)}};
  if (!candidate.constants.empty()) json["constants"] = json_of(candidate.constants);
  if (!candidate.kept.empty()) json["kept"] = json_of(candidate.kept);
  if (candidate.may_join) json["unit"] = true;
  return json;
}

Json json_of(const About& about) {
  if (!about.exists()) return nullptr;
  Json json = {{"model", about.model}, {"files", about.files}, {"options", Json::object()}};
  for (const auto& [name, values] : about.options) json["options"][name] = values;
  json["words"] = about.words;
  json["costs"] = about.is_measured ? "measured" : "estimated";
  json["problem"] = about.problem;
  return json;
}

Json json_of(const Proof::LimitPrice& limit) {
  const bool is_memory = limit.of == Proof::LimitPrice::Of::Memory;
  return Json::array({is_memory ? "memory" : "partitions", limit.owner.index, limit.price.count()});
}

Json json_of(const Proof::Share& share) {
  Json runs = Json::array();
  for (Cost run : share.runs) runs.push_back(run.count());
  return Json::array({share.candidate.index, std::move(runs)});
}

Json json_of(const Proof::Price& price) {
  return Json::array({price.value.index, price.reader.index, price.format.index, price.price.count()});
}

/// Returns `sweep`, and how the case is split.
Json split_of(const Proof::Case& given) {
  using Kind = Proof::Split::Kind;
  const Proof::Split& split = given.split;
  Json json = Json::object();
  if (given.sweep > 0) json["sweep"] = given.sweep;
  switch (split.kind) {
    case Kind::None: return json;
    case Kind::Cover: json["cover"] = Json::array({split.node.index, json_of(split.candidates)}); break;
    case Kind::Conflict: json["conflict"] = json_of(split.owners); break;
    case Kind::Working: json["working"] = Json::array({split.owners.front().index, split.bytes}); break;
  }
  json["then"] = Json::array({split.first.index, split.second.index});
  return json;
}

/// `[item,` newline `item]`
template <typename Items, typename ToText>
std::string lines(const Items& items, const ToText& to_text) {
  return "[" + runtime::joined(items, ",\n", to_text) + "]";
}

/// `{"key": text,` newline `"key": text}`
class Object {
 public:
  void add_printed(std::string_view key, std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\": {}", text_.empty() ? "{" : ",\n", key, text);
  }
  void add(std::string_view key, const Json& value) { add_printed(key, printed(value)); }
  template <typename Items>
  void add_list(std::string_view key, const Items& items) {
    add_printed(key, lines(items, [](const auto& item) { return printed(json_of(item)); }));
  }
  std::string finish() { return std::move(text_) + "}"; }

 private:
  std::string text_;
};

/// Adds the values, and the tables of conversions that they share.
void add_values(const Names& names, const place::Problem& problem, Object* object) {
  using Conversions = std::vector<std::tuple<int32_t, int32_t, int64_t>>;
  std::map<Conversions, size_t> index;
  std::vector<Json> tables;
  std::vector<Json> values;
  for (place::ProblemValueId id : problem.values.ids()) {
    const place::ProblemValue& value = problem.values[id];
    Conversions table;
    for (const place::ConversionEdge& edge : value.conversions) {
      if (edge.cost < Cost::max()) table.emplace_back(edge.from.index, edge.to.index, edge.cost.count());
    }
    std::sort(table.begin(), table.end());
    const auto [at, is_new] = index.try_emplace(std::move(table), tables.size());
    if (is_new) tables.push_back(at->first);
    values.push_back({{"name", names.values[id]},
                      {"writer", value.writer.index},
                      {"readers", json_of(value.readers)},
                      {"output", value.is_output},
                      {"bytes", value.bytes},
                      {"conversions", at->second}});
  }
  object->add_printed("conversions", lines(tables, printed));
  object->add_printed("values", lines(values, printed));
}

void add_problem(const CertificateFile& file, Object* object) {
  object->add_printed("nodes", lines(file.names.nodes, [](const std::string& name) { return printed(name); }));
  object->add_printed(
      "formats", lines(file.problem.formats, [](const ir::Format& format) { return printed(ir::to_string(format)); }));
  object->add("host_plain", file.problem.host_plain.index);
  object->add_list("owners", file.problem.owners);
  add_values(file.names, file.problem, object);
  object->add("constants", Json(std::vector(file.problem.constant_bytes.begin(), file.problem.constant_bytes.end())));
  object->add_list("candidates", file.problem.candidates);
}

std::string text_of(const Proof::Round& round) {
  if (round.is_repeated && round.limits.empty()) return "\"again\"";
  Object object;
  if (round.is_repeated) object.add("again", true);
  object.add_list("limits", round.limits);
  if (round.is_repeated) return object.finish();
  object.add_list("shares", round.shares);
  object.add_list("prices", round.prices);
  return object.finish();
}

std::string text_of(const Proof::Case& given) {
  Object object;
  object.add_printed("rounds", lines(given.rounds, [](const Proof::Round& round) { return text_of(round); }));
  const Json split = split_of(given);
  for (const auto& [key, value] : split.items()) object.add(key, value);
  return object.finish();
}

std::string text_of(const Proof& proof) {
  if (!proof.exists()) return "null";
  Object object;
  object.add("order", json_of(proof.order));
  object.add("scale", proof.scale);
  object.add("bound", json_of(proof.bound));
  object.add_printed("cases", lines(proof.cases, [](const Proof::Case& given) { return text_of(given); }));
  return object.finish();
}

Json plan_of(const place::Solution& solution) {
  Json json = {{"chosen", json_of(solution.chosen)}};
  if (!solution.region.empty()) json["regions"] = json_of(solution.region);
  json["cost"] = json_of(solution.cost);
  return json;
}

}  // namespace

std::string problem_hash(const CertificateFile& file) {
  Object object;
  add_problem(file, &object);
  const std::string text = object.finish();
  return fmt::format("{:016x}", runtime::checksum(std::as_bytes(std::span(text))));
}

std::string to_json(const CertificateFile& file) {
  COLLAGE_CHECK(file.problem.unit == Cost::Unit::Seconds, "certificates are of times");
  Object object;
  object.add("collage_certificate", kVersion);
  object.add("model", file.names.model);
  object.add("about", json_of(file.about));
  add_problem(file, &object);
  object.add("plan", plan_of(file.solution));
  object.add("claim", Json{{"bound", json_of(file.solution.bound)}, {"optimal", file.solution.optimal}});
  object.add_printed("proof", text_of(file.proof));
  return object.finish() + "\n";
}

}  // namespace collage::certificate
