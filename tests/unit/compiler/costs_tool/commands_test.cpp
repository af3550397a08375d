// SPDX-License-Identifier: Apache-2.0
// The commands of `collagec costs`: what they say of databases, files and servers alike.
#include "compiler/costs_tool/commands.h"

#include <gtest/gtest.h>

namespace collage::costs_tool {
namespace {

/// Runs each command on a database that cannot be used; returns what they say.
std::string complaints(const std::string& name) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  CostsRequest request;
  request.database = name;
  request.names = {"postgresql://bob:hidden@127.0.0.1:1/other"};
  EXPECT_FALSE(list_costs(request, diags));
  EXPECT_FALSE(show_costs(request, diags));
  EXPECT_FALSE(export_costs(request, diags));
  EXPECT_FALSE(merge_costs(request, diags));
  request.filter.older_days = 1;
  EXPECT_FALSE(prune_costs(request, diags));
  return diags.render();
}

TEST(CostsCommands, PrintNoPassword) {
  const std::string text = complaints("postgresql://ann:hidden@127.0.0.1:1/costs?password=hidden");
  EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
  EXPECT_NE(text.find("postgresql://ann@127.0.0.1:1/costs: error: "), std::string::npos) << text;
  EXPECT_NE(text.find("postgresql://bob@127.0.0.1:1/other: error: "), std::string::npos) << text;
}

TEST(CostsCommands, NameAFileAsItIs) {
  const std::string text = complaints("/nowhere/costs.sqlite");
  EXPECT_NE(text.find("/nowhere/costs.sqlite: error: "), std::string::npos) << text;
}

}  // namespace
}  // namespace collage::costs_tool
