// SPDX-License-Identifier: Apache-2.0
// Each pass on graphs built here: what it changes, what it must leave alone, and that the model computes the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/passes/einsum_order.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Graph;
using ir::NodeId;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;

class PassesTest : public ::testing::Test {
 protected:
  PassesTest() : diags_(sources_), context_{diags_} {}

  ValueId input(const std::string& name, const Shape& shape) { return graph_.add_input(name, {DType::F32, shape}); }

  /// Elements that differ, all positive.
  ValueId weights(const std::string& name, const Shape& shape) {
    Tensor tensor(DType::F32, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      tensor.as<float>()[static_cast<size_t>(i)] = 0.25f + static_cast<float>((i * 7 + seed_ * 3) % 11) / 8;
    }
    ++seed_;
    return graph_.add_constant(name, ir::make_constant(tensor));
  }
  ValueId ints(const std::string& name, const std::vector<int64_t>& values) {
    Tensor tensor(DType::I64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.as<int64_t>().begin());
    return graph_.add_constant(name, ir::make_constant(tensor));
  }
  ValueId node(const std::string& op, const std::vector<ValueId>& inputs, const std::string& name, AttrMap attrs = {}) {
    ir::NodeSource source;
    source.where = name;
    NodeId id = ir::append_inferred(graph_, *ir::find_op(op), inputs, std::move(attrs), {name}, source, diags_);
    EXPECT_TRUE(id.is_valid()) << diags_.render();
    return graph_.first_output(id);
  }
  void pin(ValueId result) {
    ir::Pin where;
    where.device = "npu";
    graph_.node(graph_.value(result).producer).pin = where;
  }

  std::vector<Tensor> run() {
    std::vector<Tensor> inputs;
    for (ValueId id : graph_.inputs()) {
      Tensor tensor(DType::F32, graph_.value(id).type.shape);
      for (int64_t i = 0; i < tensor.count(); ++i) {
        tensor.as<float>()[static_cast<size_t>(i)] = static_cast<float>((i * 5) % 13) / 4 - 1;
      }
      inputs.push_back(tensor);
    }
    auto outputs = ir::evaluate_graph(graph_, inputs);
    EXPECT_TRUE(outputs.is_ok());
    return outputs ? *outputs : std::vector<Tensor>();
  }

  /// Runs a pass; outputs, their names and their values stay. Returns whether it changed something.
  bool apply(PassFunction pass, double tolerance = 0) {
    std::vector<Tensor> before = run();
    std::vector<std::string> names;
    for (ValueId id : graph_.outputs()) names.push_back(graph_.value(id).name);
    bool changed = pass(graph_, context_);
    ir::verify(graph_);
    std::vector<Tensor> after = run();
    EXPECT_EQ(graph_.outputs().size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(graph_.value(graph_.outputs()[i]).name, names[i]);
      for (int64_t k = 0; k < before[i].count(); ++k) {
        double a = element_as_double(before[i].view(), k), b = element_as_double(after[i].view(), k);
        EXPECT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(a))) << names[i] << " " << k;
      }
    }
    EXPECT_FALSE(pass(graph_, context_)) << "a second run has nothing to do";
    return changed;
  }
  size_t count(std::string_view op) const {
    size_t found = 0;
    for (NodeId id : graph_.node_ids()) found += graph_.node(id).op->name == op ? 1 : 0;
    return found;
  }

  support::SourceManager sources_;
  support::Diagnostics diags_;
  PassContext context_;
  Graph graph_;
  int seed_ = 0;
};

TEST(Passes, FormsAreOfOperators) {
  EXPECT_FALSE(all_forms().empty());
  for (const Form& form : all_forms()) {
    EXPECT_NE(find_pass(form.pass), nullptr) << form.pass;
    EXPECT_TRUE(form.makes.empty() || ir::find_op(form.makes) != nullptr) << form.makes;
    EXPECT_FALSE(form.takes.empty()) << form.pass;
    for (std::string_view op : form.takes) EXPECT_NE(ir::find_op(op), nullptr) << op;
  }
}

