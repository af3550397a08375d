// SPDX-License-Identifier: Apache-2.0
// The JSON is made first; the text is printed out of it.
#include "compiler/rules_tool/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/ir/rules/functions.h"
#include "compiler/lint/models/implied_rate.h"
#include "compiler/rules_tool/outline.h"
#include "runtime/core/joined.h"
#include "runtime/support/print.h"

namespace collage::rules_tool {
namespace {

using Json = nlohmann::ordered_json;

/// Whole numbers without a fraction.
Json number(double value) {
  constexpr double kExact = 9007199254740992.0;
  if (value == std::floor(value) && std::abs(value) < kExact) return static_cast<int64_t>(value);
  return value;
}

/// `"text"` => `text`
std::string unquoted(std::string text) {
  size_t quotes = text.starts_with("\"\"\"") ? 3 : 1;
  return text.size() >= 2 * quotes ? text.substr(quotes, text.size() - 2 * quotes) : text;
}

Json attribute_value(const ir::AttrDecl& attr, const runtime::AttrValue& value) {
  if (attr.type == ir::ExprType::Bool) return std::get<int64_t>(value) != 0;
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, int64_t> || std::is_same_v<Held, double> ||
                      std::is_same_v<Held, std::string>) {
          return held;
        } else {
          return nullptr;  // no attribute of a backend is a list or a tensor
        }
      },
      value);
}

Json links_of(const std::vector<ir::Link>& links) {
  Json all = Json::array();
  for (const ir::Link& link : links) {
    all.push_back({{"to", link.to},
                   {"bytes_per_second", number(link.bytes_per_second)},
                   {"latency_ps", link.latency.ps()},
                   {"duplex", link.duplex}});
    if (link.joules_per_byte) all.back()["joules_per_byte"] = number(*link.joules_per_byte);
  }
  return all;
}

/// Those that links of the backend's devices name, and those of its rings, tori and trees.
Json switches(const ir::Backend& backend) {
  Json all = Json::array();
  if (backend.switches == nullptr) return all;
  for (const ir::SwitchDecl& declared : *backend.switches) {
    const bool is_used = std::any_of(backend.devices.begin(), backend.devices.end(), [&](const ir::DeviceDecl& device) {
      return declared.name.starts_with(device.name + ".") ||
             std::any_of(device.links.begin(), device.links.end(),
                         [&](const ir::Link& link) { return link.to == declared.name; });
    });
    if (is_used) all.push_back({{"name", declared.name}, {"links", links_of(declared.links)}});
  }
  return all;
}

Json hosts(const ir::Cluster& cluster) {
  Json all = Json::array();
  for (const ir::HostDecl& alike : cluster.hosts) {
    Json entry = {{"count", alike.count}};
    if (alike.memory_bytes) entry["memory_bytes"] = number(*alike.memory_bytes);
    for (const ir::HostDevices& devices : alike.devices) entry["devices"][devices.device] = devices.count;
    entry["links"] = links_of(alike.links);
    all.push_back(std::move(entry));
  }
  return all;
}

Json devices(const ir::Backend& backend) {
  Json all = Json::array();
  for (const ir::DeviceDecl& device : backend.devices) {
    Json entry = {{"name", device.name}, {"count", device.count}};
    if (device.power) entry["power_w"] = number(*device.power);
    if (device.memory_bytes) entry["memory_bytes"] = number(*device.memory_bytes);
    if (device.scratch_bytes) entry["scratch_bytes"] = number(*device.scratch_bytes);
    for (const ir::NamedMemory& memory : device.memories) entry["memories"][memory.name] = number(memory.bytes);
    if (device.launch > ir::Duration()) entry["launch_ps"] = device.launch.ps();
    if (device.precision) entry["precision"] = runtime::name_of(*device.precision);
    if (!device.hosts.empty()) entry["at_hosts"] = device.hosts;
    entry["links"] = links_of(device.links);
    entry["queues"] = device.queues;
    all.push_back(std::move(entry));
  }
  return all;
}

Json attributes(const ir::Backend& backend) {
  Json all = Json::array();
  for (const ir::AttrDecl& attr : backend.attrs) {
    Json entry = {{"name", attr.name}, {"type", ir::name_of(attr.type)}};
    if (attr.type == ir::ExprType::Number) entry["type"] = attr.is_integer ? "int" : "float";
    if (attr.type == ir::ExprType::Bool) entry["type"] = "bool";
    if (attr.unit != ir::Unit::None) entry["type"] = ir::name_of(attr.unit);
    entry["default"] = attribute_value(attr, attr.fallback);
    Json allowed = Json::array();
    for (const runtime::AttrValue& value : attr.allowed) allowed.push_back(attribute_value(attr, value));
    entry["allowed"] = std::move(allowed);
    all.push_back(std::move(entry));
  }
  return all;
}

