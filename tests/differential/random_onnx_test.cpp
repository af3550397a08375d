// SPDX-License-Identifier: Apache-2.0
// Random ONNX models (random_onnx.h) run every way there is, seed by seed:
//
//   the importer takes the model, and infers the shapes that the maker worked out;
//   compiled host code, every backend of rules/ that this build has, and a simulated accelerator that takes nearly
//   everything give the numbers of the reference kernels;
//   so does host code for each vector width, with random costs, so that every layout and fusion gets its turn;
//   and really ran what they were asked to run, and every kind of kernel that the host's rules speak of;
//   the comparison is sharp enough to notice a weight that is wrong by a hundredth.
//
// COLLAGE_ONNX_GRAPHS is the number of models, COLLAGE_ONNX_SEED the first seed. A model that fails is written to the
// temporary folder, as it was and made smaller.
#include "tests/differential/random_onnx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "compiler/import/onnx.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/place/build/coalesce.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/solve.h"
#include "compiler/plan/build_plan.h"
#include "compiler/request/activate.h"
#include "compiler/sema/rules/build_rules.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/core/random.h"
#include "runtime/exec/executor.h"
#include "tests/differential/counting_jit.h"
#include "tests/differential/random_onnx_shrink.h"
#include "tests/differential/reference_jit.h"

namespace collage {
namespace {

using runtime::Tensor;

constexpr int kMostNodes = 8;
constexpr double kTolerance = 2e-5;  ///< of max|y|
/// The tolerance as a multiple of what a change of the inputs by a few of their last bits does to the result: an
/// ill-conditioned model is no fault.
constexpr double kConditioning = 16;
/// Inputs are in [-1, 1): what cancels to nothing leaves about this.
constexpr double kFloor = 2e-6;

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::max<int64_t>(0, std::atoll(text)) : fallback;
}

/// One backend that may take what it can, the host taking the rest.
struct Way {
  std::string name;
  std::string backend;
  bool compiles_host = true;
  bool draws_costs = false;  ///< random ones: any placement may be the best
  codegen::JitOptions jit{};
  testing::KernelCounts kernels{};
  support::SourceManager sources;
  ir::RuleSet rules;
  place::ActiveBackends active;
  int graphs_with_work = 0;              ///< in which the backend did arithmetic
  std::map<std::string, int> fallbacks;  ///< partitions that the backend could not compile, by reason
};

std::unique_ptr<Way> make_way(const std::string& name, const std::string& backend,
                              const std::vector<std::string>& files) {
  auto way = std::make_unique<Way>();
  way->name = name;
  way->backend = backend;
  support::Diagnostics diags(way->sources);
  auto rules = sema::load_rules(way->sources, files, diags);
  if (!rules) throw std::runtime_error(diags.render());
  way->rules = std::move(*rules);
  auto activations = request::activate(way->rules, {{}, files}, diags);
  if (!activations) throw std::runtime_error(diags.render());
  bool is_there = backend == "host";
  for (const request::Activation& activation : *activations) {
    if (!activation.absent.empty()) continue;
    way->active.push_back(activation.active);
    is_there |= activation.active.backend->name == backend;
    if (activation.active.backend->name == backend)
      way->compiles_host = !ir::is_device(activation.active.backend->runtime);
  }
  return is_there ? std::move(way) : nullptr;
}

/// This machine's vectors, and narrower ones that it can run too.
std::vector<codegen::JitOptions> vector_widths() {
  std::vector<codegen::JitOptions> all = {{.threads = 2, .cpu = ""}};
#if defined(__x86_64__)
  const runtime::VectorUnit& vectors = runtime::host_capabilities().vectors;
  if (vectors.lanes > 8 && vectors.has_fma) all.push_back({.threads = 1, .cpu = "haswell"});
  all.push_back({.threads = 2, .cpu = "x86-64-v2"});
#endif
  return all;
}

/// Host code; the same for each vector width, placed at random; each rule file that ships and whose backend is in this
/// build; the accelerator that takes nearly anything.
std::vector<std::unique_ptr<Way>> all_ways() {
  const std::filesystem::path root = COLLAGE_SOURCE_DIR;
  const std::string host = (root / "rules/host.rules").string();
  std::vector<std::unique_ptr<Way>> ways;
  ways.push_back(make_way("host", "host", {host}));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "rules")) {
    if (entry.path().extension() == ".rules" && entry.path().stem() != "host") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    auto way = make_way(file.stem().string(), file.stem().string(), {host, file.string()});
    if (way) ways.push_back(std::move(way));
  }
  for (const codegen::JitOptions& jit : vector_widths()) {
    auto way = make_way("host " + (jit.cpu.empty() ? "any" : jit.cpu), "host", {host});
    way->draws_costs = true;
    way->jit = jit;
    ways.push_back(std::move(way));
  }
  ways.push_back(make_way("fast", "npu", {host, (root / "tests/filetests/run/Inputs/fast.rules").string()}));
  return ways;
}