TEST_F(PassesTest, FoldsChainsOfConstants) {
  ValueId x = input("x", {2, 3});
  ValueId w = node("Neg", {weights("w", {3})}, "nw");
  ValueId w2 = node("Exp", {w}, "ew");
  graph_.mark_output(node("Mul", {x, w2}, "y"));
  EXPECT_TRUE(apply(fold_constants));
  EXPECT_EQ(graph_.node_count(), 1u);
  EXPECT_TRUE(graph_.value(graph_.find_value("ew")).is_constant());
  EXPECT_FALSE(graph_.find_value("w").is_valid());
}

TEST_F(PassesTest, FoldsShapesOfValuesThatAreNotConstant) {
  ValueId x = input("x", {2, 3});
  ValueId shape = node("Shape", {x}, "s");
  AttrMap to_f32;
  to_f32.set("to", int64_t{1});
  graph_.mark_output(node("Cast", {shape}, "y", to_f32));
  EXPECT_TRUE(apply(fold_constants));
  EXPECT_EQ(graph_.node_count(), 1u);  // the output stays the result of a node
}

TEST_F(PassesTest, DoesNotFoldWhatGrowsTheModelOrIsPinned) {
  ValueId one = weights("one", {1});
  ValueId big = node("Expand", {one, ints("shape", {1 << 20})}, "big");
  ValueId pinned = node("Neg", {one}, "pinned");
  pin(pinned);
  ValueId x = input("x", {1});
  graph_.mark_output(node("Add", {x, pinned}, "y"));
  graph_.mark_output(node("ReduceMean", {node("Mul", {x, big}, "m")}, "z"));
  EXPECT_FALSE(apply(fold_constants));
}

TEST_F(PassesTest, RemovesWhatNobodyReads) {
  ValueId x = input("x", {2});
  node("Exp", {node("Neg", {x}, "dead1")}, "dead2");
  weights("unused", {2});
  graph_.mark_output(node("Relu", {x}, "y"));
  EXPECT_TRUE(apply(eliminate_dead));
  EXPECT_EQ(graph_.node_count(), 1u);
  EXPECT_FALSE(graph_.find_value("unused").is_valid());
}

TEST_F(PassesTest, KeepsPinnedNodesEvenIfDead) {
  ValueId x = input("x", {2});
  ValueId dead = node("Exp", {node("Neg", {x}, "needed")}, "dead");
  pin(dead);
  ValueId copy = node("Identity", {x}, "copy");
  pin(copy);
  graph_.mark_output(node("Relu", {copy}, "y"));
  EXPECT_FALSE(apply(eliminate_dead));
  EXPECT_EQ(graph_.node_count(), 4u);
}

TEST_F(PassesTest, RemovesCopiesAndKeepsOutputNames) {
  ValueId x = input("x", {2});
  ValueId a = node("Identity", {node("Dropout", {x}, "d")}, "i");
  ValueId relu = node("Relu", {a}, "r");
  graph_.mark_output(node("Identity", {node("Identity", {relu}, "chain")}, "y"));
  EXPECT_TRUE(apply(eliminate_dead));
  EXPECT_EQ(graph_.node_count(), 1u);
  EXPECT_EQ(graph_.node_name(NodeId(0)), "y");
}

TEST_F(PassesTest, CopiesThatOutputsNeedStay) {
  ValueId x = input("x", {2});
  ValueId relu = node("Relu", {x}, "r");
  graph_.mark_output(node("Identity", {relu}, "y1"));  // takes the place of %r
  graph_.mark_output(node("Identity", {relu}, "y2"));  // cannot as well
  graph_.mark_output(node("Identity", {x}, "y3"));     // an input has no node
  graph_.mark_output(node("Identity", {weights("c", {2})}, "y4"));
  EXPECT_TRUE(apply(eliminate_dead));
  EXPECT_EQ(graph_.node_count(), 4u);
  EXPECT_EQ(count("Identity"), 3u);
}

