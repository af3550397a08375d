// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/example_models.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <span>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/print.h"
#include "compiler/lint/logic/expr_text.h"
#include "compiler/lint/models/pattern_skeleton.h"
#include "compiler/sema/model/rule_test_model.h"

namespace collage::lint {
namespace {

using ir::Expr;
using ir::TensorType;
using runtime::AttrValue;
using runtime::DType;
using runtime::Ints;
using Kind = Expr::Kind;

constexpr int64_t kLargestSize = 4096;
/// Most elements of a constant, which is filled again in each try.
constexpr int64_t kMostElements = 1 << 14;

/// Pseudo-random numbers, the same on every machine.
class Sequence {
 public:
  explicit Sequence(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  size_t below(size_t count) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return count == 0 ? 0 : static_cast<size_t>(state_ >> 11) % count;
  }

 private:
  uint64_t state_;
};

/// Values that the conditions of a rule mention: a match is likely there.
struct Mentioned {
  std::vector<double> numbers;
  std::vector<DType> dtypes;
  std::vector<size_t> ranks;
  std::vector<ir::Shape> shapes;
  std::map<int64_t, std::vector<int64_t>> dims;  ///< by index: `dim(x, 1) % 12 == 0` => 1: {12, 24}
  std::vector<std::pair<std::pair<int, std::string>, AttrValue>> attributes;  ///< capture, attribute, value

  Mentioned(const ir::Backend& backend, const ir::Rule& rule) {
    for (const ir::AttrDecl& attr : backend.attrs) settings_[attr.name] = attr.fallback;
    for (const ir::Clause& clause : rule.clauses) collect(clause.condition);
    for (const ir::Kernel& kernel : rule.kernels) {
      for (const ir::Clause& clause : kernel.clauses) collect(clause.condition);
      if (kernel.cost) collect(*kernel.cost);
    }
  }

 private:
  std::optional<double> number_of(const Expr& expr) const { return constant_of(expr, settings_); }
  void collect(const Expr& expr) {
    if (auto number = number_of(expr)) numbers.push_back(*number);
    if (expr.kind == Kind::DType) dtypes.push_back(expr.dtype);
    if (expr.kind == Kind::Binary && expr.args.size() == 2) {
      note(expr.args[0], expr.args[1]);
      note(expr.args[1], expr.args[0]);
    }
    for (const Expr& arg : expr.args) collect(arg);
  }

  void note_dim(const Expr& term, const Expr& value) {
    auto index = term.args.size() == 2 ? number_of(term.args[1]) : std::nullopt;
    auto number = number_of(value);
    if (!index || !number || *number < 0 || *number > kLargestSize || *number != std::floor(*number)) return;
    auto size = static_cast<int64_t>(*number);
    for (int64_t near : {size, size + 1, 2 * size, size - 1}) {
      if (near >= 0) dims[static_cast<int64_t>(*index)].push_back(near);
    }
  }

  /// `c.group == 4`, `rank(x) in {3, 4}`
  void note(const Expr& term, const Expr& value) {
    const bool is_shape = is_call(term, ir::FunctionId::shape);
    const bool is_rank = is_shape || is_call(term, ir::FunctionId::rank);
    if (is_call(term, ir::FunctionId::dim)) note_dim(term, value);
    if (is_shape && value.kind == Kind::List) {
      ir::Shape shape;
      for (const Expr& item : value.args) shape.push_back(static_cast<int64_t>(number_of(item).value_or(8)));
      bool is_small = std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 0 && d <= kLargestSize; });
      if (is_small) shapes.push_back(std::move(shape));
      ranks.push_back(value.args.size());
    }
    auto number = number_of(value);
    if (is_rank && number && *number >= 0 && *number < 8) {
      for (double near : {*number, *number + 1, *number - 1}) {
        if (near >= 0) ranks.push_back(static_cast<size_t>(near));
      }
    }
    if (term.kind != Kind::Attribute) {
      if (is_rank && value.kind == Kind::List) {
        for (const Expr& item : value.args) note(term, item);
      }
      return;
    }
    std::pair<int, std::string> key{term.args.at(0).capture, term.text};
    if (value.kind == Kind::String) attributes.push_back({key, value.text});
    if (number && *number == std::floor(*number)) attributes.push_back({key, static_cast<int64_t>(*number)});
    if (number && *number != std::floor(*number)) attributes.push_back({key, *number});
    if (value.kind != Kind::List) return;
    if (term.type != ir::ExprType::Numbers) {
      for (const Expr& item : value.args) note(term, item);
      return;
    }
    Ints ints;
    for (const Expr& item : value.args) ints.push_back(static_cast<int64_t>(number_of(item).value_or(1)));
    attributes.push_back({key, ints});
  }