/// Text of a statement after its head; of one with a block, its items.
Json content(const Statement& statement) {
  if (statement.head == "where") {
    size_t other = statement.find("else");
    Json entry = {{"condition", statement.text(1, other)}};
    if (other < statement.tokens.size()) entry["else"] = unquoted(statement.text(other + 1, statement.tokens.size()));
    return entry;
  }
  if (!statement.has_block) return statement.text();
  Json entry = Json::object();
  if (statement.name() != nullptr) entry["name"] = statement.text();
  // What may come several times is a list; the items of a phase are in one.
  for (const Statement& inner : statement.inner) {
    bool is_item = statement.head == "phase" || statement.head == "partition";
    if (is_item) {
      entry["items"].push_back(inner.text(0, inner.tokens.size()));
    } else {
      entry[std::string(inner.head)].push_back(content(inner));
    }
  }
  return entry;
}

/// What the costs of the rule say that the device does: how far they are from what was meant shows there.
void add_rate(const ir::Backend& backend, int rule, Json* entry) {
  if (!ir::is_simulated(backend)) return;
  const std::optional<lint::ImpliedRate> rate = lint::implied_rate(backend, rule);
  if (rate) (*entry)["per_second"] = {{"macs", rate->macs_per_second}, {"bytes", rate->bytes_per_second}};
}

Json rules_of(const support::SourceManager& sources, const ir::Backend& backend, const Statement& written) {
  Json all = Json::array();
  for (const Statement& statement : written.inner) {
    if (statement.head != "rule" || statement.name() == nullptr) continue;
    Json entry = {{"rule", statement.name()->text}, {"at", location_text(statement.name()->span, sources)}};
    size_t family = statement.find("for");
    if (family < statement.tokens.size()) entry["for"] = statement.text(family + 1, statement.tokens.size());
    Json names = Json::array();
    int first = -1;
    for (size_t i = 0; i < backend.rules.size(); ++i) {
      if (backend.rules[i].family != statement.name()->text) continue;
      if (first < 0) first = static_cast<int>(i);
      names.push_back(backend.rules[i].name);
    }
    entry["names"] = std::move(names);
    if (first >= 0) add_rate(backend, first, &entry);
    int ok = 0, no = 0;
    for (const Statement& clause : statement.inner) {
      if (clause.head != "test") {
        entry[std::string(clause.head)].push_back(content(clause));
      } else {
        ++(clause.name() != nullptr && clause.name()->is("ok") ? ok : no);
      }
    }
    entry["tests"] = {{"ok", ok}, {"no", no}};
    all.push_back(std::move(entry));
  }
  return all;
}

/// What the statements give names to: `def`, `let`, `semantics`.
void add_definitions(const support::SourceManager& sources, const std::vector<Statement>& statements, Json* all) {
  for (const Statement& statement : statements) {
    const bool defines = statement.head == "def" || statement.head == "let" || statement.head == "semantics";
    if (!defines || statement.name() == nullptr) continue;
    const auto after_name = static_cast<size_t>(statement.name() - statement.tokens.data()) + 1;
    const std::string name(statement.name()->text);
    Json entry = {{"name", statement.head == "semantics" ? unquoted(name) : name},
                  {"at", location_text(statement.name()->span, sources)},
                  {"kind", statement.text(0, after_name - 1)}};
    size_t body = statement.find("=");
    Json params = Json::array();
    for (size_t i = after_name; i < std::min(body, statement.tokens.size()); ++i) {
      if (statement.tokens[i].kind == FormatToken::Kind::Name) params.push_back(std::string(statement.tokens[i].text));
    }
    if (!params.empty()) entry["parameters"] = std::move(params);
    if (body < statement.tokens.size()) entry["is"] = statement.text(body + 1, statement.tokens.size());
    for (const Statement& clause : statement.inner) entry[std::string(clause.head)].push_back(content(clause));
    all->push_back(std::move(entry));
  }
}

