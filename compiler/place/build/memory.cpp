// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/match/evaluate.h"
#include "compiler/match/lowering_misfit.h"
#include "runtime/core/host_space.h"
#include "runtime/core/room.h"
#include "runtime/encodings/encodings.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// As the arenas count it.
int64_t device_bytes(size_t bytes) {
  return static_cast<int64_t>(runtime::room_for(bytes));
}

/// The memory of one host has no limit; those of a cluster may.
bool is_counted(const BuiltProblem& built, const Candidate& candidate) {
  return built.has_cluster || !runtime::is_host_space(built.problem.owners[candidate.owner].instance);
}

/// Bytes of each value, in the smallest format in which it lies where memory counts: never more than it takes there, so
/// that what the search proves holds. solve.h counts each format as it is.
Table<ProblemValueId, int64_t> least_device_bytes(const Graph& graph, const BuiltProblem& built) {
  const Problem& problem = built.problem;
  Table<ProblemValueId, std::optional<size_t>> least(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    if (!is_counted(built, candidate)) continue;
    for (const auto* list : {&candidate.reads, &candidate.writes}) {
      for (const ValueFormat& item : *list) {
        const ir::TensorType& type = graph.value(built.values[item.value]).type;
        const size_t bytes = ir::bytes_in(type, problem.formats[item.format]);
        least[item.value] = std::min(least[item.value].value_or(bytes), bytes);
      }
    }
  }
  Table<ProblemValueId, int64_t> bytes;
  for (ProblemValueId v : least.ids()) {
    bytes.push_back(device_bytes(least[v].value_or(graph.value(built.values[v]).type.bytes())));
  }
  return bytes;
}

/// A constant as it lies in memory; no encoding: as it is.
using StoredConstant = std::pair<ValueId, std::string>;

/// Others read it, or it is what the root makes.
bool is_result_of(const Graph& graph, const match::Match& match, ValueId value) {
  if (value == graph.first_output(match.nodes.back())) return true;
  return std::find(match.results.begin(), match.results.end(), value) != match.results.end();
}

/// Values within a match.
using InnerValues = std::vector<ValueId>;

/// The values that a match's own kernel computes internally for which `semantics` has an equal intermediate: all or
/// none.
class KernelValues {
 public:
  KernelValues(const Graph& graph, const BuiltProblem& built, const ActiveBackends& backends)
      : graph_(graph), built_(built), backends_(backends) {}

  const InnerValues& of(BackendId backend, MatchId match) {
    const auto [it, is_new] = known_.try_emplace({backend, match});
    if (is_new) it->second = find(backends_[backend], built_.backends[backend].matches[match]);
    return it->second;
  }

 private:
  InnerValues find(const ActiveBackend& active, const match::Match& match) const {
    const ir::Backend& backend = *active.backend;
    const ir::Rule& rule = backend.rules[static_cast<size_t>(match.rule)];
    const ir::Lowering& lowering = rule.kernels[static_cast<size_t>(match.kernel)].lowering;
    if (!lowering.meaning) return {};
    match::Quantities quantities = match::quantities_of(graph_, match.nodes, &backend);
    quantities.launch = backend.policy.launch.seconds();
    const match::EvalContext context{
        graph_, backend, active.attrs, match.bindings, &quantities, &match.knobs, active.environment.get()};
    const auto meaning = match::meaning_of(rule, lowering, context, match.nodes.back());
    if (!meaning) return {};
    std::vector<ir::TensorType> made;
    for (size_t i = 0; i < meaning->steps.size(); ++i) {
      const bool is_result =
          meaning->result.kind == match::BuiltOperand::Kind::Step && meaning->result.step == static_cast<int>(i);
      if (!is_result) made.push_back(meaning->steps[i].type);
    }
    InnerValues inner;
    for (NodeId node : match.nodes) {
      for (ValueId value : graph_.node(node).outputs) {
        if (value.is_valid() && !is_result_of(graph_, match, value)) inner.push_back(value);
      }
    }
    const bool are_equal = std::equal(
        inner.begin(), inner.end(), made.begin(), made.end(), [&](ValueId value, const ir::TensorType& type) {
          return graph_.value(value).type.dtype == type.dtype && graph_.value(value).type.shape == type.shape;
        });
    return are_equal ? inner : InnerValues();
  }

  const Graph& graph_;
  const BuiltProblem& built_;
  const ActiveBackends& backends_;
  std::map<std::pair<BackendId, MatchId>, InnerValues> known_;
};