  Settings settings_;  ///< the defaults
};

void fill(const ir::Tensor& tensor, double value) {
  with_element_type(tensor.dtype(), [&]<typename T>(runtime::Type<T>) {
    std::span<T> elements = tensor.as<T>();
    std::fill(elements.begin(), elements.end(), static_cast<T>(value));
  });
}

/// Assigns types to the values of a sketch, operator by operator, and keeps those that the shape function accepts.
class ModelMaker {
 public:
  ModelMaker(const ir::Rule& rule, const Mentioned& mentioned, const Sketch& sketch, int attempt)
      : rule_(rule),
        mentioned_(mentioned),
        sketch_(sketch),
        attempt_(attempt),
        sequence_(static_cast<uint64_t>(attempt)) {
    choose_sizes();
  }

  std::optional<ir::Graph> run() {
    ids_.assign(sketch_.values.size(), ir::ValueId());
    for (const Sketch::Node& node : sketch_.nodes) {
      if (!add_node(node)) return std::nullopt;
    }
    for (ir::ValueId value : graph_.value_ids()) {
      const ir::Value& v = graph_.value(value);
      if (v.producer.is_valid() && v.uses.empty()) graph_.mark_output(value);
    }
    graph_.name = "witness";
    return std::move(graph_);
  }

 private:
  /// Chooses plain sizes in the first attempts, mixed ones later.
  void choose_sizes() {
    std::vector<DType> dtypes = mentioned_.dtypes;
    if (dtypes.empty()) dtypes.push_back(DType::F32);
    std::vector<size_t> ranks = mentioned_.ranks;
    for (size_t rank : {4, 2, 3, 1}) ranks.push_back(rank);
    auto at = static_cast<size_t>(attempt_);
    dtype_ = dtypes[at < 4 ? 0 : sequence_.below(dtypes.size())];
    rank_ = at < ranks.size() ? ranks[at] : ranks[sequence_.below(ranks.size())];
    sizes_ = {8, 1, 2, 3, 4, 16, 7, 32};
    for (double number : mentioned_.numbers) {
      for (double near : {number, number + 1, number - 1}) {
        if (near >= 0 && near <= static_cast<double>(kLargestSize) && near == std::floor(near))
          sizes_.push_back(static_cast<int64_t>(near));
      }
    }
    is_plain_ = at < ranks.size();
  }

  int64_t size() { return is_plain_ ? 8 : sizes_[sequence_.below(sizes_.size())]; }

  /// Size of dimension `i` of the operand to which all others are fitted.
  int64_t size_at(size_t i) {
    for (int64_t index : {static_cast<int64_t>(i), static_cast<int64_t>(i) - static_cast<int64_t>(rank_)}) {
      auto known = mentioned_.dims.find(index);
      if (known == mentioned_.dims.end()) continue;
      if (is_plain_) return known->second[0];
      if (sequence_.below(4) != 0) return known->second[sequence_.below(known->second.size())];
    }
    return i == 0 && is_plain_ ? 1 : size();
  }

  bool add_node(const Sketch::Node& node) {
    constexpr int kMostTrials = 400;
    std::vector<int> open;
    for (int input : node.inputs) {
      bool is_new = input >= 0 && !ids_[static_cast<size_t>(input)].is_valid();
      if (is_new && std::find(open.begin(), open.end(), input) == open.end()) open.push_back(input);
    }
    TensorType anchor{dtype_, {}};
    for (size_t i = 0; i < rank_; ++i) anchor.shape.push_back(size_at(i));
    if (!mentioned_.shapes.empty() && attempt_ % 2 == 0) {
      anchor.shape = mentioned_.shapes[sequence_.below(mentioned_.shapes.size())];
    }
    for (int input : node.inputs) {
      if (input < 0 || !ids_[static_cast<size_t>(input)].is_valid()) continue;
      anchor = graph_.value(ids_[static_cast<size_t>(input)]).type;
      break;
    }
    runtime::AttrMap attrs = attributes(node, anchor.shape.size());
    bool is_contraction = node.op->kind == ir::FusionKind::OutFusable;
    bool needs_anchor = !node.inputs.empty() && !open.empty() && node.inputs[0] == open[0];
    std::vector<std::vector<TensorType>> types;
    for (int value : open) {
      bool is_first = needs_anchor && value == open[0];
      types.push_back(is_first ? std::vector<TensorType>{anchor}
                               : operand_types(anchor, attrs.get_int("group", 1), is_contraction));
    }
    std::vector<size_t> pick(open.size());
    for (int trial = 0; trial < kMostTrials; ++trial) {
      if (try_node(node, open, types, pick, attrs)) return true;
      size_t at = pick.size();
      while (at > 0 && ++pick[at - 1] == types[at - 1].size()) pick[--at] = 0;
      if (at == 0) return false;
    }
    return false;
  }

