// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/automaton.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"

namespace collage::match {

using ir::Pattern;

namespace {

/// Keys of parts start with what they are.
enum Kind { kValue, kOp, kChoice };

void set(std::vector<uint64_t>* bits, int i) {
  (*bits)[static_cast<size_t>(i) / 64] |= uint64_t{1} << (static_cast<size_t>(i) % 64);
}

/// Whether each of `wanted` can have an operand of its own, `fits(w, operand)`: augmenting paths.
template <typename Fits>
class Assignment {
 public:
  Assignment(size_t operands, Fits fits) : owner_(operands, -1), fits_(fits) {}

  bool assign(int wanted) {
    std::vector<bool> tried(owner_.size(), false);
    return find(wanted, &tried);
  }

 private:
  bool find(int wanted, std::vector<bool>* tried) {
    for (size_t i = 0; i < owner_.size(); ++i) {
      if ((*tried)[i] || !fits_(wanted, i)) continue;
      (*tried)[i] = true;
      if (owner_[i] >= 0 && !find(owner_[i], tried)) continue;
      owner_[i] = wanted;
      return true;
    }
    return false;
  }

  std::vector<int> owner_;
  Fits fits_;
};

}  // namespace

PatternAutomaton::PatternAutomaton(const std::vector<ir::Rule>& rules) {
  for (size_t rule = 0; rule < rules.size(); ++rule) add_roots(rules[rule].root, static_cast<int>(rule));
  for (const std::vector<int>& leaf : values_) {
    Parts parts((parts_.size() + 63) / 64, 0);
    for (int part : leaf) set(&parts, part);
    // Leaves keep states of their own even where they fit the same parts.
    close(std::move(parts));
  }
}

int PatternAutomaton::intern(const std::vector<int>& key, bool* is_new) {
  auto [at, added] = part_of_.try_emplace(key, static_cast<int>(parts_.size()));
  *is_new = added;
  if (added) {
    parts_.emplace_back();
    choices_with_.emplace_back();
    rules_of_.emplace_back();
  }
  return at->second;
}

int PatternAutomaton::number_of(const ir::OpDef* op) {
  auto [at, is_new] = op_numbers_.try_emplace(op, static_cast<int>(op_numbers_.size()));
  if (is_new) parts_of_op_.emplace_back();
  return at->second;
}

int PatternAutomaton::compile(const Pattern& pattern) {
  switch (pattern.kind) {
    case Pattern::Kind::Value: return value_part(pattern);
    case Pattern::Kind::Op: {
      Part::Mode mode = pattern.takes_rest ? Part::Rest : pattern.last_is_each ? Part::Each : Part::Exact;
      return op_part(pattern.ops, {mode, compile_operands(pattern)});
    }
    case Pattern::Kind::Optional:
    case Pattern::Kind::Alternatives: return choice_part(pattern);
    case Pattern::Kind::Repeat:
    case Pattern::Kind::Via: return repeated_part(pattern);
  }
  return -1;
}

int PatternAutomaton::value_part(const Pattern& pattern) {
  bool takes[kLeaves];
  takes[Absent] = pattern.may_be_absent || pattern.is_absent;
  takes[Constant] = !pattern.is_absent;
  takes[Other] = !pattern.is_absent && !pattern.is_const;
  bool is_new = false;
  int part = intern({kValue, takes[Absent], takes[Constant], takes[Other]}, &is_new);
  for (int leaf = 0; is_new && leaf < kLeaves; ++leaf) {
    if (takes[leaf]) values_[leaf].push_back(part);
  }
  return part;
}

std::vector<int> PatternAutomaton::compile_operands(const Pattern& pattern) {
  std::vector<int> operands;
  for (const Pattern& operand : pattern.operands) operands.push_back(compile(operand));
  return operands;
}

int PatternAutomaton::op_part(const std::vector<const ir::OpDef*>& ops, Part part) {
  std::vector<int> numbers;
  for (const ir::OpDef* op : ops) numbers.push_back(number_of(op));
  std::sort(numbers.begin(), numbers.end());
  std::vector<int> key = {kOp, part.mode, static_cast<int>(numbers.size())};
  key.insert(key.end(), numbers.begin(), numbers.end());
  key.insert(key.end(), part.operands.begin(), part.operands.end());
  bool is_new = false;
  int id = intern(key, &is_new);
  if (is_new) {
    parts_[static_cast<size_t>(id)] = std::move(part);
    for (int number : numbers) parts_of_op_[static_cast<size_t>(number)].push_back(id);
  }
  return id;
}

/// `f{1, 3}(e)` => f(f(f(e) | e) | e)
int PatternAutomaton::repeated_part(const Pattern& pattern) {
  std::vector<int> operands = compile_operands(pattern);
  int last = operands[0];
  int part = last;
  for (int done = pattern.at_most; done-- > 0;) {
    operands[0] = part;
    bool is_path = pattern.kind == Pattern::Kind::Via;
    part = op_part(pattern.ops, {is_path ? Part::Some : pattern.takes_rest ? Part::Rest : Part::Exact, operands});
    if (done >= pattern.at_least) part = choice_of({part, last});
  }
  return part;
}

void PatternAutomaton::collect_choices(const Pattern& pattern, std::vector<int>* parts) {
  if (pattern.choices.empty()) return parts->push_back(compile(pattern));
  for (const Pattern& choice : pattern.choices) collect_choices(choice, parts);
}

int PatternAutomaton::choice_part(const Pattern& pattern) {
  std::vector<int> choices;
  collect_choices(pattern, &choices);
  return choice_of(std::move(choices));
}

int PatternAutomaton::choice_of(std::vector<int> choices) {
  std::sort(choices.begin(), choices.end());
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  if (choices.size() == 1) return choices.front();
  std::vector<int> key = {kChoice};
  key.insert(key.end(), choices.begin(), choices.end());
  bool is_new = false;
  int part = intern(key, &is_new);
  if (is_new) {
    for (int choice : choices) choices_with_[static_cast<size_t>(choice)].push_back(part);
  }
  return part;
}

/// A match has at least one node: choices that are values do not count at the root.
void PatternAutomaton::add_roots(const Pattern& pattern, int rule) {
  for (const Pattern& choice : pattern.choices) add_roots(choice, rule);
  if (pattern.ops.empty()) return;
  bool repeats = pattern.kind != Pattern::Kind::Op;
  if (repeats && pattern.at_least == 0) add_roots(pattern.operands[0], rule);
  Pattern some = pattern;
  if (repeats) some.at_least = std::max(1, some.at_least);
  std::vector<int>& rules = rules_of_[static_cast<size_t>(compile(some))];
  if (rules.empty() || rules.back() != rule) rules.push_back(rule);
}

std::vector<int> PatternAutomaton::run(const ir::Graph& graph) {
  std::vector<int> states;
  states.reserve(graph.node_count());
  for (size_t n = 0; n < graph.node_count(); ++n) {
    states.push_back(step(graph, graph.node(ir::NodeId(static_cast<int64_t>(n))), states));
  }
  return states;
}

int PatternAutomaton::step(const ir::Graph& graph, const ir::Node& node, const std::vector<int>& states) {
  auto number = op_numbers_.find(node.op);
  if (number == op_numbers_.end()) return Other;
  std::vector<int> key = {number->second};
  for (ir::ValueId input : node.inputs) {
    if (!input.is_valid()) {
      key.push_back(Absent);
      continue;
    }
    const ir::Value& value = graph.value(input);
    key.push_back(value.producer.is_valid() ? states[value.producer.slot()] : value.is_constant() ? Constant : Other);
  }
  auto [known, is_new] = steps_.try_emplace(key, Other);
  if (!is_new) return known->second;
  std::vector<int> operands(key.begin() + 1, key.end());
  Parts parts = states_[Other].parts;
  size_t commuting = ir::commuting_operands(*node.op, operands.size());
  for (int part : parts_of_op_[static_cast<size_t>(number->second)]) {
    if (fits(parts_[static_cast<size_t>(part)], operands, commuting)) set(&parts, part);
  }
  return known->second = close(std::move(parts));
}

bool PatternAutomaton::has(int state, int part) const {
  uint64_t word = states_[static_cast<size_t>(state)].parts[static_cast<size_t>(part) / 64];
  return (word >> (static_cast<size_t>(part) % 64) & 1) != 0;
}

bool PatternAutomaton::fits(const Part& part, const std::vector<int>& operands, size_t commuting) const {
  const std::vector<int>& wanted = part.operands;
  if (part.mode == Part::Some) {
    return std::any_of(operands.begin(), operands.end(), [&](int operand) { return has(operand, wanted[0]); });
  }
  size_t single = wanted.size() - (part.mode == Part::Each ? 1 : 0);
  auto fits_further = [&](int operand) {
    return operand == Absent || part.mode == Part::Rest || (part.mode == Part::Each && has(operand, wanted.back()));
  };
  for (size_t i = commuting; i < std::max(single, operands.size()); ++i) {
    int operand = i < operands.size() ? operands[i] : static_cast<int>(Absent);
    if (i < single ? !has(operand, wanted[i]) : !fits_further(operand)) return false;
  }
  size_t moving = std::min(single, commuting);
  // Operands that cannot be further ones must be among those that move.
  auto end = operands.begin() + static_cast<std::ptrdiff_t>(commuting);
  auto fixed = commuting - static_cast<size_t>(std::count_if(operands.begin(), end, fits_further));
  if (fixed > moving) return false;
  auto takes = [&](int w, size_t operand) { return has(operands[operand], wanted[static_cast<size_t>(w)]); };
  Assignment assignment(commuting, takes);
  for (size_t w = 0; w < moving; ++w) {
    if (!assignment.assign(static_cast<int>(w))) return false;
  }
  return true;
}

/// The state with these parts and the choices that they are of.
int PatternAutomaton::close(Parts parts) {
  State state;
  for (size_t part = 0; part < parts_.size(); ++part) {
    if ((parts[part / 64] >> (part % 64) & 1) == 0) continue;
    for (int choice : choices_with_[part]) set(&parts, choice);
    state.rules.insert(state.rules.end(), rules_of_[part].begin(), rules_of_[part].end());
  }
  bool is_leaf = states_.size() < kLeaves;
  auto [at, is_new] = state_of_.try_emplace(parts, static_cast<int>(states_.size()));
  if (!is_new && !is_leaf) return at->second;
  std::sort(state.rules.begin(), state.rules.end());
  state.rules.erase(std::unique(state.rules.begin(), state.rules.end()), state.rules.end());
  state.parts = std::move(parts);
  states_.push_back(std::move(state));
  return static_cast<int>(states_.size()) - 1;
}

}  // namespace collage::match