/// The rules of a candidate whose device runs it operator by operator, or by what they say that its kernels compute.
class DeviceCode {
 public:
  DeviceCode(const Graph& graph, const BuiltProblem& built, const ir::Backend& backend, CandidateId candidate)
      : graph_(graph),
        built_(built),
        backend_(backend),
        candidate_(built.problem.candidates[candidate]),
        origin_(built.origin(candidate)) {
    for (MatchId m : origin_.matches) matches_.push_back(&built.backends[origin_.backend].matches[m]);
  }

  std::vector<StoredConstant> constants() const {
    std::vector<StoredConstant> stored;
    for (const match::Match* match : matches_) {
      for (const ir::LoweringArg& arg : lowering(*match).args) {
        for (ValueId value : operands(*match, arg)) {
          if (is_constant(value)) stored.emplace_back(value, arg.encoding);
        }
      }
    }
    for (NodeId node : candidate_.nodes) {
      const match::Match* match = match_of(node);
      if (match != nullptr && lowering(*match).meaning) continue;
      for (ValueId value : graph_.node(node).inputs) {
        if (is_constant(value)) stored.emplace_back(value, match == nullptr ? "" : encoding(*match, value));
      }
    }
    return stored;
  }

  /// Values inside of it that have memory of their own.
  std::vector<ProblemValueId> kept(KernelValues& kernels) const {
    std::vector<ProblemValueId> values;
    for (NodeId node : candidate_.nodes) {
      const match::Match* match = match_of(node);
      for (ValueId value : graph_.node(node).outputs) {
        if (!value.is_valid() || leaves(value)) continue;
        if (match == nullptr || has_memory(*match, value, kernels)) values.push_back(problem_value(built_, value));
      }
    }
    std::sort(values.begin(), values.end());
    return values;
  }

 private:
  const ir::Lowering& lowering(const match::Match& match) const {
    return backend_.rules[static_cast<size_t>(match.rule)].kernels[static_cast<size_t>(match.kernel)].lowering;
  }

  const match::Match* match_of(NodeId node) const {
    const auto at = std::find_if(matches_.begin(), matches_.end(), [&](const match::Match* match) {
      return std::binary_search(match->nodes.begin(), match->nodes.end(), node);
    });
    return at == matches_.end() ? nullptr : *at;
  }

  bool is_constant(ValueId value) const { return value.is_valid() && graph_.value(value).is_constant(); }

  /// The values that an argument passes to the kernel; none for attributes.
  std::vector<ValueId> operands(const match::Match& match, const ir::LoweringArg& arg) const {
    if (arg.capture < 0) return {};
    const auto at = static_cast<size_t>(arg.capture);
    const ir::Capture& capture = backend_.rules[static_cast<size_t>(match.rule)].captures[at];
    if (capture.type == ir::ExprType::Values) return match::values_of(graph_, capture, match.bindings[at]);
    return {match.bindings[at].value};
  }

  std::string encoding(const match::Match& match, ValueId value) const {
    for (const ir::LoweringArg& arg : lowering(match).args) {
      if (arg.encoding.empty()) continue;
      for (ValueId operand : operands(match, arg)) {
        if (operand == value) return arg.encoding;
      }
    }
    return "";
  }

  bool leaves(ValueId value) const {
    const ProblemValueId v = problem_value(built_, value);
    return std::any_of(candidate_.writes.begin(), candidate_.writes.end(),
                       [&](const ValueFormat& write) { return write.value == v; });
  }

  /// Nodes of other matches do not run between its own: its kernel runs at its last one.
  bool is_in_one_piece(const match::Match& match) const {
    const std::vector<NodeId>& nodes = candidate_.nodes;
    const auto first = std::lower_bound(nodes.begin(), nodes.end(), match.nodes.front());
    const auto last = std::lower_bound(nodes.begin(), nodes.end(), match.nodes.back());
    return static_cast<size_t>(last - first) + 1 == match.nodes.size();
  }

  bool has_memory(const match::Match& match, ValueId value, KernelValues& kernels) const {
    if (!lowering(match).meaning || is_result_of(graph_, match, value)) return true;
    if (!is_in_one_piece(match)) return false;
    const auto at = std::find(matches_.begin(), matches_.end(), &match);
    const InnerValues& inner = kernels.of(origin_.backend, origin_.matches[static_cast<size_t>(at - matches_.begin())]);
    return std::find(inner.begin(), inner.end(), value) != inner.end();
  }

