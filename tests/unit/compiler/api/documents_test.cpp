// SPDX-License-Identifier: Apache-2.0
// Files in memory, and JSON documents of the C interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "include/collage/collage.hpp"

namespace {

using nlohmann::json;

constexpr const char* kDigits = "examples/digits/digits.ir";
constexpr const char* kSmallModel = R"(model @small(%x: f32[1, 8, 4, 4]) -> (%y: f32[1, 8, 4, 4]) {
  %w = const random seed 1 : f32[8, 8, 1, 1]
  %c = Conv(%x, %w)
  %y = Relu(%c)
}
)";
constexpr const char* kNpuRules = R"(rules 1
include "shared.rules"
backend npu {
  runtime host_jit
  rule conv {
    match c = Conv(x, w)
    cost 1 us
  }
}
)";

class Documents : public ::testing::Test {
 protected:
  void SetUp() override { compiler_.set("costs", "estimate").set("cache", "").set("cost-db", ""); }

  std::string failure_of(const std::string& path) {
    try {
      compiler_.load(path);
    } catch (const collage::Error& error) {
      return error.what();
    }
    return "none";
  }

  collage::Compiler compiler_;
};

TEST_F(Documents, ModelsRulesAndPlacementsComeFromMemory) {
  compiler_.file("<model>", kSmallModel).file("a/main.rules", kNpuRules).file("a/shared.rules", "rules 1\n");
  compiler_.rules({"a/main.rules"});
  const collage::Model model = compiler_.load("<model>");
  const collage::Placement placed = model.place();
  const json nodes = json::parse(placed.nodes_json());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0]["node"], "c");
  EXPECT_EQ(nodes[0]["op"], "Conv");
  EXPECT_EQ(nodes[0]["backend"], "npu");
  EXPECT_EQ(nodes[0]["rules"], json::array({"conv"}));
  EXPECT_EQ(nodes[0]["macs"], 8 * 8 * 16);
  EXPECT_EQ(nodes[0]["results"], json::array({"f32[1, 8, 4, 4]"}));
  EXPECT_EQ(nodes[1]["backend"], "host");

  compiler_.set("forbid", "op:Conv=npu");
  const std::string on_host = model.place().text();
  compiler_.set("forbid", "").file("<placement>", on_host).set("placement", "<placement>");
  EXPECT_EQ(model.place().text(), on_host);
}

TEST_F(Documents, AFileIsForgotten) {
  compiler_.file("<model>", kSmallModel).load("<model>");
  compiler_.forget_file("<model>");
  EXPECT_NE(failure_of("<model>").find("cannot read"), std::string::npos);
  EXPECT_NE(collage_compiler_file(nullptr, "x", "", 0), 0);
}

TEST_F(Documents, MemoryStandsBeforeTheFileSystem) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "collage_stand_in.ir").string();
  std::ofstream(path) << "no model";
  compiler_.file(path, kSmallModel);
  compiler_.load(path);
  compiler_.forget_file(path);
  EXPECT_NE(failure_of(path), "none");
  std::filesystem::remove(path);
}

TEST_F(Documents, BytesThatAreNoModel) {
  compiler_.file("<bytes>.onnx", std::string("\x08\x07\x12", 3)).file("<text>", std::string("a\0b", 3));
  EXPECT_NE(failure_of("<bytes>.onnx").find("is damaged near byte"), std::string::npos) << failure_of("<bytes>.onnx");
  EXPECT_NE(failure_of("<text>").find("byte 1 is zero"), std::string::npos);
  compiler_.file("<empty>.onnx", "");
  EXPECT_NE(failure_of("<empty>.onnx").find("holds no ONNX model"), std::string::npos);
}

TEST_F(Documents, DiagnosticsHaveSpansAndNotes) {
  compiler_.file("<model>", "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relux(%x)\n}\n");
  EXPECT_NE(failure_of("<model>"), "none");
  EXPECT_NE(failure_of("no/such/model.ir"), "none");
  const json all = json::parse(compiler_.diagnostics_json());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["severity"], "error");
  EXPECT_EQ(all[0]["code"].get<std::string>().substr(0, 2), "CG");
  EXPECT_EQ(all[0]["file"], "<model>");
  EXPECT_EQ(all[0]["line"], 2);
  EXPECT_EQ(all[0]["column"], 8);
  EXPECT_EQ(all[0]["end_line"], 2);
  EXPECT_EQ(all[0]["end_column"], 13);
  EXPECT_EQ(all[0]["source"], "  %y = Relux(%x)");
  ASSERT_EQ(all[0]["notes"].size(), 1u);
  EXPECT_EQ(all[0]["notes"][0]["message"], "did you mean `Relu`?");
  EXPECT_EQ(all[1]["file"], "no/such/model.ir");
  EXPECT_FALSE(all[1].contains("line"));
  EXPECT_EQ(collage_diagnostics_json(nullptr), nullptr);
}

