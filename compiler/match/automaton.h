// SPDX-License-Identifier: Apache-2.0
// The patterns of all rules of a backend as one bottom-up tree automaton: which rules can have a root at a node, by
// the operators, constants and left-out operands above it.
//
// Equal parts of patterns are one part, whatever their names. A state is the set of parts that fit a value; that of a
// node follows from its operator and the states of its operands, is worked out when it first occurs and looked up from
// then on. So a node costs one look-up, however many rules there are.
//
//     Relu(Conv(x, w: const)), Relu(Add(a, b))   =>   parts  x  const  Conv(x, const)  Add(x, x)  Relu(2)  Relu(3)
//     %c = Conv(%i, %w)  %r = Relu(%c)           =>   %c {x, Conv(x, const)}   %r {x, Relu(2)}: the first rule
//
// In a rule with several patterns the first counts. Names are not compared, and for commuting operands one possible
// assignment is enough, so a rule that is listed here may still not match (`derivation.h` decides); one that is not
// listed cannot.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::match {

class PatternAutomaton {
 public:
  explicit PatternAutomaton(const std::vector<ir::Rule>& rules);

  /// The state of each node.
  std::vector<int> run(const ir::Graph& graph);
  /// Rules that may have a root at a node in this state, ascending.
  const std::vector<int>& rules_at(int state) const { return states_[static_cast<size_t>(state)].rules; }

  size_t part_count() const { return parts_.size(); }
  size_t state_count() const { return states_.size(); }

 private:
  enum Leaf { Absent, Constant, Other, kLeaves };
  /// A value that may be some of `Leaf`, an operator over parts, or one of several parts.
  struct Part {
    enum Mode {
      Exact,  ///< these operands
      Rest,   ///< and any further ones
      Each,   ///< and one or more like the last
      Some    ///< one operand like the first, others of any kind
    };
    Mode mode = Exact;
    std::vector<int> operands;  ///< of an operator
  };
  using Parts = std::vector<uint64_t>;  ///< a bit per part
  struct State {
    Parts parts;
    std::vector<int> rules;
  };

  int compile(const ir::Pattern& pattern);
  int value_part(const ir::Pattern& pattern);
  int op_part(const std::vector<const ir::OpDef*>& ops, Part part);
  int repeated_part(const ir::Pattern& pattern);
  int choice_part(const ir::Pattern& pattern);
  std::vector<int> compile_operands(const ir::Pattern& pattern);
  int choice_of(std::vector<int> choices);
  void collect_choices(const ir::Pattern& pattern, std::vector<int>* parts);
  void add_roots(const ir::Pattern& pattern, int rule);
  int intern(const std::vector<int>& key, bool* is_new);
  int number_of(const ir::OpDef* op);

  int step(const ir::Graph& graph, const ir::Node& node, const std::vector<int>& states);
  bool fits(const Part& part, const std::vector<int>& operands, size_t commuting) const;
  bool has(int state, int part) const;
  int close(Parts parts);

  std::vector<Part> parts_;
  std::map<std::vector<int>, int> part_of_;               ///< by what it is made of
  std::unordered_map<const ir::OpDef*, int> op_numbers_;  ///< operators that some pattern names
  std::vector<std::vector<int>> parts_of_op_;             ///< by the operator's number
  std::vector<int> values_[kLeaves];                      ///< parts that such a value fits
  std::vector<std::vector<int>> choices_with_;            ///< part -> parts that it is a choice of
  std::vector<std::vector<int>> rules_of_;                ///< part -> rules whose root it may be
  std::vector<State> states_;                             ///< the first kLeaves are those of leaves
  std::map<Parts, int> state_of_;
  std::map<std::vector<int>, int> steps_;  ///< operator and operands' states -> state
};

}  // namespace collage::match
