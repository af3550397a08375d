// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/pattern_skeleton.h"

#include <algorithm>

namespace collage::lint {
namespace {

using ir::Pattern;

class Sketcher {
 public:
  Sketcher(const ir::Rule& rule, const Choose& choose) : choose_(choose), by_capture_(rule.captures.size(), -1) {}

  std::optional<Sketch> run(const ir::Rule& rule) {
    std::vector<const Pattern*> patterns = {&rule.root};
    for (const Pattern& other : rule.others) patterns.push_back(&other);
    for (const Pattern* pattern : patterns) {
      int result = value_of(*pattern, {});
      if (failed_ || result < 0 || producer_of(find(result)) < 0) return std::nullopt;
    }
    return finish();
  }

 private:
  struct RawNode {
    const ir::OpDef* op;
    std::vector<int> inputs;
    int output;
  };
  struct RawValue {
    bool is_const = false;
    std::vector<int> captures;
    int same_as;
  };

  /// Returns the value of the pattern; -1 if the operand is left out.
  int value_of(const Pattern& pattern, std::vector<int> captures) {
    if (pattern.capture >= 0) captures.push_back(pattern.capture);
    switch (pattern.kind) {
      case Pattern::Kind::Value: {
        if (pattern.is_absent) return -1;
        if (pattern.may_be_absent && choose_(2) == 1) return -1;
        int value = add_value(pattern.is_const);
        name(value, captures);
        return value;
      }
      case Pattern::Kind::Op: {
        if (!pattern.results.empty()) break;
        int value = add_value(false);
        name(value, captures);
        RawNode node{pattern.ops.at(choose_(pattern.ops.size())), {}, value};
        for (const Pattern& operand : pattern.operands) node.inputs.push_back(value_of(operand, {}));
        while (pattern.takes_rest && static_cast<int>(node.inputs.size()) < node.op->min_inputs)
          node.inputs.push_back(add_value(false));
        while (!node.inputs.empty() && node.inputs.back() < 0) node.inputs.pop_back();
        nodes_.push_back(std::move(node));
        return value;
      }
      case Pattern::Kind::Optional:
      case Pattern::Kind::Alternatives: return value_of(pattern.choices.at(choose_(pattern.choices.size())), captures);
      case Pattern::Kind::Repeat:
      case Pattern::Kind::Via: return row_of(pattern, captures);
      default: break;
    }
    failed_ = true;
    return -1;
  }

  /// Builds a short row of operators, each read by the next.
  int row_of(const Pattern& pattern, const std::vector<int>& captures) {
    constexpr int kMore = 2;
    auto spread = static_cast<size_t>(std::clamp(pattern.at_most - pattern.at_least, 0, kMore)) + 1;
    int count = pattern.at_least + static_cast<int>(choose_(spread));
    if (pattern.operands.empty() || pattern.ops.empty()) {
      failed_ = true;
      return -1;
    }
    int value = value_of(pattern.operands[0], count == 0 ? captures : std::vector<int>());
    for (int i = 0; i < count; ++i) {
      RawNode node{pattern.ops[choose_(pattern.ops.size())], {value}, add_value(false)};
      for (size_t k = 1; k < pattern.operands.size(); ++k) node.inputs.push_back(value_of(pattern.operands[k], {}));
      while (static_cast<int>(node.inputs.size()) < node.op->min_inputs) node.inputs.push_back(add_value(false));
      while (!node.inputs.empty() && node.inputs.back() < 0) node.inputs.pop_back();
      value = node.output;
      nodes_.push_back(std::move(node));
    }
    if (count > 0) name(value, captures);
    return value;
  }

  int add_value(bool is_const) {
    values_.push_back({is_const, {}, static_cast<int>(values_.size())});
    return static_cast<int>(values_.size()) - 1;
  }

  /// Binds the captures to the value; a capture has one value.
  void name(int value, const std::vector<int>& captures) {
    for (int capture : captures) {
      int& bound = by_capture_.at(static_cast<size_t>(capture));
      if (bound >= 0) values_[static_cast<size_t>(find(value))].same_as = find(bound);
      bound = find(value);
    }
  }

  int find(int value) const {
    while (values_[static_cast<size_t>(value)].same_as != value) value = values_[static_cast<size_t>(value)].same_as;
    return value;
  }

  /// Index of the node that produces the value, or -1. Two nodes for one value are a contradiction.
  int producer_of(int value) {
    int producer = -1;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (find(nodes_[i].output) != value) continue;
      if (producer >= 0) failed_ = true;
      producer = static_cast<int>(i);
    }
    return producer;
  }

  std::optional<Sketch> finish() {
    Sketch sketch;
    std::vector<int> index(values_.size(), -1);
    for (size_t i = 0; i < values_.size(); ++i) {
      int root = find(static_cast<int>(i));
      int& at = index[static_cast<size_t>(root)];
      if (at < 0) {
        at = static_cast<int>(sketch.values.size());
        sketch.values.emplace_back();
      }
      Sketch::Value& value = sketch.values[static_cast<size_t>(at)];
      value.is_const = value.is_const || values_[i].is_const;
    }
    for (size_t i = 0; i < values_.size(); ++i) index[i] = index[static_cast<size_t>(find(static_cast<int>(i)))];
    for (size_t capture = 0; capture < by_capture_.size(); ++capture) {
      if (by_capture_[capture] < 0) continue;
      int value = index[static_cast<size_t>(by_capture_[capture])];
      sketch.values[static_cast<size_t>(value)].captures.push_back(static_cast<int>(capture));
    }
    std::vector<int> producers;
    for (size_t i = 0; i < values_.size(); ++i) {
      producers.push_back(find(static_cast<int>(i)) == static_cast<int>(i) ? producer_of(static_cast<int>(i)) : -1);
    }
    if (failed_) return std::nullopt;
    std::vector<bool> is_done(nodes_.size());
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t i = 0; i < nodes_.size(); ++i) {
        bool is_ready = !is_done[i] && std::all_of(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), [&](int input) {
          int producer = input < 0 ? -1 : producers[static_cast<size_t>(find(input))];
          return producer < 0 || is_done[static_cast<size_t>(producer)];
        });
        if (!is_ready) continue;
        is_done[i] = grows = true;
        Sketch::Node node{nodes_[i].op, {}, index[static_cast<size_t>(nodes_[i].output)]};
        for (int input : nodes_[i].inputs) node.inputs.push_back(input < 0 ? -1 : index[static_cast<size_t>(input)]);
        sketch.values[static_cast<size_t>(node.output)].node = static_cast<int>(sketch.nodes.size());
        sketch.nodes.push_back(std::move(node));
      }
    }
    bool has_cycle = sketch.nodes.size() != nodes_.size();
    bool demands_constant_result = std::any_of(sketch.values.begin(), sketch.values.end(),
                                               [](const Sketch::Value& v) { return v.is_const && v.node >= 0; });
    if (has_cycle || demands_constant_result) return std::nullopt;
    return sketch;
  }

  const Choose& choose_;
  std::vector<int> by_capture_;
  std::vector<RawValue> values_;
  std::vector<RawNode> nodes_;
  bool failed_ = false;
};

}  // namespace

std::optional<Sketch> sketch_pattern(const ir::Rule& rule, const Choose& choose) {
  return Sketcher(rule, choose).run(rule);
}

}  // namespace collage::lint