TEST_F(Documents, OfAPlacement) {
  const collage::Placement placement = compiler_.load(kDigits).place();
  const json summary = json::parse(placement.summary_json());
  EXPECT_EQ(summary["model"]["name"], "digits");
  EXPECT_EQ(summary["placement"], json::parse(placement.json()));
  EXPECT_EQ(summary["search"]["outcome"], "optimal");
  const json why = json::parse(placement.why_json("conv1"));
  EXPECT_EQ(placement.why("conv1").find(why["why"][0]["answer"].get<std::string>()), 0u);
  EXPECT_FALSE(why.contains("why_not"));
  const json why_not = json::parse(placement.why_not_json("conv1", "npu"));
  EXPECT_EQ(placement.why_not("conv1", "npu").find(why_not["why_not"][0]["answer"].get<std::string>()), 0u);
  EXPECT_THROW(placement.why_json("no_such_node"), collage::Error);
  EXPECT_EQ(collage_why_json(nullptr, "conv1"), nullptr);
  EXPECT_EQ(collage_placement_nodes_json(nullptr), nullptr);
}

TEST_F(Documents, ComparesStrategies) {
  const collage::Placement placement = compiler_.load(kDigits).place();
  const json compared = json::parse(placement.compare_json())["compare"];
  EXPECT_EQ(compared["runs"], 0);
  EXPECT_EQ(compared["strategies"][0]["strategy"], "optimal");
  EXPECT_EQ(compared["strategies"][0]["predicted_s"], placement.value());
  EXPECT_FALSE(compared["strategies"][0].contains("measured"));
  const json measured = json::parse(placement.compare_json(2))["compare"];
  EXPECT_EQ(measured["runs"], 2);
  EXPECT_GT(measured["strategies"][0]["measured"]["median_s"], 0);
  EXPECT_EQ(collage_compare_json(nullptr, 0), nullptr);
}

TEST_F(Documents, ComparesByMeasuredCosts) {
  compiler_.file("measured.rules", R"(rules 1
backend host {
  runtime host_jit
  rule conv {
    match c = Conv(x, w)
    cost measured
  }
  rule conv_tanh {
    match t = Tanh(Conv(x, w))
    cost measured
  }
  rule tanh {
    match t = Tanh(x)
    cost measured
  }
}
)");
  compiler_.file("<model>", R"(model @measured(%x: f32[1, 16, 8, 8]) -> (%y: f32[1, 16, 8, 8]) {
  %w = const random seed 1 : f32[16, 16, 3, 3]
  %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}
  %y = Tanh(%c)
}
)");
  compiler_.rules({"measured.rules"});
  compiler_.set("costs", "measured").set("threads", "1");
  const collage::Placement placement = compiler_.load("<model>").place();
  const json before = json::parse(placement.json())["candidates"];
  const json compared = json::parse(placement.compare_json())["compare"];
  EXPECT_EQ(compared["strategies"][0]["strategy"], "optimal");
  // What was not needed for the proof is measured for the comparison; the placement's own figures show it.
  const json after = json::parse(placement.json())["candidates"];
  EXPECT_EQ(after["measured"].get<size_t>(), before["measured"].get<size_t>() + before["not_needed"].get<size_t>());
}

TEST_F(Documents, PathsOfRulesThatAreNull) {
  collage_compiler* compiler = collage_compiler_create(COLLAGE_ABI_VERSION);
  EXPECT_NE(collage_compiler_rules(compiler, nullptr, 2), 0);
  const char* paths[] = {nullptr};
  EXPECT_NE(collage_compiler_rules(compiler, paths, 1), 0);
  ASSERT_EQ(collage_diagnostic_count(compiler), 2u);
  for (size_t i = 0; i < 2; ++i) {
    collage_diagnostic diagnostic;
    ASSERT_EQ(collage_diagnostic_get(compiler, i, &diagnostic), 0);
    EXPECT_STREQ(diagnostic.message, "a path is NULL");
    EXPECT_STREQ(diagnostic.file, "rules");
  }
  EXPECT_EQ(collage_compiler_rules(compiler, nullptr, 0), 0);
  collage_compiler_free(compiler);
}