struct Failure {
  std::string way;
  std::string what;
};

std::vector<Tensor> random_inputs(const ir::Graph& graph) {
  std::vector<Tensor> inputs;
  for (ir::ValueId input : graph.inputs()) {
    const ir::TensorType& type = graph.value(input).type;
    inputs.push_back(runtime::random_tensor(type.dtype, type.shape, inputs.size() + 1));
  }
  return inputs;
}

class Checker {
 public:
  Checker() : ways_(all_ways()) {}

  static std::optional<ir::Graph> read_back(const onnx::ModelProto& model, support::Diagnostics& diags) {
    std::string path = ::testing::TempDir() + "random_onnx_" + std::to_string(::getpid()) + ".onnx";
    write(model, path);
    auto graph = import::import_onnx(path, diags);
    std::filesystem::remove(path);
    return graph;
  }

  using WayFilter = std::function<bool(const Way&)>;

  /// Nothing if all ways that the filter takes agree. Statistics count only where `counts`.
  std::optional<Failure> check(const onnx::ModelProto& model, bool counts, const WayFilter& takes = {}) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    auto graph = read_back(model, diags);
    if (!graph) return Failure{"import", diags.render()};
    for (const support::DiagnosticRecord& record : diags.records()) {
      if (record.code == support::Code::TypeMismatch) return Failure{"import", diags.render()};
    }
    std::vector<Tensor> inputs = random_inputs(*graph), nudged;
    for (const Tensor& input : inputs) nudged.push_back(nudge(input));
    auto expected = ir::evaluate_graph(*graph, inputs), moved = ir::evaluate_graph(*graph, nudged);
    if (!expected || !moved) return Failure{"reference", (expected ? moved : expected).message()};
    if (!std::all_of(expected->begin(), expected->end(), is_finite)) {
      not_finite += counts;
      return std::nullopt;
    }
    if (!passes::run_passes(*graph, passes::all_passes(), {}, diags)) return Failure{"passes", diags.render()};
    for (auto& way : ways_) {
      if (takes && !takes(*way)) continue;
      auto problem = run(*way, *graph, inputs, *expected, *moved, counts);
      if (problem) return Failure{way->name, *problem};
    }
    return std::nullopt;
  }

  static void write(const onnx::ModelProto& model, const std::string& path) {
    std::ofstream stream(path, std::ios::binary);
    model.SerializeToOstream(&stream);
  }

  /// Every element moved by two units in its last place, up and down in turn.
  static Tensor nudge(const Tensor& tensor) {
    Tensor moved = tensor.clone();
    float sign = 1;
    for (float& element : moved.as<float>()) {
      element *= 1 + sign * 0x1p-22f;
      sign = -sign;
    }
    return moved;
  }

  static std::optional<std::string> difference(const Tensor& got, const Tensor& expected, const Tensor& moved) {
    if (got.shape() != expected.shape() || got.dtype() != expected.dtype()) return "another type";
    double largest = 0, wrong = 0, conditioning = 0;
    for (int64_t i = 0; i < expected.count(); ++i) {
      double y = element_as_double(expected.view(), i), other = element_as_double(got.view(), i);
      if (!std::isfinite(other)) return "not finite at element " + std::to_string(i);
      largest = std::max(largest, std::abs(y));
      wrong = std::max(wrong, std::abs(other - y));
      conditioning = std::max(conditioning, std::abs(element_as_double(moved.view(), i) - y));
    }
    if (wrong <= kTolerance * largest + kConditioning * conditioning + kFloor) return std::nullopt;
    return "differs by " + std::to_string(wrong) + " of " + std::to_string(largest);
  }

  const std::vector<std::unique_ptr<Way>>& ways() const { return ways_; }
  int not_finite = 0;

 private:
  static bool is_finite(const Tensor& tensor) {
    for (int64_t i = 0; i < tensor.count(); ++i) {
      if (!std::isfinite(element_as_double(tensor.view(), i))) return false;
    }
    return true;
  }

  static std::optional<std::string> run(Way& way, const ir::Graph& graph, const std::vector<Tensor>& inputs,
                                        const std::vector<Tensor>& expected, const std::vector<Tensor>& moved,
                                        bool counts) {
    support::Diagnostics diags(way.sources);
    auto built = place::build_problem(graph, way.rules, way.active, diags);
    if (!built) return diags.render();
    using Kind = place::Strategy::Kind;
    place::Strategy strategy{way.backend == "host" ? Kind::Single : Kind::Priority, {way.backend}};
    if (way.draws_costs) {
      draw_costs(fingerprint(graph) + way.name.size(), built->problem);
      strategy = {Kind::Optimal, {}};
    }
    auto solution = place::solve(built->problem, strategy);
    if (!solution) return "no placement";
    ir::Placement placement = place::to_placement(*built, *solution, graph);
    place::coalesce(graph, placement, [&](const ir::Partition& partition) {
      const ir::Backend* backend = way.rules.find(partition.backend);
      return backend != nullptr && backend->policy.coalesce;
    });
    testing::ReferenceJit reference;
    testing::KernelCounts not_counted;
    std::unique_ptr<codegen::Jit> compiled;
    if (way.compiles_host) {
      auto jit = codegen::Jit::create(way.jit);
      if (!jit) return jit.message();
      compiled = std::make_unique<testing::CountingJit>(std::move(*jit), counts ? &way.kernels : &not_counted);
    }
    codegen::Jit& jit = compiled ? *compiled : reference;
    auto plan = plan::build_plan(graph, placement, plan::make_targets(way.rules, {}), jit, diags);
    if (!plan) return diags.render();
    auto executor = runtime::Executor::load(plan->plan, jit, way.jit.threads);
    if (!executor) return executor.message();
    auto outputs = (*executor)->run(inputs);
    if (!outputs) return outputs.message();
    for (size_t i = 0; i < expected.size(); ++i) {
      auto problem = difference((*outputs)[i], expected[i], moved[i]);
      if (problem) return "output " + std::to_string(i) + " " + *problem;
    }
    if (!counts) return std::nullopt;
    for (const plan::Fallback& fallback : plan->fallbacks) ++way.fallbacks[fallback.reason];
    way.graphs_with_work += has_work(way, graph, placement, *plan);
    return std::nullopt;
  }

  /// Layouts that are not plain cost less as a rule, so that changes of layout do not keep them away.
  static void draw_costs(uint64_t seed, place::Problem& problem) {
    testing::Random random(seed);
    for (place::Candidate& candidate : problem.candidates) {
      auto is_moved = [&](const place::ValueFormat& value) {
        return problem.formats[value.format].layout != runtime::kPlainLayout;
      };
      const bool moves = std::any_of(candidate.reads.begin(), candidate.reads.end(), is_moved) ||
                         std::any_of(candidate.writes.begin(), candidate.writes.end(), is_moved);
      const int64_t microseconds = random.in(1, moves ? 50 : 400);
      candidate.cost = place::Cost::of(microseconds * 1'000'000, place::Cost::Unit::Seconds);
    }
  }

  /// Equal for equal models, and hardly for others.
  static uint64_t fingerprint(const ir::Graph& graph) {
    uint64_t print = graph.node_count();
    for (ir::ValueId id : graph.value_ids())
      print = print * 31 + static_cast<uint64_t>(runtime::element_count(graph.value(id).type.shape));
    return print;
  }

  /// True if the backend itself did arithmetic, none of them by falling back to the reference kernels.
  static bool has_work(const Way& way, const ir::Graph& graph, const ir::Placement& placement,
                       const plan::BuiltPlan& plan) {
    for (size_t p = 0; p < placement.partitions.size(); ++p) {
      const ir::Partition& partition = placement.partitions[p];
      bool fell_back = std::any_of(plan.fallbacks.begin(), plan.fallbacks.end(),
                                   [p](const plan::Fallback& fallback) { return fallback.partition == p; });
      if (partition.backend != way.backend || fell_back) continue;
      for (ir::NodeId node : partition.nodes) {
        if (ir::work_of(graph, node).flops > 0) return true;
      }
    }
    return false;
  }

  std::vector<std::unique_ptr<Way>> ways_;
};