Json to_json(const support::SourceManager& sources, const ir::Backend& backend, const Statement& written) {
  Json entry = {{"backend", backend.name},
                {"version", backend.version},
                {"at", location_text(backend.span, sources)},
                {"runtime", ir::name_of(backend.runtime)}};
  if (!backend.library.empty()) entry["library"] = backend.library;
  entry["instances"] = backend.instances();
  entry["devices"] = devices(backend);
  if (Json used = switches(backend); !used.empty()) entry["switches"] = std::move(used);
  if (backend.cluster != nullptr) {
    entry["cluster"] = backend.cluster->name;
    entry["hosts"] = hosts(*backend.cluster);
  }
  entry["attributes"] = attributes(backend);
  static const std::string_view shown[] = {"needs", "conflicts", "max",     "format",   "phase",
                                           "deny",  "numerics",  "rewrite", "partition"};
  for (const Statement& statement : written.inner) {
    if (std::find(std::begin(shown), std::end(shown), statement.head) == std::end(shown)) continue;
    entry[std::string(statement.head)].push_back(content(statement));
  }
  Json definitions = Json::array();
  add_definitions(sources, outline(sources, backend.span.file), &definitions);
  add_definitions(sources, written.inner, &definitions);
  if (!definitions.empty()) entry["definitions"] = std::move(definitions);
  entry["rules"] = rules_of(sources, backend, written);
  return entry;
}

/// `devices` => `device`: in the text, a list is one entry after the other.
std::string_view singular(std::string_view key) {
  return key.ends_with('s') && key != "conflicts" && key != "needs" ? key.substr(0, key.size() - 1) : key;
}

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// `8, 16, 32`
std::string joined(const Json& values) {
  std::string text;
  for (const Json& value : values) runtime::add_to_list(text, plain(value));
  return text;
}

void print_fields(const Json& entry, size_t indent);

/// An object in a list: its first field heads the others.
void print_item(std::string_view key, const Json& item, size_t indent) {
  std::string pad(indent, ' ');
  if (item.contains("condition")) {
    std::string reason = item.contains("else") ? fmt::format(" else \"{}\"", plain(item["else"])) : "";
    support::print("{}{} {}{}\n", pad, key, plain(item["condition"]), reason);
    return;
  }
  Json rest = item;
  std::string name;
  if (!item.empty() && item.begin()->is_string()) {
    name = " " + plain(*item.begin());
    rest.erase(item.begin().key());
  }
  std::string at = item.contains("at") ? fmt::format("  ({})", plain(item["at"])) : "";
  rest.erase("at");
  support::print("{}{}{}{}\n", pad, key, name, at);
  print_fields(rest, indent + 2);
}

void print_fields(const Json& entry, size_t indent) {
  std::string pad(indent, ' ');
  for (const auto& [key, value] : entry.items()) {
    bool is_one_line = key == "instances" || key == "names" || key == "queues" || key == "allowed" ||
                       key == "parameters" || key == "at_hosts";
    if (key == "per_second") {
      const lint::ImpliedRate rate{value["macs"].get<double>(), value["bytes"].get<double>()};
      support::print("{}does {}\n", pad, lint::text_of(rate));
    } else if (value.is_object()) {
      support::print("{}{}:", pad, key);
      for (const auto& [name, part] : value.items()) support::print(" {} {}", plain(part), name);
      support::print("\n");
    } else if (!value.is_array()) {
      support::print("{}{} {}\n", pad, key, plain(value));
    } else if (is_one_line) {
      if (!value.empty()) support::print("{}{} {}\n", pad, key, joined(value));
    } else {
      for (const Json& item : value) {
        if (item.is_object()) {
          print_item(singular(key), item, indent);
        } else if (key == "items") {
          support::print("{}{}\n", pad, plain(item));
        } else {
          support::print("{}{} {}\n", pad, key, plain(item));
        }
      }
    }
  }
}

}  // namespace

bool list_rules(const support::SourceManager& sources, const ir::RuleSet& rules, const std::vector<std::string>& names,
                bool as_json, support::Diagnostics& diags) {
  std::vector<std::string> known;
  for (const ir::Backend& backend : rules.backends) known.push_back(backend.name);
  for (const std::string& name : names) {
    if (rules.find(name) != nullptr) continue;
    return diags.error_at(support::Code::BadOption, "--backend", "no rule file declares a backend `{}`", name)
        .did_you_mean(support::closest(name, known));
  }
  Json all = Json::array();
  for (const ir::Backend& backend : rules.backends) {
    if (!names.empty() && std::find(names.begin(), names.end(), backend.name) == names.end()) continue;
    for (const Statement& statement : outline(sources, backend.span.file)) {
      bool is_it = statement.head == "backend" && statement.name() != nullptr &&
                   statement.name()->span.begin == backend.span.begin;
      if (is_it) all.push_back(to_json(sources, backend, statement));
    }
  }
  if (as_json) {
    support::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!all.empty()) {
    print_fields({{"backend", all}}, 0);
  }
  return true;
}

}  // namespace collage::rules_tool
