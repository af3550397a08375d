// SPDX-License-Identifier: Apache-2.0
// What is measured once the server of a database is lost.
#include <gtest/gtest.h>

#include "compiler/measure/fallback_costs.h"
#include "compiler/measure/measured_costs.h"
#include "compiler/sema/model/build_graph.h"

namespace collage::measure {
namespace {

/// A server that is lost with its n-th question.
class Failing : public CostDatabase {
 public:
  explicit Failing(int questions) : questions_(questions) {}

  bool is_lost() const override { return questions_ <= 0; }
  std::string take_lost() override { return is_lost() && !std::exchange(is_reported_, true) ? "it is gone" : ""; }
  runtime::Result<std::vector<CostRow>> rows() override { return answer(std::vector<CostRow>()); }
  runtime::Result<Written> write(const std::vector<CostRow>&) override { return answer(Written()); }
  runtime::Result<size_t> remove_if(const std::function<bool(const CostRow&)>&) override { return answer(size_t{0}); }

 private:
  template <typename T>
  runtime::Result<T> answer(T value) {
    if (--questions_ > 0) return value;
    return runtime::Status::error("it is gone");
  }
  std::optional<CostRow> look_up(const std::string&, const std::string&) override {
    --questions_;
    return std::nullopt;
  }
  std::optional<int64_t> look_up_reference(const std::string&, int64_t) override { return std::nullopt; }
  void put_reference(const std::string&, Duration, int64_t) override {}

  int questions_;
  bool is_reported_ = false;
};

struct Model {
  ir::Graph graph;
  std::vector<ir::Partition> candidates;
};

Model three_layers() {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  support::FileId file = sources.add("m.ir",
                                     "model @m(%x: f32[1, 4]) -> (%y: f32[1, 4]) {\n%a = Relu(%x)\n%b = Abs(%a)\n"
                                     "%y = Neg(%b)\n}\n");
  std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  EXPECT_TRUE(model) << diags.render();
  Model made;
  if (!model) return made;
  made.graph = std::move(model->graph);
  for (const char* node : {"a", "b", "y"}) {
    ir::Partition& one = made.candidates.emplace_back();
    one.name = node;
    one.backend = one.instance = "host";
    one.nodes = {made.graph.find_node(node)};
    for (ir::ValueId value : ir::boundary_inputs(made.graph, one.nodes))
      one.inputs.push_back({value, {"host", "plain"}});
    for (ir::ValueId value : ir::boundary_outputs(made.graph, one.nodes))
      one.outputs.push_back({value, {"host", "plain"}});
  }
  return made;
}

MeasuredCostsOptions measuring(CostDatabase* database) {
  MeasuredCostsOptions options;
  options.worker.program = "/bin/sh";
  // An answer for each candidate that it is asked about.
  options.worker.arguments = {
      "-c",
      "printf '\\0\\0\\0\\0\\15\\0\\0\\0ok 7000 1 1 2' >&3; printf '\\15\\0\\0\\0ok 7000 1 1 2' >&3; "
      "printf '\\15\\0\\0\\0ok 7000 1 1 2' >&3; exec sleep 60"};
  options.database = database;
  return options;
}

TEST(LostCosts, AreMeasuredAndKeptElsewhere) {
  const Model model = three_layers();
  FallbackCosts database(std::make_unique<Failing>(5), ":memory:");
  MeasuredCosts costs(measuring(&database), {});
  for (const place::MeasuredCost& cost : costs.measure(model.graph, model.candidates))
    EXPECT_EQ(cost.cost, Duration::picoseconds(7000)) << cost.failure;
  EXPECT_EQ(costs.stats().measured, 3u);
  EXPECT_EQ(database.take_lost(), "it is gone");
  EXPECT_EQ(database.take_lost(), "");
}

TEST(LostCosts, AreEstimatedIfSoWished) {
  const Model model = three_layers();
  FallbackCosts database(std::make_unique<Failing>(5), ":memory:");
  MeasuredCostsOptions options = measuring(&database);
  options.estimates_when_lost = true;
  MeasuredCosts costs(options, {});
  // Three questions whether they are known; the first cost is stored and examined, which loses the server.
  const std::vector<place::MeasuredCost> found = costs.measure(model.graph, model.candidates);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].cost) << found[0].failure;
  for (size_t i : {1u, 2u}) {
    EXPECT_FALSE(found[i].cost);
    EXPECT_EQ(found[i].failure, "the server of costs is lost");
    EXPECT_FALSE(found[i].lasting) << "it has an estimate";
  }
  EXPECT_EQ(costs.stats().measured, 1u);
}

}  // namespace
}  // namespace collage::measure
