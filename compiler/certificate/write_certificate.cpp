// SPDX-License-Identifier: Apache-2.0
// to_json of certificate_file.h: by hand, one line for each thing, for there may be hundreds of thousands of
// candidates.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "compiler/certificate/certificate_file.h"
#include "runtime/core/checksum.h"
#include "runtime/support/check.h"

namespace collage::certificate {
namespace {

using place::Cost;

class Writer {
 public:
  explicit Writer(const CertificateFile& file)
      : names_(file.names), problem_(file.problem), solution_(file.solution), proof_(file.proof), about_(file.about) {}

  std::string problem_text() {
    write_problem();
    return std::move(out_);
  }

  std::string write() {
    out_ = "{\"collage_certificate\": 4,\n\"model\": ";
    text(names_.model);
    write_about();
    write_problem();
    write_plan();
    write_proof();
    return std::move(out_) + "}\n";
  }

 private:
  void write_about() {
    out_ += ",\n\"about\": ";
    if (!about_.exists()) {
      out_ += "null";
      return;
    }
    nlohmann::ordered_json json = {{"model", about_.model}, {"files", about_.files}};
    json["options"] = nlohmann::ordered_json::object();
    for (const auto& [name, values] : about_.options) json["options"][name] = values;
    json["words"] = about_.words;
    json["costs"] = about_.is_measured ? "measured" : "estimated";
    json["problem"] = about_.problem;
    out_ += json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void write_problem() {
    list("nodes", names_.nodes, [this](const std::string& name) { text(name); });
    list("formats", problem_.formats, [this](const ir::Format& format) { text(ir::to_string(format)); });
    put(",\n\"host_plain\": {}", problem_.host_plain.index);
    list("owners", problem_.owners, [this](const place::Owner& owner) { write_owner(owner); });
    write_values();
    put(",\n\"constants\": [{}]", fmt::join(problem_.constant_bytes, ","));
    list("candidates", problem_.candidates, [this](const place::Candidate& candidate) { write_candidate(candidate); });
  }

  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void text(const std::string& words) {
    out_ += nlohmann::json(words).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void cost(Cost given) {
    if (given < Cost::max()) return put("{}", given.count());
    out_ += "null";
  }
  /// `"key": [item, item]`, an item a line.
  template <typename Items, typename Write>
  void list(std::string_view key, const Items& items, Write write_item) {
    put(",\n\"{}\": [", key);
    separated(items, ",\n", write_item);
    out_ += ']';
  }
  template <typename Items, typename Write>
  void separated(const Items& items, std::string_view separator, Write write_item) {
    bool is_first = true;
    for (const auto& item : items) {
      if (!is_first) out_ += separator;
      is_first = false;
      write_item(item);
    }
  }

  template <typename I>
  void ids(const std::vector<I>& list) {
    out_ += '[';
    separated(list, ",", [this](I id) { put("{}", id.index); });
    out_ += ']';
  }

  void write_owner(const place::Owner& owner) {
    out_ += "{\"backend\": ";
    text(owner.backend);
    out_ += ", \"instance\": ";
    text(owner.instance);
    if (owner.max_partitions) put(", \"max_partitions\": {}", *owner.max_partitions);
    if (!owner.conflicts.empty()) {
      out_ += ", \"conflicts\": ";
      ids(owner.conflicts);
    }
    if (owner.memory) put(", \"memory\": {}", *owner.memory);
    if (owner.joins) put(", \"joins\": {}", owner.joins->count());
    out_ += '}';
  }

  void write_values() {
    using Conversions = std::vector<std::tuple<place::FormatId, place::FormatId, int64_t>>;
    using ConversionsId = support::Id<Conversions>;
    std::map<Conversions, ConversionsId> index;
    support::Table<ConversionsId, Conversions> tables;
    support::Table<place::ProblemValueId, ConversionsId> table_of;
    for (const place::ProblemValue& value : problem_.values) {
      Conversions table;
      for (const place::ConversionEdge& edge : value.conversions) {
        if (edge.cost < Cost::max()) table.emplace_back(edge.from, edge.to, edge.cost.count());
      }
      std::sort(table.begin(), table.end());
      const auto [it, is_new] = index.try_emplace(table, tables.next_id());
      if (is_new) tables.push_back(std::move(table));
      table_of.push_back(it->second);
    }
    list("conversions", tables, [this](const Conversions& table) {
      out_ += '[';
      separated(table, ",", [this](const auto& edge) {
        put("[{},{},{}]", std::get<0>(edge).index, std::get<1>(edge).index, std::get<2>(edge));
      });
      out_ += ']';
    });
    list("values", problem_.values.ids(), [&](place::ProblemValueId v) {
      const place::ProblemValue& value = problem_.values[v];
      out_ += "{\"name\": ";
      text(names_.values[v]);
      put(", \"writer\": {}, \"readers\": ", value.writer.index);
      ids(value.readers);
      put(", \"output\": {}, \"bytes\": {}, \"conversions\": {}}}", value.is_output, value.bytes, table_of[v].index);
    });
  }

  void write_formats(const std::vector<place::ValueFormat>& formats) {
    separated(formats, ",",
              [this](const place::ValueFormat& item) { put("[{},{}]", item.value.index, item.format.index); });
  }

  void write_candidate(const place::Candidate& candidate) {
    put("{{\"owner\": {}, \"rule\": ", candidate.owner.index);
    text(candidate.rule);
    out_ += ", \"nodes\": ";
    ids(candidate.nodes);
    out_ += ", \"cost\": ";
    cost(candidate.cost);
    out_ += ", \"reads\": [";
    write_formats(candidate.reads);
    out_ += "], \"writes\": [";
    write_formats(candidate.writes);
    out_ += ']';
    if (!candidate.constants.empty()) {
      out_ += ", \"constants\": ";
      ids(candidate.constants);
    }
    if (!candidate.kept.empty()) {
      out_ += ", \"kept\": ";
      ids(candidate.kept);
    }
    if (candidate.may_join) out_ += ", \"unit\": true";
    out_ += '}';
  }

  void write_plan() {
    out_ += ",\n\"plan\": {\"chosen\": ";
    ids(solution_.chosen);
    if (!solution_.region.empty()) {
      out_ += ", \"regions\": ";
      ids(solution_.region);
    }
    out_ += ", \"cost\": ";
    cost(solution_.cost);
    out_ += "},\n\"claim\": {\"bound\": ";
    cost(solution_.bound);
    put(", \"optimal\": {}}}", solution_.optimal);
  }

  void write_round(const place::Proof::Round& round) {
    if (round.is_repeated && round.limits.empty()) {
      out_ += "\"again\"";
      return;
    }
    out_ += round.is_repeated ? "{\"again\": true, \"limits\": [" : "{\"limits\": [";
    separated(round.limits, ",", [this](const place::Proof::LimitPrice& limit) {
      const bool is_memory = limit.of == place::Proof::LimitPrice::Of::Memory;
      put("[\"{}\",{},{}]", is_memory ? "memory" : "partitions", limit.owner.index, limit.price.count());
    });
    if (round.is_repeated) {
      out_ += "]}";
      return;
    }
    out_ += "],\n\"shares\": [";
    separated(round.shares, ",\n", [this](const place::Proof::Share& share) {
      put("[{},[", share.candidate.index);
      separated(share.runs, ",", [this](Cost run) { put("{}", run.count()); });
      out_ += "]]";
    });
    out_ += "],\n\"prices\": [";
    separated(round.prices, ",\n", [this](const place::Proof::Price& price) {
      put("[{},{},{},{}]", price.value.index, price.reader.index, price.format.index, price.price.count());
    });
    out_ += "]}";
  }

  void write_case(const place::Proof::Case& given) {
    out_ += "{\"rounds\": [";
    separated(given.rounds, ",\n", [this](const place::Proof::Round& round) { write_round(round); });
    out_ += ']';
    if (given.sweep > 0) put(", \"sweep\": {}", given.sweep);
    using Kind = place::Proof::Split::Kind;
    const place::Proof::Split& split = given.split;
    switch (split.kind) {
      case Kind::None: break;
      case Kind::Cover:
        put(", \"cover\": [{},", split.node.index);
        ids(split.candidates);
        out_ += ']';
        break;
      case Kind::Conflict:
        out_ += ", \"conflict\": ";
        ids(split.owners);
        break;
      case Kind::Working: put(", \"working\": [{},{}]", split.owners.front().index, split.bytes); break;
    }
    if (split.kind != Kind::None) put(", \"then\": [{},{}]", split.first.index, split.second.index);
    out_ += '}';
  }

  void write_proof() {
    out_ += ",\n\"proof\": ";
    if (!proof_.exists()) {
      out_ += "null";
      return;
    }
    out_ += "{\"order\": ";
    ids(proof_.order);
    put(",\n\"scale\": {},\n\"bound\": ", proof_.scale);
    cost(proof_.bound);
    list("cases", proof_.cases, [this](const place::Proof::Case& given) { write_case(given); });
    out_ += '}';
  }

  const Names& names_;
  const place::Problem& problem_;
  const place::Solution& solution_;
  const place::Proof& proof_;
  const About& about_;
  std::string out_;
};

}  // namespace

std::string problem_hash(const CertificateFile& file) {
  const std::string text = Writer(file).problem_text();
  return fmt::format("{:016x}", runtime::checksum(std::as_bytes(std::span(text))));
}

std::string to_json(const CertificateFile& file) {
  COLLAGE_CHECK(file.problem.unit == Cost::Unit::Seconds, "certificates are of times");
  return Writer(file).write();
}

}  // namespace collage::certificate