/// What the host's rules offer in both layouts, and what it has for plain tensors. With the channels last a global pool
/// is a reduction.
const std::vector<std::string> kInBothLayouts = {
    "AveragePool",   "Concat",  "Conv",      "Conv 1x1",   "Conv depthwise", "Conv grouped", "Conv grouped alike",
    "ConvTranspose", "MaxPool", "ReduceMax", "ReduceMean", "Resize",         "pointwise"};
const std::vector<std::string> kPlain = {"Gemm",          "GlobalAveragePool",
                                         "GlobalMaxPool", "InstanceNormalization",
                                         "LRN",           "LayerNormalization",
                                         "LogSoftmax",    "MatMul",
                                         "ReduceSum",     "Softmax",
                                         "Transpose"};

/// The kinds that this way has not compiled so far.
std::vector<std::string> missing_kinds(const Way& way) {
  std::vector<std::string> kinds = kPlain, missing;
  kinds.push_back("Conv enlarged, channels last");
  for (const std::string& kind : kInBothLayouts) {
    kinds.push_back(kind);
    kinds.push_back(kind + ", channels last");
  }
  for (const std::string& kind : kinds) {
    if (!way.kernels.contains(kind)) missing.push_back(kind);
  }
  return missing;
}

/// Has the model an operator that one of these kinds starts with?
bool may_add(const onnx::ModelProto& model, const std::vector<std::string>& kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& kind) {
    std::string op = kind.substr(0, kind.find_first_of(" ,"));
    if (kind == "ReduceMax, channels last") op = "GlobalMaxPool";
    if (kind == "ReduceMean, channels last") op = "GlobalAveragePool";
    if (kind == "Conv enlarged, channels last") op = "Resize";
    const auto& nodes = model.graph().node();
    return op == "pointwise" ||
           std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.op_type() == op; });
  });
}

