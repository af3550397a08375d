// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: whatever a plan can hold comes back, and what is not exactly a plan is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/package/plan_archive.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file
using nlohmann::json;

/// Every kind of step, call and attribute.
Plan rich_plan() {
  TestPlan made(2);
  const Shape shape{1, 2, 3, 4};
  const BufferId x = made.input(shape);
  const BufferId c = made.constant(0, counting(shape), "NHWC");
  const BufferId y = made.buffer(0, shape);
  const BufferId there = made.buffer(1, shape, "NHWC");
  const BufferId peer = made.buffer(2, shape);
  AttrMap attrs;
  attrs.set("int", int64_t{-3});
  attrs.set("float", std::numeric_limits<double>::quiet_NaN());
  attrs.set("zero", -0.0);
  attrs.set("text", std::string("a\"b\xff"));
  attrs.set("ints", Ints{INT64_MIN, INT64_MAX});
  attrs.set("floats", Floats{0.1, std::numeric_limits<double>::infinity(), 1});
  attrs.set("texts", Strings{"", "b"});
  attrs.set("tensor", f32({2}, {1, 2}));
  LibraryProgram program;
  program.values = {
      {DType::F32, shape, {}, "plain"}, {DType::F32, {}, f32({}, {5}), "plain", "packed"}, {DType::F32, shape, {}}};
  program.ops = {{"Mul", attrs, {0, 1, -1}, {2}}};
  program.inputs = {0};
  program.outputs = {2};
  program.calls = {{"rule", "kind", "symbol", {{"a", 0}, {"b", -1, Floats{1.5}}}, {0}, {2}}};
  made.host({op("Add", {x, c, -1}, {y}, attrs), KernelCall{"k", {x, -1, y}, 24, 2, 64, "name"},
             LibraryCall{"lib", program, {x}, {y}, {"line"}}});
  made.plan.steps.emplace_back(LibraryStep{0, {"lib", program, {x}, {y}, {}}});
  made.convert(y, there, 5);
  std::get<ConvertStep>(made.plan.steps.back()).kernel = KernelCall{"reorder", {y}, 1, 1, 0};
  made.device(0, {op("Relu", {there}, {there})}, 7);
  std::get<DeviceStep>(made.plan.steps.back()).calls = {
      {"r", "sim", "mm", {{"a", there}}, {0}, {there}, StorageType::F16}};
  made.convert(there, peer);
  made.output(y);
  Plan plan = std::move(made.plan);
  plan.buffers[static_cast<size_t>(peer)].tensor.form.storage = Storage{StorageType::I8, Quantisation{0.05, -3}};
  plan.devices[0].attrs = attrs;
  plan.devices[1].copy_queue = true;
  plan.devices[1].links[0].hops = {{"npu[1]", "pcie", true}, {"pcie", "host", false}};
  plan.lanes.assign(plan.steps.size(), 1);
  plan.partitions[0].nodes = {"a", "b"};
  plan.predicted = Duration::picoseconds(123);
  plan.is_concurrent = true;
  return plan;
}

struct Stored {
  json document;
  std::vector<Tensor> tensors;
};

Stored store(const Plan& plan) {
  Stored stored;
  stored.document = to_json(plan, [&](const Tensor& tensor) {
    stored.tensors.push_back(tensor);
    return stored.tensors.size() - 1;
  });
  return stored;
}

Result<Plan> restore(const Stored& stored) {
  return plan_from_json(stored.document, [&](DType dtype, const Shape& shape, size_t place) -> Result<Tensor> {
    if (place >= stored.tensors.size() || stored.tensors[place].dtype() != dtype ||
        stored.tensors[place].shape() != shape)
      return Status::error("there is no such tensor");
    return stored.tensors[place];
  });
}

TEST(PlanJson, ComesBackWhole) {
  Stored stored = store(rich_plan());
  stored.document = json::from_cbor(json::to_cbor(stored.document));
  const Result<Plan> plan = restore(stored);
  ASSERT_TRUE(plan) << plan.message();
  const AttrMap& attrs = std::get<OpCall>(std::get<HostStep>(plan->steps[0]).calls[0]).attrs;
  EXPECT_TRUE(std::isnan(attrs.get_float("float", 0)));
  EXPECT_TRUE(std::signbit(attrs.get_float("zero", 1)));
  EXPECT_EQ(attrs.get_string("text", ""), "a\"b\xff");
  EXPECT_EQ(attrs.get_ints("ints"), (Ints{INT64_MIN, INT64_MAX}));
  EXPECT_TRUE(plan->is_concurrent);
  // The document says everything: equal documents are equal plans.
  Stored again = store(*plan);
  EXPECT_EQ(json::to_cbor(again.document), json::to_cbor(stored.document));
  ASSERT_EQ(again.tensors.size(), stored.tensors.size());
  for (size_t i = 0; i < again.tensors.size(); ++i) EXPECT_TRUE(identical(again.tensors[i], stored.tensors[i]));
}

TEST(PlanJson, TheCallOfALibraryStepStandsBesideItsPartition) {
  const Stored stored = store(rich_plan());
  const json& step = stored.document["steps"][1];
  EXPECT_EQ(step[0], "library");
  std::vector<std::string> names;
  for (const auto& [name, value] : step[1].items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"inputs", "library", "outputs", "partition", "program", "text"}));
  EXPECT_EQ(step[1]["library"], "lib");
}

/// Calls `visit` with every value below `value`, which it may change.
template <typename Visit>
void for_each_value(json& value, const Visit& visit) {
  if (value.is_structured()) {
    for (json& item : value) for_each_value(item, visit);
  }
  visit(value);
}

TEST(PlanJson, RefusesAFieldThatIsMissingOrTooMuchOrOfAnotherKind) {
  const Stored stored = store(rich_plan());
  json counted = stored.document;
  size_t count = 0;
  for_each_value(counted, [&](json&) { ++count; });
  ASSERT_GT(count, 500u);
  int tried = 0;
  for (size_t chosen = 0; chosen < count; ++chosen) {
    for (int damage = 0; damage < 3; ++damage) {
      Stored damaged = stored;
      size_t at = 0;
      std::string what;
      for_each_value(damaged.document, [&](json& value) {
        if (at++ != chosen) return;
        if (damage == 0) {
          what = value.dump(-1, ' ', false, json::error_handler_t::replace) + " => another kind";
          value = value.is_boolean() ? json(1) : json(true);
        } else if (value.is_object() && !value.empty() && damage == 1) {
          what = "without " + value.begin().key();
          value.erase(value.begin());
        } else if (value.is_number_integer() && damage == 2) {
          what = "beyond every range";
          value = UINT64_MAX;
        }
      });
      if (what.empty()) continue;
      ++tried;
      const Result<Plan> plan = restore(damaged);
      // A map of attributes may have any, and sizes any number: a plan's sense is validated, not its form.
      EXPECT_TRUE(!plan || damage != 0) << what;
    }
  }
  EXPECT_GT(tried, 600);
  Stored extra = stored;
  extra.document["buffers"][0]["colour"] = "blue";
  const Result<Plan> refused = restore(extra);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.message(), "`buffers[0]` has a field that does not exist");
}

}  // namespace
}  // namespace collage::runtime