  const Graph& graph_;
  const BuiltProblem& built_;
  const ir::Backend& backend_;
  const Candidate& candidate_;
  const CandidateOrigin& origin_;
  std::vector<const match::Match*> matches_;
};

/// The backend of a candidate that a device runs operator by operator; null for all others, whose code is not known.
const ir::Backend* operator_backend(const BuiltProblem& built, const ActiveBackends& backends, CandidateId candidate) {
  const CandidateOrigin& origin = built.origin(candidate);
  if (!origin.backend.is_valid() || origin.matches.empty()) return nullptr;
  const ir::Backend& backend = *backends[origin.backend].backend;
  const bool calls_library = backend.runtime == ir::RuntimeKind::Library || backend.runtime == ir::RuntimeKind::Plugin;
  const bool is_on_host =
      runtime::is_host_space(built.problem.owners[built.problem.candidates[candidate].owner].instance);
  return calls_library || is_on_host || backend.find_phase(/*is_post=*/true) != nullptr ? nullptr : &backend;
}

int64_t stored_bytes(const Graph& graph, const StoredConstant& constant) {
  const ir::TensorType& type = graph.value(constant.first).type;
  if (constant.second.empty()) return device_bytes(type.bytes());
  return device_bytes(runtime::least_encoded_bytes(type.dtype, type.shape, constant.second));
}

/// The distinct constants of a candidate, ascending.
std::vector<StoredConstant> constants_of(const Graph& graph, const Candidate& candidate,
                                         const std::optional<DeviceCode>& code) {
  std::vector<StoredConstant> stored;
  if (code) {
    stored = code->constants();
  } else {
    for (NodeId node : candidate.nodes) {
      for (ValueId value : graph.node(node).inputs) {
        if (value.is_valid() && graph.value(value).is_constant()) stored.emplace_back(value, "");
      }
    }
  }
  std::sort(stored.begin(), stored.end());
  stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
  return stored;
}

/// Numbers constants by the graph: first those that nodes read, as they are, then those that some candidate has
/// encoded.
std::map<StoredConstant, ConstantId> number_constants(const Graph& graph,
                                                      const Table<CandidateId, std::vector<StoredConstant>>& stored,
                                                      Problem* problem) {
  std::map<StoredConstant, ConstantId> numbers;
  problem->constant_bytes.clear();
  const auto add = [&](const StoredConstant& constant) {
    const auto [it, is_new] = numbers.emplace(constant, problem->constant_bytes.next_id());
    if (is_new) problem->constant_bytes.push_back(stored_bytes(graph, constant));
  };
  for (NodeId node : graph.node_ids()) {
    for (ValueId value : graph.node(node).inputs) {
      if (value.is_valid() && graph.value(value).is_constant()) add({value, ""});
    }
  }
  std::set<StoredConstant> encoded;
  for (const std::vector<StoredConstant>& list : stored) encoded.insert(list.begin(), list.end());
  for (const StoredConstant& constant : encoded) add(constant);
  return numbers;
}

}  // namespace

void add_memory(const Graph& graph, const ActiveBackends& backends, BuiltProblem* built) {
  Problem& problem = built->problem;
  const Table<ProblemValueId, int64_t> least = least_device_bytes(graph, *built);
  for (ProblemValueId v : problem.values.ids()) problem.values[v].bytes = least[v];
  Table<CandidateId, std::vector<StoredConstant>> stored(problem.candidates.size());
  KernelValues kernels(graph, *built, backends);
  for (CandidateId c : problem.candidates.ids()) {
    Candidate& candidate = problem.candidates[c];
    candidate.kept.clear();
    // A split candidate has constants of its own: its shares.
    if (!is_counted(*built, candidate) || candidate.split) continue;
    std::optional<DeviceCode> code;
    if (const ir::Backend* backend = operator_backend(*built, backends, c)) code.emplace(graph, *built, *backend, c);
    if (code) candidate.kept = code->kept(kernels);
    stored[c] = constants_of(graph, candidate, code);
  }
  const std::map<StoredConstant, ConstantId> numbers = number_constants(graph, stored, &problem);
  for (CandidateId c : problem.candidates.ids()) {
    std::vector<ConstantId>& constants = problem.candidates[c].constants;
    constants.clear();
    for (const StoredConstant& constant : stored[c]) constants.push_back(numbers.at(constant));
    std::sort(constants.begin(), constants.end());
  }
}

}  // namespace collage::place