TEST_F(PassesTest, AnOutputThatOthersReadKeepsItsName) {
  ValueId x = input("x", {2});
  ValueId relu = node("Relu", {x}, "r");
  graph_.mark_output(relu);
  graph_.mark_output(node("Identity", {relu}, "y"));
  EXPECT_FALSE(apply(eliminate_dead));
  EXPECT_EQ(graph_.node_count(), 2u);
}

// fold_batch_norm: Conv with and without bias, groups, ConvTranspose (whose weights lie the other way), Gemm.

class FoldBatchNormTest : public PassesTest {
 protected:
  ValueId norm(ValueId x, int64_t channels, const std::string& name) {
    return node("BatchNormalization",
                {x, weights(name + ".scale", {channels}), weights(name + ".bias", {channels}),
                 weights(name + ".mean", {channels}), weights(name + ".var", {channels})},
                name);
  }
  void expect_merged() {
    EXPECT_TRUE(apply(fold_batch_norm, 1e-5));
    EXPECT_EQ(count("BatchNormalization"), 0u);
  }
};

TEST_F(FoldBatchNormTest, Conv) {
  ValueId x = input("x", {1, 4, 5, 5});
  ValueId plain = norm(node("Conv", {x, weights("w", {6, 4, 3, 3})}, "c1"), 6, "n1");
  AttrMap grouped;
  grouped.set("group", int64_t{2});
  graph_.mark_output(norm(node("Conv", {plain, weights("v", {4, 3, 1, 1}), weights("b", {4})}, "c2", grouped), 4, "y"));
  expect_merged();
  EXPECT_EQ(graph_.node_count(), 2u);
  EXPECT_EQ(graph_.node(NodeId(0)).inputs.size(), 3u);
}

TEST_F(FoldBatchNormTest, ConvTransposeWithGroups) {
  AttrMap attrs;
  attrs.set("group", int64_t{2});
  ValueId x = input("x", {1, 4, 3, 3});
  graph_.mark_output(
      norm(node("ConvTranspose", {x, weights("w", {4, 3, 2, 2}), weights("b", {6})}, "c", attrs), 6, "y"));
  expect_merged();
}

TEST_F(FoldBatchNormTest, GemmInBothOrders) {
  ValueId x = input("x", {2, 3});
  AttrMap scaled;
  scaled.set("alpha", 0.5);
  scaled.set("beta", 2.0);
  ValueId first = norm(node("Gemm", {x, weights("w", {3, 4}), weights("b", {4})}, "g1", scaled), 4, "n");
  AttrMap transposed;
  transposed.set("transB", int64_t{1});
  graph_.mark_output(norm(node("Gemm", {first, weights("v", {5, 4}), weights("c", {1})}, "g2", transposed), 5, "y"));
  expect_merged();
}

TEST_F(FoldBatchNormTest, LeavesAloneWhatOthersReadOrUsersPinned) {
  ValueId x = input("x", {1, 2, 3, 3});
  ValueId read_twice = node("Conv", {x, weights("w1", {2, 2, 1, 1})}, "c1");
  graph_.mark_output(node("Add", {norm(read_twice, 2, "n1"), read_twice}, "y1"));
  ValueId is_output = node("Conv", {x, weights("w2", {2, 2, 1, 1})}, "c2");
  graph_.mark_output(is_output);
  graph_.mark_output(norm(is_output, 2, "y2"));
  ValueId pinned = node("Conv", {x, weights("w3", {2, 2, 1, 1})}, "c3");
  pin(pinned);
  graph_.mark_output(norm(pinned, 2, "y3"));
  ValueId given = input("given", {2, 2, 1, 1});
  graph_.mark_output(norm(node("Conv", {x, given}, "c4"), 2, "y4"));
  EXPECT_FALSE(apply(fold_batch_norm));
  EXPECT_EQ(count("BatchNormalization"), 4u);
}