  /// Types that operands beside one of type `anchor` usually have.
  std::vector<TensorType> operand_types(const TensorType& anchor, int64_t group, bool is_contraction) {
    const ir::Shape& shape = anchor.shape;
    std::vector<TensorType> types;
    if (!is_contraction) types.push_back(anchor);
    auto add = [&](ir::Shape wanted) { types.push_back({anchor.dtype, std::move(wanted)}); };
    if (shape.size() > 2 && group > 0) {
      for (int64_t kernel : {1, 3}) {
        ir::Shape weights = {shape[1], shape[1] / group};
        weights.resize(shape.size(), kernel);
        add(weights);
      }
    }
    if (shape.size() >= 2) add({shape.back(), size()});
    if (shape.size() >= 2) add({shape[1]});
    if (!shape.empty()) add({shape.back()});
    if (shape.size() > 2) {
      ir::Shape channels(shape.size() - 1, 1);
      channels[0] = shape[1];
      add(channels);
    }
    add({});
    add({1});
    types.push_back({DType::I64, {1}});
    types.push_back({DType::I64, {static_cast<int64_t>(shape.size())}});
    types.push_back({DType::I64, {}});
    if (is_contraction) types.push_back(anchor);
    if (!is_plain_)
      std::rotate(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(sequence_.below(3)), types.end());
    return types;
  }

  runtime::AttrMap attributes(const Sketch::Node& node, size_t rank) {
    runtime::AttrMap attrs;
    size_t spatial = rank > 2 ? rank - 2 : 1;
    for (const ir::AttrDef& def : node.op->attrs) {
      if (!def.is_required()) continue;
      std::string name(def.name);
      switch (def.kind) {
        case ir::AttrKind::Int: attrs.set(name, int64_t{1}); break;
        case ir::AttrKind::Float: attrs.set(name, 1.0); break;
        case ir::AttrKind::String: attrs.set(name, std::string()); break;
        case ir::AttrKind::Ints: attrs.set(name, Ints(name == "kernel_shape" ? spatial : 1, 1)); break;
        default: break;
      }
    }
    const std::vector<int>& captures = sketch_.values[static_cast<size_t>(node.output)].captures;
    for (const auto& [key, value] : mentioned_.attributes) {
      bool is_own = std::find(captures.begin(), captures.end(), key.first) != captures.end();
      const ir::AttrDef* def = is_own ? node.op->find_attr(key.second) : nullptr;
      bool fits_kind = def != nullptr;
      if (const Ints* ints = std::get_if<Ints>(&value))
        fits_kind = fits_kind && (ints->size() == spatial || attempt_ % 4 == 3);
      if (fits_kind && attempt_ % 2 == 1 && sequence_.below(2) == 0) attrs.set(key.second, value);
    }
    return attrs;
  }

  bool try_node(const Sketch::Node& node, const std::vector<int>& open,
                const std::vector<std::vector<TensorType>>& types, const std::vector<size_t>& pick,
                const runtime::AttrMap& attrs) {
    support::SourceManager sources;
    support::Diagnostics ignored(sources);
    for (size_t i = 0; i < open.size(); ++i) {
      if (is_constant(open[i], types[i][pick[i]]) && runtime::element_count(types[i][pick[i]].shape) > kMostElements)
        return false;
    }
    ir::Graph trial = graph_;
    std::vector<ir::ValueId> ids = ids_;
    for (size_t i = 0; i < open.size(); ++i)
      ids[static_cast<size_t>(open[i])] = add_leaf(trial, open[i], types[i][pick[i]]);
    std::vector<ir::ValueId> inputs;
    for (int input : node.inputs) inputs.push_back(input < 0 ? ir::ValueId() : ids[static_cast<size_t>(input)]);
    std::vector<std::string> names = {trial.unique_name(name_of(node.output, *node.op))};
    for (int i = 1; i < node.op->min_outputs; ++i) names.push_back(trial.unique_name(names[0]));
    ir::NodeId id = ir::append_inferred(trial, *node.op, inputs, attrs, names, {{}, {}, {}, "witness"}, ignored);
    if (!id.is_valid()) return false;
    graph_ = std::move(trial);
    ids_ = std::move(ids);
    ids_[static_cast<size_t>(node.output)] = graph_.first_output(id);
    return true;
  }