TEST_F(Documents, PortsWithoutElementsNeedNoBuffer) {
  compiler_.file("<model>", "model @m(%x: f32[0, 3]) -> (%y: f32[0, 3]) {\n  %y = Relu(%x)\n}\n");
  const collage::Executable executable = compiler_.load("<model>").place().build();
  ASSERT_EQ(executable.input(0).bytes, 0u);
  collage::Session session(executable);
  session.run({nullptr}, {nullptr});
  compiler_.file("<other>", "model @m(%x: f32[1, 3]) -> (%y: f32[1, 3]) {\n  %y = Relu(%x)\n}\n");
  collage::Session other(compiler_.load("<other>").place().build());
  EXPECT_THROW(other.run({nullptr}, {nullptr}), collage::Error);
}

TEST_F(Documents, ErrorsAreCutBetweenCharacters) {
  for (const std::string& before : {std::string(), std::string("x")}) {
    std::string path = before;
    for (int i = 0; i < 40; ++i) path += "\u00e9";  // two bytes
    for (size_t size = 2; size < 40; ++size) {
      std::string error(size, '?');
      ASSERT_EQ(collage_executable_load(path.c_str(), error.data(), size), nullptr);
      error.resize(error.find('\0'));
      const std::string whole = "'" + path;
      EXPECT_EQ(error, whole.substr(0, error.size()));
      EXPECT_NE(static_cast<unsigned char>(whole[error.size()]) & 0xC0, 0x80) << size;
      EXPECT_GE(error.size() + 2, size);
    }
  }
  // Bytes that are not UTF-8 are cut anywhere.
  std::string error(10, '?');
  const std::string path(40, '\x80');
  EXPECT_EQ(collage_executable_load(path.c_str(), error.data(), error.size()), nullptr);
  EXPECT_EQ(error, "'" + std::string(8, '\x80') + std::string(1, '\0'));
}

TEST_F(Documents, ListsBackends) {
  const json all = json::parse(compiler_.backends_json());
  const auto kind_of = [&](const std::string& name) {
    for (const json& one : all) {
      if (one["name"] == name) return one["kind"].get<std::string>();
    }
    return std::string("none");
  };
  EXPECT_EQ(kind_of("host"), "real");
  EXPECT_EQ(kind_of("npu"), "model of a chip");
  compiler_.file("<npu>", kNpuRules).file("shared.rules", "rules 1\n").rules("<npu>");
  const json own = json::parse(compiler_.backends_json());
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0]["rules"], 1);
  EXPECT_EQ(own[0]["runs_by"], "generated code");
  EXPECT_EQ(collage_backends_json(nullptr), nullptr);
}

TEST_F(Documents, ProfilesExecutablesAndPackages) {
  const collage::Executable built = compiler_.load(kDigits).place().build();
  const std::string path = ::testing::TempDir() + "collage_profile_" + std::to_string(::getpid()) + ".collage";
  built.save(path);
  const collage::Executable loaded = collage::Executable::load(path);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.placed(), built.placed());
  EXPECT_NE(built.placed().find("partition"), std::string::npos) << built.placed();
  EXPECT_STREQ(collage_executable_placed(nullptr), "");
  const std::vector<float> image(64, 0.5F);
  for (const collage::Executable* executable : {&built, &loaded}) {
    for (const std::vector<const void*>& inputs : {std::vector<const void*>{}, {image.data()}}) {
      const json profile = json::parse(compiler_.profile_json(*executable, inputs));
      EXPECT_EQ(profile["model"], "digits");
      ASSERT_FALSE(profile["rows"].empty());
      double sum = 0, before = profile["rows"][0]["seconds"];
      for (const json& row : profile["rows"]) {
        sum += row["seconds"].get<double>();
        EXPECT_LE(row["seconds"], before);
        before = row["seconds"];
      }
      EXPECT_NEAR(sum, profile["seconds"], 1e-9);
    }
  }
  EXPECT_THROW(compiler_.profile_json(built, {image.data(), image.data()}), std::invalid_argument);
  EXPECT_THROW(compiler_.profile_json(built, {nullptr}), collage::Error);
  EXPECT_EQ(collage_profile_json(nullptr, built.get(), nullptr), nullptr);
}

TEST_F(Documents, ProfilesOfConcurrentPlansHaveATimeline) {
  compiler_.set("objective", "makespan");
  const json profile = json::parse(compiler_.profile_json(compiler_.load(kDigits).place().build()));
  ASSERT_TRUE(profile.contains("timeline"));
  EXPECT_GT(profile["makespan_s"], 0);
  EXPECT_EQ(profile["timeline"][0]["start_s"], 0);
  EXPECT_FALSE(profile["timeline"][0]["on"].empty());
}

}  // namespace