class ExpandEinsumTest : public PassesTest {
 protected:
  /// One Einsum; its operands are inputs.
  void build(const std::string& equation, const std::vector<Shape>& shapes, DType dtype = DType::F32) {
    graph_ = Graph();
    std::vector<ValueId> operands;
    for (const Shape& shape : shapes) {
      operands.push_back(graph_.add_input("x" + std::to_string(operands.size()), {dtype, shape}));
    }
    AttrMap attrs;
    attrs.set("equation", equation);
    graph_.mark_output(node("Einsum", operands, "y", attrs));
  }
};

TEST_F(ExpandEinsumTest, ComputesTheSame) {
  const std::vector<std::pair<std::string, std::vector<Shape>>> cases = {
      {"ij,jk->ik", {{3, 4}, {4, 5}}},
      {"ij,kj->ik", {{3, 4}, {5, 4}}},
      {"ij,jk->ki", {{3, 4}, {4, 5}}},
      {"bihd,bjhd->bhij", {{2, 3, 4, 5}, {2, 6, 4, 5}}},
      {"bhij,bjhd->bihd", {{2, 4, 3, 6}, {2, 6, 4, 5}}},
      {"bhij,bjhd->dhib", {{2, 4, 3, 6}, {2, 6, 4, 5}}},
      {"bnd,dhk->bhnk", {{2, 3, 4}, {4, 5, 6}}},
      {"abcd,cdef->feba", {{2, 3, 4, 5}, {4, 5, 3, 2}}},
      {"i,i->", {{7}, {7}}},
      {"i,j->ij", {{3}, {4}}},
      {"i,j->ji", {{3}, {4}}},
      {"ij,j->i", {{3, 4}, {4}}},
      {"j,ij", {{4}, {3, 4}}},
      {"ij->ji", {{3, 4}}},
      {"ij->i", {{3, 4}}},
      {"ij->", {{3, 4}}},
      {"ij->ij", {{3, 4}}},
      {"ijk->ki", {{3, 4, 5}}},
      {"ij,kl->ik", {{3, 4}, {5, 6}}},
      {"ij,kl->", {{3, 4}, {5, 6}}},
      {"ij,ij->ij", {{3, 4}, {3, 4}}},
      {"ij,ji->ij", {{3, 4}, {4, 3}}},
      {"bi,bi->b", {{3, 4}, {3, 4}}},
      {"bi,b->bi", {{3, 4}, {3}}},
      {"...ij,...jk->...ik", {{2, 3, 4, 5}, {5, 6}}},
      {"...ij,...jk->...ik", {{1, 3, 4, 5}, {2, 1, 5, 6}}},
      {"...i,...i", {{2, 3, 4}, {3, 4}}},
      {"bi,ij,bj->b", {{2, 3}, {3, 4}, {2, 4}}},
      {"ab,bc,cd,de->ea", {{2, 3}, {3, 4}, {4, 5}, {5, 2}}},
      {"ij,jk->ik", {{3, 1}, {4, 5}}},
      {"ij,jk->ik", {{1, 1}, {1, 1}}},
      {"i,i->i", {{1}, {5}}},
      {"i->", {{1}}},
  };
  for (const auto& [equation, shapes] : cases) {
    SCOPED_TRACE(equation);
    build(equation, shapes);
    EXPECT_TRUE(apply(expand_einsum, 1e-5));
    EXPECT_EQ(count("Einsum"), 0u);
  }
}

TEST_F(ExpandEinsumTest, RandomEquations) {
  std::mt19937 random(7);
  auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> extents;
    for (int label = 0; label < 6; ++label) extents.push_back(pick(1, 4));
    std::string equation, seen;
    std::vector<Shape> shapes;
    const int operands = pick(1, 3);
    for (int k = 0; k < operands; ++k) {
      std::string labels = "abcdef";
      std::shuffle(labels.begin(), labels.end(), random);
      labels.resize(static_cast<size_t>(pick(1, 4)));
      Shape shape;
      for (char label : labels) {
        if (seen.find(label) == std::string::npos) seen += label;
        shape.push_back(pick(0, 5) == 0 ? 1 : extents[static_cast<size_t>(label - 'a')]);
      }
      equation += (k == 0 ? "" : ",") + labels;
      shapes.push_back(shape);
    }
    std::shuffle(seen.begin(), seen.end(), random);
    seen.resize(static_cast<size_t>(pick(0, static_cast<int>(seen.size()))));
    equation += "->" + seen;
    SCOPED_TRACE(equation);
    build(equation, shapes);
    EXPECT_TRUE(apply(expand_einsum, 1e-5));
    EXPECT_EQ(count("Einsum"), 0u);
  }
}