  bool is_constant(int value, const TensorType& type) const {
    return sketch_.values[static_cast<size_t>(value)].is_const || type.dtype == DType::I64;
  }

  ir::ValueId add_leaf(ir::Graph& graph, int value, const TensorType& type) {
    std::string name = graph.unique_name(name_of(value, {}));
    if (!is_constant(value, type)) return graph.add_input(name, type);
    ir::Constant constant;
    constant.form = ir::Constant::Form::Splat;
    constant.splat = type.dtype == DType::I64 || mentioned_.numbers.empty() || is_plain_
                         ? 1
                         : mentioned_.numbers[sequence_.below(mentioned_.numbers.size())];
    if (!std::isfinite(constant.splat) || std::abs(constant.splat) > 100) constant.splat = 1;
    if (!runtime::is_float(type.dtype)) constant.splat = std::floor(constant.splat);
    constant.data = ir::Tensor(type.dtype, type.shape);
    fill(constant.data, constant.splat);
    return graph.add_constant(name, std::move(constant));
  }

  std::string name_of(int value, const ir::OpDef& op) const {
    const std::vector<int>& captures = sketch_.values[static_cast<size_t>(value)].captures;
    if (!captures.empty()) return rule_.captures[static_cast<size_t>(captures[0])].name;
    if (op.name.empty()) return "v";
    std::string name(op.name.substr(0, 1));
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    return name;
  }

  const ir::Rule& rule_;
  const Mentioned& mentioned_;
  const Sketch& sketch_;
  int attempt_;
  Sequence sequence_;
  DType dtype_ = DType::F32;
  size_t rank_ = 4;
  std::vector<int64_t> sizes_;
  bool is_plain_ = true;
  ir::Graph graph_;
  std::vector<ir::ValueId> ids_;
};

bool matches(const ir::Graph& graph, const ir::Backend& backend, int rule) {
  match::MatchReport report;
  return !match::match_rule(graph, backend, rule, {}, &report).empty();
}

}  // namespace

bool search_models(const ir::Backend& backend, int index, int tries,
                   const std::function<bool(const ir::Graph&)>& look) {
  const ir::Rule& rule = backend.rules[static_cast<size_t>(index)];
  Mentioned mentioned(backend, rule);
  constexpr int kAttemptsPerSketch = 8;
  for (int made = 0; made < tries; ++made) {
    int which = made / kAttemptsPerSketch;
    Sequence sequence(static_cast<uint64_t>(which) + 77);
    // First all first choices, then mixtures.
    std::optional<Sketch> sketch =
        sketch_pattern(rule, [&](size_t count) { return which == 0 ? 0 : sequence.below(count); });
    if (!sketch) continue;
    // Attempts with one sketch differ in sizes; each further sketch continues with the next sizes.
    int attempt = which < 4 ? made % kAttemptsPerSketch + which : made;
    std::optional<ir::Graph> graph = ModelMaker(rule, mentioned, *sketch, attempt).run();
    if (graph && look(*graph)) return true;
  }
  return false;
}

std::optional<ir::Graph> graph_of_test(const ir::RuleTest& test) {
  support::SourceManager sources;
  support::Diagnostics ignored(sources);
  std::optional<ir::Graph> graph = sema::build_test_model(sources, "rule", test, ignored);
  if (graph) graph->name = "witness";
  return graph;
}

std::vector<ir::Graph> witnesses_of(const ir::Backend& backend, int rule, size_t made) {
  constexpr int kTries = 96;
  std::vector<ir::Graph> graphs;
  for (const ir::RuleTest& test : backend.rules[static_cast<size_t>(rule)].tests) {
    if (!test.expects_match) continue;
    auto graph = graph_of_test(test);
    if (graph && matches(*graph, backend, rule)) graphs.push_back(std::move(*graph));
  }
  if (made == 0) return graphs;
  size_t wanted = graphs.size() + made;
  search_models(backend, rule, kTries, [&](const ir::Graph& graph) {
    if (matches(graph, backend, rule)) graphs.push_back(graph);
    return graphs.size() == wanted;
  });
  return graphs;
}

std::string text_of(const ir::Graph& graph) {
  std::string text = ir::print(graph);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace collage::lint
