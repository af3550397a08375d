// SPDX-License-Identifier: Apache-2.0
// read_certificate of certificate_file.h. The first thing that is wrong is kept; what is read after it is thrown away.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "compiler/certificate/certificate_file.h"

namespace collage::certificate {
namespace {

using nlohmann::json;
using place::CandidateId;
using place::ConstantId;
using place::Cost;
using place::FormatId;
using place::NodeId;
using place::OwnerId;
using place::ProblemValueId;
using support::Table;

/// Conversions that values share.
using ConversionsId = support::Id<struct ConversionsTag>;

/// The largest cost or number of bytes: sums of them fit into the 128 bits in which the checker adds them up.
constexpr int64_t kMaxAmount = int64_t{1} << 60;

struct Range {
  int64_t least = 0;
  int64_t most = 0;

  static Range index(size_t count) { return {0, static_cast<int64_t>(count) - 1}; }
};
/// Conversions of all values together. The file shares tables, so a small file could demand any number.
constexpr size_t kMaxConversions = size_t{1} << 25;
/// Products with scaled costs fit as well.
constexpr int64_t kMaxScale = int64_t{1} << 20;
/// States of one sweep: a file must not take all memory.
constexpr int64_t kMaxStates = 1'000'000;
constexpr Range kAmount = {0, kMaxAmount};
constexpr Range kMultiplier = {-kMaxAmount, kMaxAmount};

/// A place in the file: `candidates[3]`.
struct Place {
  const json& at;
  std::string_view name;
  int64_t index = -1;

  std::string text() const { return index < 0 ? std::string(name) : fmt::format("{}[{}]", name, index); }
};

class Reader {
 public:
  runtime::Result<CertificateFile> read(std::string_view text) {
    const json root = json::parse(text, nullptr, false);
    if (root.is_discarded()) return runtime::Status::error("it is not JSON");
    if (!root.is_object() || !root.contains("collage_certificate")) {
      return runtime::Status::error("it is no certificate of `collagec --certificate`");
    }
    const Place top{root, "the file"};
    const int64_t version = integer(top, "collage_certificate", {0, kMaxAmount});
    if (fault_.empty() && version != kVersion) fail("it is of version {}, only {} can be read", version, kVersion);
    read_about(top);
    read_problem(top);
    if (fault_.empty()) read_solution(top);
    if (fault_.empty()) read_proof(top);
    if (!fault_.empty()) return runtime::Status::error(fault_);
    return std::move(file_);
  }

 private:
  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (fault_.empty()) fault_ = fmt::format(format, std::forward<Args>(args)...);
  }

  const json* member(const Place& place, const char* key) {
    if (!place.at.is_object()) {
      fail("{}: an object is expected", place.text());
      return nullptr;
    }
    const auto it = place.at.find(key);
    if (it == place.at.end()) fail("{}: `{}` is missing", place.text(), key);
    return it == place.at.end() ? nullptr : &*it;
  }
  bool has(const Place& place, const char* key) const { return place.at.is_object() && place.at.contains(key); }