TEST_F(ExpandEinsumTest, OneProductIsOneMatMul) {
  build("bihd,bjhd->bhij", {{2, 3, 4, 5}, {2, 6, 4, 5}});
  EXPECT_TRUE(apply(expand_einsum, 1e-5));
  EXPECT_EQ(count("MatMul"), 1u);
  EXPECT_EQ(count("Transpose"), 2u);
  EXPECT_EQ(graph_.node_count(), 3u);
}

// Nothing is larger than the largest of operands and result, wherever some order achieves that.
TEST_F(ExpandEinsumTest, OuterProductsAreAvoided) {
  const std::vector<std::pair<std::string, std::vector<Shape>>> cases = {
      {"a,b,ab->", {{30}, {40}, {30, 40}}},
      {"a,b,ab->a", {{30}, {40}, {30, 40}}},
      {"ab,cd,bc->ad", {{30, 2}, {3, 40}, {2, 3}}},
      {"i,j,k,ij,jk->", {{20}, {30}, {20}, {20, 30}, {30, 20}}},
      {"ab,bc,cd->ad", {{2, 50}, {50, 60}, {60, 3}}},
      {"ab,cd,ef,bc,de->af", {{9, 8}, {7, 9}, {8, 9}, {8, 7}, {9, 8}}},
      {"a,b,c,d,e,f,ab,cd,ef->", {{4}, {5}, {4}, {5}, {4}, {5}, {4, 5}, {4, 5}, {4, 5}}},
  };
  for (const auto& [equation, shapes] : cases) {
    SCOPED_TRACE(equation);
    build(equation, shapes);
    int64_t most = runtime::element_count(graph_.value(graph_.outputs()[0]).type.shape);
    for (const Shape& shape : shapes) most = std::max(most, runtime::element_count(shape));
    EXPECT_TRUE(apply(expand_einsum, 1e-4));
    EXPECT_EQ(count("Einsum"), 0u);
    for (ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      EXPECT_LE(runtime::element_count(value.type.shape), most) << "%" << value.name;
    }
  }
}