// Models that can add nothing are passed over.
TEST(RandomOnnx, EveryKindOfHostKernelAgreesForEveryVectorWidth) {
  constexpr int64_t kMostModels = 1500;
  Checker checker;
  int tried = 0;
  for (int64_t seed = 1; seed <= kMostModels; ++seed) {
    const onnx::ModelProto model = testing::random_onnx(static_cast<uint64_t>(seed), kMostNodes);
    auto wants = [&](const Way& way) { return way.draws_costs && may_add(model, missing_kinds(way)); };
    const auto& ways = checker.ways();
    if (std::none_of(ways.begin(), ways.end(), [&](const auto& way) { return wants(*way); })) continue;
    ++tried;
    const auto failure = checker.check(model, true, wants);
    EXPECT_FALSE(failure) << "seed " << seed << ", " << failure->way << ": " << failure->what;
  }
  std::printf("%d models\n", tried);
  for (const auto& way : checker.ways()) {
    if (!way->draws_costs) continue;
    for (const std::string& kind : missing_kinds(*way)) ADD_FAILURE() << way->name << " never ran " << kind;
  }
}

TEST(RandomOnnx, EveryBackendAgreesWithTheReference) {
  Checker checker;
  int64_t graphs = setting("COLLAGE_ONNX_GRAPHS", 120), first = setting("COLLAGE_ONNX_SEED", 1), failures = 0;
  for (int64_t seed = first; seed < first + graphs && failures < 10; ++seed) {
    onnx::ModelProto model = testing::random_onnx(static_cast<uint64_t>(seed), kMostNodes);
    auto failure = checker.check(model, true);
    if (!failure) continue;
    ++failures;
    std::string path = ::testing::TempDir() + "random_onnx_seed_" + std::to_string(seed);
    Checker::write(model, path + ".onnx");
    auto small = testing::shrink(model, [&](const onnx::ModelProto& smaller) {
      auto still = checker.check(smaller, false);
      return still && still->way == failure->way;
    });
    Checker::write(small, path + ".small.onnx");
    ADD_FAILURE() << "seed " << seed << ", " << failure->way << ": " << failure->what << "\nmodel " << path
                  << ".onnx, smaller " << path << ".small.onnx (" << small.graph().node_size() << " nodes)";
  }
  EXPECT_LT(checker.not_finite, std::max<int64_t>(3, graphs / 20));
  for (const auto& way : checker.ways()) {
    std::printf("%-10s %5d graphs with arithmetic\n", way->name.c_str(), way->graphs_with_work);
    for (const auto& [reason, count] : way->fallbacks) std::printf("%10d fell back: %s\n", count, reason.c_str());
    for (const auto& [kind, count] : way->kernels) std::printf("%10d %s\n", count, kind.c_str());
    if (way->name == "systolic") {
      EXPECT_EQ(way->graphs_with_work, 0) << "it computes in bf16, and only where the user says so";
    } else if (graphs >= 50) {
      EXPECT_GT(way->graphs_with_work, 0) << way->name;
    }
  }
}