  int64_t number(const json* value, Range range, const Place& place, std::string_view key) {
    if (value == nullptr) return range.least;
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(kMaxAmount))) {
      fail("{}: `{}` is not a number that can stand there", place.text(), key);
      return range.least;
    }
    const int64_t result = value->get<int64_t>();
    if (result < range.least || result > range.most) {
      if (range.most < range.least) {
        fail("{}: `{}` has an index {} and there is nothing to point at", place.text(), key, result);
      } else {
        fail("{}: `{}` has {}, need {} to {}", place.text(), key, result, range.least, range.most);
      }
      return range.least;
    }
    return result;
  }

  int64_t integer(const Place& place, const char* key, Range range) {
    return number(member(place, key), range, place, key);
  }
  /// null: there is none.
  Cost cost(const Place& place, const char* key) {
    const json* value = member(place, key);
    if (value != nullptr && value->is_null()) return Cost::max();
    return file_.problem.cost_of(number(value, kAmount, place, key));
  }
  std::string text(const Place& place, const char* key) { return text(member(place, key), place, key); }
  std::string text(const json* value, const Place& place, std::string_view key) {
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    if (value != nullptr) fail("{}: `{}` is not a text", place.text(), key);
    return "";
  }
  bool boolean(const Place& place, const char* key) {
    const json* value = member(place, key);
    if (value != nullptr && value->is_boolean()) return value->get<bool>();
    if (value != nullptr) fail("{}: `{}` is neither true nor false", place.text(), key);
    return false;
  }
  const json& array(const json* value, const Place& place, std::string_view key) {
    static const json nothing = json::array();
    if (value != nullptr && value->is_array()) return *value;
    if (value != nullptr) fail("{}: `{}` is not a list", place.text(), key);
    return nothing;
  }
  const json& array(const Place& place, const char* key) { return array(member(place, key), place, key); }

  template <typename Read>
  void each(const Place& place, const char* key, Read read_item) {
    int64_t index = 0;
    for (const json& item : array(place, key)) {
      if (!fault_.empty()) return;
      read_item(Place{item, key, index++});
    }
  }
  /// Ids, or numbers as they are.
  template <typename Number>
  std::vector<Number> numbers(const Place& place, const char* key, Range range) {
    std::vector<Number> result;
    for (const json& item : array(place, key)) {
      if (!fault_.empty()) break;
      result.push_back(Number(number(&item, range, place, key)));
    }
    return result;
  }
  /// The items of a list that has exactly `count`.
  std::vector<const json*> tuple(const json& list, size_t count, const Place& place, std::string_view key) {
    std::vector<const json*> items(count, nullptr);
    if (!list.is_array() || list.size() != count) {
      fail("{}: `{}` has an item that is no list of {}", place.text(), key, count);
      return items;
    }
    for (size_t i = 0; i < count; ++i) items[i] = &list[i];
    return items;
  }

  void read_about(const Place& top) {
    const json* given = member(top, "about");
    if (given == nullptr || given->is_null()) return;
    const Place about{*given, "about"};
    file_.about.model = text(about, "model");
    each(about, "files", [&](const Place& p) {
      const std::vector<const json*> pair = tuple(p.at, 2, p, "file");
      file_.about.files.emplace_back(text(pair[0], p, "name"), text(pair[1], p, "hash"));
    });
    const json* options = member(about, "options");
    if (options != nullptr && !options->is_object()) fail("about: `options` is no object");
    if (options != nullptr && options->is_object()) {
      for (const auto& [name, values] : options->items()) {
        file_.about.options.emplace_back(name, texts(array(&values, about, name), about, name));
      }
    }
    file_.about.words = texts(array(about, "words"), about, "words");
    file_.about.is_measured = text(about, "costs") == "measured";
    file_.about.problem = text(about, "problem");
    if (file_.about.model.empty()) fail("about: there is no hash of the model");
  }
  std::vector<std::string> texts(const json& list, const Place& place, std::string_view key) {
    std::vector<std::string> result;
    for (const json& item : list) result.push_back(text(&item, place, key));
    return result;
  }

  void read_problem(const Place& top) {
    place::Problem& problem = file_.problem;
    file_.names.model = text(top, "model");
    each(top, "nodes", [&](const Place& p) { file_.names.nodes.push_back(text(&p.at, p, "name")); });
    problem.node_count = file_.names.nodes.size();
    each(top, "formats", [&](const Place& p) { problem.formats.push_back({text(&p.at, p, "name"), "plain"}); });
    format_ = Range::index(problem.formats.size());
    problem.host_plain = FormatId(integer(top, "host_plain", format_));
    const Range owner = Range::index(fault_.empty() ? array(top, "owners").size() : 0);
    each(top, "owners", [&](const Place& p) { problem.owners.push_back(read_owner(p, owner)); });
    each(top, "conversions", [&](const Place& p) { tables_.push_back(read_table(p)); });
    each(top, "values", [&](const Place& p) { read_value(p); });
    problem.constant_bytes = Table<ConstantId, int64_t>(numbers<int64_t>(top, "constants", kAmount));
    each(top, "candidates", [&](const Place& p) { problem.candidates.push_back(read_candidate(p, owner)); });
  }

  place::Owner read_owner(const Place& place, Range owners) {
    place::Owner owner;
    owner.backend = text(place, "backend");
    owner.instance = text(place, "instance");
    if (has(place, "max_partitions")) {
      owner.max_partitions = static_cast<int>(integer(place, "max_partitions", {0, INT32_MAX}));
    }
    if (has(place, "conflicts")) owner.conflicts = numbers<OwnerId>(place, "conflicts", owners);
    if (has(place, "memory")) owner.memory = integer(place, "memory", kAmount);
    if (has(place, "joins")) owner.joins = file_.problem.cost_of(integer(place, "joins", kAmount));
    return owner;
  }

  std::vector<place::ConversionEdge> read_table(const Place& place) {
    std::vector<place::ConversionEdge> table;
    for (const json& item : array(&place.at, place, "table")) {
      const std::vector<const json*> edge = tuple(item, 3, place, "conversion");
      if (!fault_.empty()) break;
      table.push_back({FormatId(number(edge[0], format_, place, "from")),
                       FormatId(number(edge[1], format_, place, "to")),
                       file_.problem.cost_of(number(edge[2], kAmount, place, "time"))});
    }
    return table;
  }

  void read_value(const Place& place) {
    place::ProblemValue value;
    const Range node = Range::index(file_.names.nodes.size());
    file_.names.values.push_back(text(place, "name"));
    value.writer = NodeId(integer(place, "writer", {-1, node.most}));
    value.readers = numbers<NodeId>(place, "readers", node);
    value.is_output = boolean(place, "output");
    value.bytes = integer(place, "bytes", kAmount);
    const ConversionsId table(integer(place, "conversions", Range::index(tables_.size())));
    if (fault_.empty()) {
      value.conversions = tables_[table];
      conversions_ += value.conversions.size();
      if (conversions_ > kMaxConversions) fail("{}: more conversions than {}", place.text(), kMaxConversions);
    }
    file_.problem.values.push_back(std::move(value));
  }

  std::vector<place::ValueFormat> read_formats(const Place& place, const char* key) {
    std::vector<place::ValueFormat> result;
    for (const json& item : array(place, key)) {
      const std::vector<const json*> pair = tuple(item, 2, place, key);
      if (!fault_.empty()) break;
      const ProblemValueId value(number(pair[0], Range::index(file_.problem.values.size()), place, key));
      const FormatId format(number(pair[1], format_, place, key));
      result.push_back({value, format});
    }
    return result;
  }

  place::Candidate read_candidate(const Place& place, Range owners) {
    place::Candidate candidate;
    candidate.owner = OwnerId(integer(place, "owner", owners));
    candidate.rule = text(place, "rule");
    candidate.nodes = numbers<NodeId>(place, "nodes", Range::index(file_.names.nodes.size()));
    candidate.cost = cost(place, "cost");
    candidate.reads = read_formats(place, "reads");
    candidate.writes = read_formats(place, "writes");
    if (has(place, "constants")) {
      candidate.constants = numbers<ConstantId>(place, "constants", Range::index(file_.problem.constant_bytes.size()));
    }
    if (has(place, "kept")) {
      candidate.kept = numbers<ProblemValueId>(place, "kept", Range::index(file_.problem.values.size()));
    }
    if (has(place, "unit")) candidate.may_join = boolean(place, "unit");
    return candidate;
  }

  void read_solution(const Place& top) {
    place::Solution& solution = file_.solution;
    const Range candidates = Range::index(file_.problem.candidates.size());
    const json* plan_member = member(top, "plan");
    const json* claim_member = member(top, "claim");
    if (plan_member == nullptr || claim_member == nullptr) return;
    const Place plan{*plan_member, "plan"};
    solution.chosen = numbers<CandidateId>(plan, "chosen", candidates);
    if (has(plan, "regions")) solution.region = numbers<place::RegionId>(plan, "regions", {0, INT32_MAX});
    solution.cost = cost(plan, "cost");
    const Place claim{*claim_member, "claim"};
    solution.bound = cost(claim, "bound");
    solution.optimal = boolean(claim, "optimal");
  }

  void read_proof(const Place& top) {
    const json* given = member(top, "proof");
    if (given == nullptr || given->is_null()) return;
    const Place proof{*given, "proof"};
    file_.proof.order = numbers<NodeId>(proof, "order", Range::index(file_.names.nodes.size()));
    file_.proof.scale = integer(proof, "scale", {1, kMaxScale});
    const json* bound = member(proof, "bound");
    const bool has_none = bound != nullptr && bound->is_null();
    file_.proof.bound = has_none ? Cost::max() : file_.problem.cost_of(number(bound, kMultiplier, proof, "bound"));
    cases_ = Range::index(fault_.empty() ? array(proof, "cases").size() : 0);
    each(proof, "cases", [&](const Place& p) { file_.proof.cases.push_back(read_case(p)); });
  }

  place::Proof::Case read_case(const Place& place) {
    place::Proof::Case result;
    each(place, "rounds", [&](const Place& p) {
      if (p.at.is_string() && p.at.get<std::string>() == "again") {
        result.rounds.emplace_back().is_repeated = true;
      } else {
        result.rounds.push_back(read_round(p));
      }
    });
    if (has(place, "sweep")) result.sweep = integer(place, "sweep", {1, kMaxStates});
    using Kind = place::Proof::Split::Kind;
    place::Proof::Split& split = result.split;
    const Range owners = Range::index(file_.problem.owners.size());
    if (has(place, "cover")) {
      split.kind = Kind::Cover;
      const std::vector<const json*> pair = tuple(place.at["cover"], 2, place, "cover");
      split.node = NodeId(number(pair[0], Range::index(file_.names.nodes.size()), place, "cover"));
      const Range candidates = Range::index(file_.problem.candidates.size());
      for (const json& item : array(pair[1], place, "cover")) {
        split.candidates.push_back(CandidateId(number(&item, candidates, place, "cover")));
      }
    } else if (has(place, "conflict")) {
      split.kind = Kind::Conflict;
      for (const json* item : tuple(place.at["conflict"], 2, place, "conflict")) {
        split.owners.push_back(OwnerId(number(item, owners, place, "conflict")));
      }
    } else if (has(place, "working")) {
      split.kind = Kind::Working;
      const std::vector<const json*> pair = tuple(place.at["working"], 2, place, "working");
      split.owners.push_back(OwnerId(number(pair[0], owners, place, "working")));
      split.bytes = number(pair[1], kAmount, place, "working");
    }
    if (split.kind == Kind::None) return result;
    const json* then = member(place, "then");
    if (then == nullptr) return result;
    const std::vector<const json*> cases = tuple(*then, 2, place, "then");
    split.first = place::Proof::CaseId(number(cases[0], cases_, place, "then"));
    split.second = place::Proof::CaseId(number(cases[1], cases_, place, "then"));
    return result;
  }

  place::Proof::Round read_round(const Place& place) {
    place::Proof::Round round;
    each(place, "limits", [&](const Place& p) {
      const std::vector<const json*> row = tuple(p.at, 3, p, "limit");
      if (!fault_.empty()) return;
      place::Proof::LimitPrice limit;
      const std::string of = text(row[0], p, "limit");
      using Of = place::Proof::LimitPrice::Of;
      if (of != "memory" && of != "partitions") fail("{}: there is no limit of `{}`", p.text(), of);
      limit.of = of == "memory" ? Of::Memory : Of::Partitions;
      limit.owner = OwnerId(number(row[1], Range::index(file_.problem.owners.size()), p, "owner"));
      limit.price = file_.problem.cost_of(number(row[2], kAmount, p, "price"));
      round.limits.push_back(limit);
    });
    if (has(place, "again")) {
      round.is_repeated = boolean(place, "again");
      if (round.is_repeated) return round;
    }
    each(place, "shares", [&](const Place& p) {
      const std::vector<const json*> pair = tuple(p.at, 2, p, "share");
      if (!fault_.empty()) return;
      place::Proof::Share share;
      share.candidate = CandidateId(number(pair[0], Range::index(file_.problem.candidates.size()), p, "candidate"));
      for (const json& run : array(pair[1], p, "runs")) {
        share.runs.push_back(file_.problem.cost_of(number(&run, kMultiplier, p, "runs")));
      }
      round.shares.push_back(std::move(share));
    });
    each(place, "prices", [&](const Place& p) {
      const std::vector<const json*> row = tuple(p.at, 4, p, "price");
      if (!fault_.empty()) return;
      place::Proof::Price price;
      price.value = ProblemValueId(number(row[0], Range::index(file_.problem.values.size()), p, "value"));
      price.reader = NodeId(number(row[1], Range::index(file_.names.nodes.size()), p, "reader"));
      price.format = FormatId(number(row[2], format_, p, "format"));
      price.price = file_.problem.cost_of(number(row[3], kMultiplier, p, "price"));
      round.prices.push_back(price);
    });
    return round;
  }

  CertificateFile file_;
  Table<ConversionsId, std::vector<place::ConversionEdge>> tables_;
  Range format_;
  Range cases_;
  size_t conversions_ = 0;
  std::string fault_;
};

}  // namespace

runtime::Result<CertificateFile> read_certificate(std::string_view text) {
  return Reader().read(text);
}

}  // namespace collage::certificate
