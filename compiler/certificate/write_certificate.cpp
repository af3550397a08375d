// SPDX-License-Identifier: Apache-2.0
// to_json of certificate_file.h: by hand, one line for each thing, for there may be hundreds of thousands of
// candidates.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "compiler/certificate/certificate_file.h"
#include "compiler/support/check.h"

namespace collage::certificate {
namespace {

using place::Cost;

class Writer {
 public:
  Writer(const Names& names, const place::Problem& problem, const place::Solution& solution)
      : names_(names), problem_(problem), solution_(solution) {}

  std::string write() {
    out_ = "{\"collage_certificate\": 1,\n\"model\": ";
    text(names_.model);
    list("nodes", names_.nodes, [this](const std::string& name) { text(name); });
    list("formats", problem_.formats, [this](const ir::Format& format) { text(ir::to_string(format)); });
    put(",\n\"host_plain\": {}", problem_.host_plain.index);
    list("owners", problem_.owners, [this](const place::Owner& owner) { write_owner(owner); });
    write_values();
    put(",\n\"constants\": [{}]", fmt::join(problem_.constant_bytes, ","));
    list("candidates", problem_.candidates, [this](const place::Candidate& candidate) { write_candidate(candidate); });
    write_plan();
    write_multipliers();
    return std::move(out_) + "}\n";
  }

 private:
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
    out_ += '}';
  }

  void write_plan() {
    out_ += ",\n\"plan\": {\"chosen\": ";
    ids(solution_.chosen);
    out_ += ", \"cost\": ";
    cost(solution_.cost);
    out_ += ", \"bound\": ";
    cost(solution_.bound);
    const bool has_multipliers = !solution_.certificate.order.empty();
    const bool suffice = has_multipliers && solution_.bound <= solution_.certificate.bound;
    put(", \"optimal\": {}, \"proof\": \"{}\"}}", solution_.optimal,
        suffice                    ? "multipliers"
        : solution_.bound > Cost() ? "search"
                                   : "none");
  }

  void write_round(const place::Certificate::Round& round) {
    out_ += "{\"shares\": [";
    separated(round.shares, ",\n", [this](const place::Certificate::Share& share) {
      put("[{},[", share.candidate.index);
      separated(share.runs, ",", [this](Cost run) { put("{}", run.count()); });
      out_ += "]]";
    });
    out_ += "],\n\"prices\": [";
    separated(round.prices, ",\n", [this](const place::Certificate::Price& price) {
      put("[{},{},{},{}]", price.value.index, price.reader.index, price.format.index, price.price.count());
    });
    out_ += "]}";
  }

  void write_multipliers() {
    const place::Certificate& certificate = solution_.certificate;
    out_ += ",\n\"multipliers\": {\"order\": ";
    ids(certificate.order);
    list("rounds", certificate.rounds, [this](const place::Certificate::Round& round) { write_round(round); });
    out_ += ",\n\"bound\": ";
    cost(certificate.bound);
    out_ += '}';
  }

  const Names& names_;
  const place::Problem& problem_;
  const place::Solution& solution_;
  std::string out_;
};

}  // namespace

std::string to_json(const Names& names, const place::Problem& problem, const place::Solution& solution) {
  COLLAGE_CHECK(problem.unit == Cost::Unit::Seconds, "certificates are of times");
  return Writer(names, problem, solution).write();
}

}  // namespace collage::certificate