/// The first weights of several elements, all a hundredth larger. False if there are none.
bool spoil(onnx::ModelProto& model) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    bool is_weight = tensor.data_type() == onnx::TensorProto::FLOAT && tensor.dims_size() > 1;
    if (!is_weight) continue;
    for (float& element : *tensor.mutable_float_data()) element *= 1.01f;
    for (size_t at = 0; at + sizeof(float) <= tensor.raw_data().size(); at += sizeof(float)) {
      float element;
      std::memcpy(&element, tensor.raw_data().data() + at, sizeof element);
      element *= 1.01f;
      std::memcpy(tensor.mutable_raw_data()->data() + at, &element, sizeof element);
    }
    return true;
  }
  return false;
}

TEST(RandomOnnx, WrongWeightsAreNoticed) {
  int spoiled = 0, noticed = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    onnx::ModelProto good = testing::random_onnx(seed, kMostNodes), bad = good;
    if (!spoil(bad)) continue;
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    auto right = Checker::read_back(good, diags), wrong = Checker::read_back(bad, diags);
    ASSERT_TRUE(right && wrong) << diags.render();
    std::vector<Tensor> inputs = random_inputs(*right), nudged;
    for (const Tensor& input : inputs) nudged.push_back(Checker::nudge(input));
    auto expected = ir::evaluate_graph(*right, inputs), moved = ir::evaluate_graph(*right, nudged);
    auto got = ir::evaluate_graph(*wrong, inputs);
    ASSERT_TRUE(expected && moved && got);
    ++spoiled;
    for (size_t i = 0; i < got->size(); ++i) {
      if (!Checker::difference((*got)[i], (*expected)[i], (*moved)[i])) continue;
      ++noticed;
      break;
    }
  }
  EXPECT_GT(spoiled, 100);
  EXPECT_GT(noticed, spoiled * 9 / 10);
}

TEST(RandomOnnx, MakesEveryOperatorThatItKnows) {
  std::set<std::string> made;
  std::set<int64_t> opsets;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    onnx::ModelProto model = testing::random_onnx(seed, kMostNodes);
    opsets.insert(model.opset_import(0).version());
    for (const auto& node : model.graph().node()) made.insert(node.op_type());
  }
  EXPECT_GE(made.size(), 91u);
  EXPECT_EQ(opsets.size(), 9u);
}

TEST(RandomOnnx, ShrinksToTheNodeAtFault) {
  auto has_conv = [](const onnx::ModelProto& model) {
    const auto& nodes = model.graph().node();
    return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.op_type() == "Conv"; });
  };
  int shrunk = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    onnx::ModelProto model = testing::random_onnx(seed, kMostNodes);
    if (!has_conv(model)) continue;
    onnx::ModelProto small = testing::shrink(model, has_conv);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    EXPECT_TRUE(has_conv(small) && Checker::read_back(small, diags)) << diags.render();
    EXPECT_LE(small.graph().node_size(), model.graph().node_size());
    shrunk += small.graph().node_size() < model.graph().node_size();
  }
  EXPECT_GT(shrunk, 10);
}

}  // namespace
}  // namespace collage