// Where all orders have large intermediate results, the largest one is as small as any order has it.
TEST(EinsumOrderTest, IsTheBestOfAll) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  constexpr int kLabels = 6;
  using Terms = std::vector<std::set<int>>;
  for (int round = 0; round < 100; ++round) {
    std::vector<int64_t> extents;
    for (int i = 0; i < kLabels; ++i) extents.push_back(pick(1, 9));
    Terms operands;
    std::vector<std::vector<int>> lists;
    double harmless = 1;
    const auto size = [&](const std::set<int>& labels) {
      double elements = 1;
      for (int label : labels) elements *= static_cast<double>(extents[static_cast<size_t>(label)]);
      return elements;
    };
    for (int k = pick(2, 5); k > 0; --k) {
      std::set<int> labels;
      for (int n = pick(1, 3); n > 0; --n) labels.insert(pick(0, kLabels - 1));
      operands.push_back(labels);
      lists.emplace_back(labels.begin(), labels.end());
      harmless = std::max(harmless, size(labels));
    }
    std::set<int> result;
    for (const std::set<int>& labels : operands) {
      for (int label : labels) {
        if (pick(0, 2) == 0) result.insert(label);
      }
    }
    harmless = std::max(harmless, size(result));
    struct Cost {
      double peak, products;
      auto operator<=>(const Cost&) const = default;
    };
    // Multiplies two terms; returns what that costs.
    const auto multiply = [&](Terms& terms, size_t a, size_t b) {
      std::set<int> all = terms[a];
      all.insert(terms[b].begin(), terms[b].end());
      std::set<int> kept;
      for (int label : all) {
        bool is_needed = result.contains(label);
        for (size_t k = 0; k < terms.size(); ++k)
          is_needed = is_needed || (k != a && k != b && terms[k].contains(label));
        if (is_needed) kept.insert(label);
      }
      terms[a] = kept;
      terms[b].clear();
      return Cost{std::max(size(kept), harmless), size(all)};
    };
    // Labels that only one operand has are summed before.
    const auto summed = [&](Terms terms) {
      for (std::set<int>& own : terms) {
        std::erase_if(own, [&](int label) {
          return !result.contains(label) && std::count_if(operands.begin(), operands.end(), [&](const auto& other) {
                                              return other.contains(label);
                                            }) == 1;
        });
      }
      return terms;
    };
    const std::function<Cost(const Terms&, const std::vector<size_t>&)> least = [&](const Terms& terms,
                                                                                    const std::vector<size_t>& open) {
      Cost best{0, 0};
      for (size_t i = 0; i < open.size(); ++i) {
        for (size_t j = i + 1; j < open.size(); ++j) {
          Terms next = terms;
          const Cost own = multiply(next, open[i], open[j]);
          std::vector<size_t> left = open;
          left.erase(left.begin() + static_cast<std::ptrdiff_t>(j));
          const Cost rest = least(next, left);
          const Cost whole{std::max(own.peak, rest.peak), own.products + rest.products};
          if ((i == 0 && j == 1) || whole < best) best = whole;
        }
      }
      return best;
    };
    std::vector<size_t> open(operands.size());
    std::iota(open.begin(), open.end(), size_t{0});
    const Cost best = least(summed(operands), open);
    Terms terms = summed(operands);
    Cost chosen{0, 0};
    for (const auto& [a, b] : einsum_order(lists, {result.begin(), result.end()}, extents)) {
      terms.push_back({});
      std::swap(terms[a], terms.back());
      const Cost own = multiply(terms, terms.size() - 1, b);
      chosen = {std::max(chosen.peak, own.peak), chosen.products + own.products};
    }
    EXPECT_EQ(chosen.peak, best.peak) << round;
    EXPECT_EQ(chosen.products, best.products) << round;
  }
}

TEST_F(ExpandEinsumTest, LeavesAloneDiagonalsOtherTypesEmptyTensorsAndPins) {
  build("ii->i", {{3, 3}});
  EXPECT_FALSE(apply(expand_einsum));
  build("ij,jk->ik", {{3, 0}, {0, 4}});
  EXPECT_FALSE(apply(expand_einsum));
  build("ij,jk->ik", {{3, 2}, {2, 4}});
  pin(graph_.outputs()[0]);
  EXPECT_FALSE(apply(expand_einsum));
  build("ij,jk->ik", {{3, 2}, {2, 4}}, DType::I32);
  EXPECT_FALSE(expand_einsum(graph_, context_));
}

TEST_F(PassesTest, ManagerRunsPrintsAndDisables) {
  ValueId x = input("x", {2});
  node("Neg", {x}, "dead");
  graph_.mark_output(node("Relu", {x}, "y"));
  std::string printed;
  PassOptions options;
  options.print = [&printed](std::string_view text) { printed += text; };
  options.print_after = {"eliminate-dead"};
  options.disabled = {"fold_batch_norm"};
  auto reports = run_passes(graph_, all_passes(), options, diags_);
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), all_passes().size() - 1);
  for (const PassReport& report : *reports) EXPECT_EQ(report.changed, report.name == "eliminate_dead") << report.name;
  EXPECT_EQ(printed, "// after eliminate_dead\n" + ir::print(graph_));
  EXPECT_NE(to_string(*reports).find("eliminate_dead"), std::string::npos);

  options.disabled = {"fold_batch_nrm"};
  EXPECT_FALSE(run_passes(graph_, all_passes(), options, diags_));
  EXPECT_NE(diags_.render().find("did you mean `fold_batch_norm`?"), std::string::npos) << diags_.render();
}

}  // namespace
}  // namespace collage::passes
