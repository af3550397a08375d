// SPDX-License-Identifier: Apache-2.0
// Errors about `--place` and pins, the summary and `why-not` give one reason for a node: over all rules that are
// shipped and all example networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/place/build/build_problem.h"
#include "compiler/place/build/why_not.h"
#include "compiler/report/explain/explain_text.h"
#include "compiler/report/explain/frequent_refusals.h"
#include "compiler/report/explain/why_not.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/rules/build_rules.h"

namespace collage::report {
namespace {

/// A network under all rules, placed on the host.
class Network {
 public:
  explicit Network(const std::filesystem::path& path) {
    rules_ = sema::load_rules(sources_, {COLLAGE_SOURCE_DIR "/rules"}, diags_).value();
    for (const ir::Backend& backend : rules_.backends) active_.push_back({&backend, {}});
    graph_ = std::move(sema::load_model_text(sources_, *sources_.load(path.string()), "", diags_).value().graph);
    place::BuildOptions options;
    options.growth = {4, 500};  // refusals are reported mostly for matches
    built_ = place::build_problem(graph_, rules_, active_, diags_, options).value();
    ir::Partition all;
    all.name = "p0";
    all.backend = all.instance = "host";
    all.nodes = graph_.node_ids();
    plan_.placement.partitions.push_back(std::move(all));
  }

  support::IdRange<place::BackendId> backends() const { return active_.ids(); }

  /// Compares the three reasons of each node that the backend cannot run. Returns how many the summary counts.
  size_t check(place::BackendId backend) {
    const place::ActiveBackend& active = active_[backend];
    const place::BackendCandidates& found = built_.backends[backend];
    const std::map<ir::NodeId, match::NearMiss> counted = counted_refusals(graph_, active, found);
    for (ir::NodeId node : graph_.node_ids()) {
      SCOPED_TRACE(active.backend->name + ": " + node_text(graph_, node));
      const place::WhyNot why = place::why_not(graph_, active, found, node);
      auto in_summary = counted.find(node);
      if (why.message.empty()) {
        EXPECT_EQ(in_summary, counted.end());
        continue;
      }
      const std::string& name = active.backend->name;
      if (name == "host") continue;  // it runs what its rules refuse
      const std::string text = text_of(why_not(explained(), {node}, name));
      if (why.message.starts_with("no rule of")) {
        EXPECT_NE(text.find("no rule has a place"), std::string::npos) << text;
        EXPECT_EQ(in_summary, counted.end());
        continue;
      }
      // Lines of `why-not` join what several rules need.
      const size_t begin = why.message.find(": ") + 2;
      const std::string reason = why.message.substr(begin, why.message.find(", need ") - begin);
      // The first line says where the node runs.
      const size_t first = text.find('\n') + 1;
      EXPECT_NE(text.substr(first, text.find('\n', first) - first).find(reason), std::string::npos) << reason << "\n"
                                                                                                    << text;
      if (in_summary != counted.end()) {
        const std::string& message = in_summary->second.message;
        EXPECT_TRUE(reason.ends_with(message.substr(0, message.find(", need ")))) << reason << "\n" << message;
      }
    }
    return counted.size();
  }

 private:
  ExplainedPlacement explained() const { return {input_, strategy_, active_, plan_, sources_}; }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  ir::RuleSet rules_;
  place::ActiveBackends active_;
  ir::Graph graph_;
  place::BuiltProblem built_;
  ir::Placement written_;
  search::SearchInput input_{graph_, built_, rules_, written_, {}, {}};
  place::Strategy strategy_;
  search::FoundPlacement plan_;
};

TEST(Refusals, ThreePlacesGiveOneReason) {
  size_t counted = 0;
  size_t networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COLLAGE_SOURCE_DIR "/examples/networks")) {
    if (entry.path().extension() != ".ir") continue;
    SCOPED_TRACE(entry.path().filename());
    Network network(entry.path());
    for (place::BackendId b : network.backends()) counted += network.check(b);
    ++networks;
  }
  EXPECT_GE(networks, 9u);
  EXPECT_GT(counted, 500u);
}

}  // namespace
}  // namespace collage::report
