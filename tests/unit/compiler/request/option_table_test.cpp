// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/option_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/request/option_values.h"
#include "compiler/request/stated_options.h"

namespace collage::request {
namespace {

using Texts = std::vector<std::string>;

class Options : public testing::Test {
 protected:
  const OptionRow& row(std::string_view flag, CommandName command = CommandName::Compile) {
    const OptionRow* found = find_option(flag, command);
    EXPECT_NE(found, nullptr) << flag;
    return *found;
  }
  bool set(std::string_view flag, const Texts& texts, CommandName command = CommandName::Compile) {
    return set_values(row(flag, command), texts, std::string(flag), request_, diags_);
  }
  /// The last error, without its place.
  std::string error() { return diags_.records().empty() ? "" : diags_.records().back().message; }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  Request request_;
};

TEST_F(Options, EveryFlagIsOneRowOfACommand) {
  for (const CommandRow& command : command_table()) {
    std::set<std::string> seen;
    for (const OptionRow& row : option_table()) {
      if (!row.commands.has(command.name)) continue;
      EXPECT_TRUE(seen.insert(std::string(name_of(row))).second) << full_name(command.name) << " " << row.flags;
      EXPECT_FALSE(row.help.empty()) << row.flags;
      EXPECT_FALSE(row.help.ends_with('.')) << row.flags;
    }
  }
}

TEST_F(Options, WhatIsExcludedOrNeededExists) {
  const auto exists = [](std::string_view name) {
    return !name.starts_with('-') ? find_command(name) != nullptr
                                  : !commands_with(name.substr(0, name.find('='))).empty();
  };
  for (const OptionRow& row : option_table()) {
    for (const Exclusion& other : row.excludes) {
      EXPECT_TRUE(exists(other.option)) << row.flags << " excludes " << other.option;
      EXPECT_FALSE(other.why.empty()) << row.flags << " excludes " << other.option;
    }
    for (const CommandRow& command : command_table()) {
      for (const Refusal& refusal : row.refusals)
        EXPECT_FALSE(row.commands.has(command.name) && refusal.commands.has(command.name)) << row.flags;
    }
    for (std::string_view condition : row.needs) {
      for (size_t begin = 0; begin != std::string_view::npos;) {
        const size_t end = condition.find(" or ", begin);
        EXPECT_TRUE(exists(condition.substr(begin, end - begin))) << row.flags << " needs " << condition;
        begin = end == std::string_view::npos ? end : end + 4;
      }
    }
  }
}

TEST_F(Options, NothingIsGivenInARequestWithoutOptions) {
  for (const OptionRow& row : option_table()) EXPECT_FALSE(is_given(row, Request())) << row.flags;
}

/// What is printed is read again as the same, for every row with values.
TEST_F(Options, ValuesArePrintedAsTheyAreRead) {
  const std::map<std::string_view, Texts> examples = {{"--shape", {"batch=8", "x=1x3x1..512"}},
                                                      {"--objective", {"makespan"}},
                                                      {"--calibrate", {"x=a.npy"}},
                                                      {"--input", {"x=random"}},
                                                      {"--quantize", {"npu", "host"}}};
  for (const OptionRow& row : option_table()) {
    if (row.value.empty() || is_positional(row) || name_of(row) == "--buckets") continue;
    Texts texts = {"2"};
    if (const auto example = examples.find(name_of(row)); example != examples.end()) texts = example->second;
    if (!row.choices.empty()) texts = {std::string(row.choices.back().word)};
    if (row.range) texts = {"1"};
    Request request;
    ASSERT_TRUE(set_values(row, texts, std::string(name_of(row)), request, diags_)) << row.flags << ": " << error();
    const bool is_named_file = std::holds_alternative<Place<std::vector<NamedFile>>>(row.place);
    if (!is_named_file || texts != Texts{"2"}) {
      EXPECT_EQ(texts_of(row, request), texts) << row.flags;
    }
    Request again;
    ASSERT_TRUE(set_values(row, texts_of(row, request), "again", again, diags_)) << row.flags;
    EXPECT_EQ(texts_of(row, again), texts_of(row, request)) << row.flags;
  }
}

TEST_F(Options, Numbers) {
  EXPECT_TRUE(set("--threads", {"3"}));
  EXPECT_EQ(request_.settings.threads, 3);
  EXPECT_FALSE(set("--threads", {"0"}));
  EXPECT_EQ(error(), "`0` is not between 1 and 1024");
  EXPECT_FALSE(set("--threads", {"1.5"}));
  EXPECT_EQ(error(), "`1.5` is not a whole number");
  EXPECT_FALSE(set("--threads", {"all"}));
  EXPECT_EQ(request_.settings.threads, 3) << "what is wrong changes nothing";
  EXPECT_TRUE(set("--scale", {"1/255"}));
  EXPECT_EQ(request_.run.scale, 1.0 / 255);
  EXPECT_FALSE(set("--scale", {"1/0"}));
  EXPECT_EQ(error(), "`1/0` is not a number or a fraction");
  EXPECT_FALSE(set("--max-error", {"-1"}));
  EXPECT_EQ(error(), "`-1` is negative");
  EXPECT_FALSE(set("--budget", {"nan"}));
}

TEST_F(Options, Words) {
  EXPECT_TRUE(set("--rivals", {"ignore"}));
  EXPECT_FALSE(request_.settings.costs.times_rivals);
  EXPECT_TRUE(set("--disturbed-costs", {"keep"}));
  EXPECT_FALSE(request_.settings.costs.repeats_disturbed);
  EXPECT_TRUE(set("--emit", {"lowering"}));
  EXPECT_EQ(request_.emit, Emit::Lowering);
  EXPECT_FALSE(set("--emit", {"all"}));
  EXPECT_TRUE(error().starts_with("`all` is none of ast, passes,")) << error();
  EXPECT_FALSE(set("--objective", {"latncy"}));
  EXPECT_EQ(error(), "unknown objective `latncy`");
  EXPECT_FALSE(set("--cost-db-lost", {"estimte"}));
  EXPECT_TRUE(set("--cost-db-lost", {"./estimte"}));
}

TEST_F(Options, TextsOfDefaults) {
  EXPECT_EQ(initial_text(row("--rivals")), "time");
  EXPECT_EQ(initial_text(row("--disturbed-costs")), "again");
  EXPECT_EQ(initial_text(row("--measure")), "lazy");
  EXPECT_EQ(initial_text(row("--strategy")), "optimal");
  EXPECT_EQ(initial_text(row("--objective")), "latency");
  EXPECT_EQ(initial_text(row("--strict")), "");
  EXPECT_EQ(initial_text(row("--weight-scales")), "channel");
}

TEST_F(Options, OneFlagMayMeanSomethingElseToAnotherCommand) {
  EXPECT_EQ(row("-o", CommandName::Bisect).value, "FOLDER");
  EXPECT_EQ(row("--output").value, "FILE");
  EXPECT_EQ(find_option("-o", CommandName::Compare), nullptr);
  EXPECT_EQ(commands_with("--save"), std::vector{CommandName::Run});
  EXPECT_TRUE(commands_with("--sav").empty());
}

TEST_F(Options, SettingsOfAProgram) {
  EXPECT_TRUE(set_by_name("strict", "true", request_, diags_));
  EXPECT_TRUE(request_.settings.is_strict);
  EXPECT_FALSE(set_by_name("strict", "yes", request_, diags_));
  EXPECT_EQ(error(), "`yes` is none of false, true");
  EXPECT_TRUE(set_by_name("forbid", "a=npu", request_, diags_));
  EXPECT_TRUE(set_by_name("forbid", "b=npu", request_, diags_));
  EXPECT_EQ(request_.settings.forbid, (Texts{"a=npu", "b=npu"}));
  EXPECT_TRUE(set_by_name("forbid", "", request_, diags_));
  EXPECT_TRUE(request_.settings.forbid.empty());
  EXPECT_FALSE(set_by_name("emit", "plan", request_, diags_)) << "no setting of a library";
  // What is wrong in its second size changes nothing.
  EXPECT_FALSE(set_by_name("buckets", "batch=1,x", request_, diags_));
  EXPECT_TRUE(request_.model.buckets.empty());
}

TEST_F(Options, StatedOptionsAreReadAgain) {
  set("--forbid", {"a=npu", "b=npu"});
  set("--shape", {"batch=8"});
  set("--numerics", {"fast"});
  set("--budget", {"3"});  // the problem does not depend on it
  const StatedOptions stated = stated_options(request_);
  EXPECT_EQ(stated.size(), 4u);
  Request again;
  EXPECT_EQ(set_stated_options(stated, again), "");
  EXPECT_EQ(stated_options(again), stated);
  EXPECT_EQ(set_stated_options({{"--budget", {"3"}}}, again), "it states an option `--budget`, which is not known");
  EXPECT_EQ(set_stated_options({{"--threads", {"1", "2"}}}, again), "what it states of `--threads` cannot be read");
}

TEST_F(Options, OutputsOfACommand) {
  request_.command = CommandName::Bench;
  request_.output = "a/m.collage";
  request_.report = "page.html";
  request_.json.file = "/dev/stdout";
  request_.run.results = {{"y", "y.npy"}};
  request_.trace.file = "t.json";  // of another command
  for_each_output(request_, [](std::string& path) { path = with_infix(path, "batch8.seq1"); });
  EXPECT_EQ(request_.output, "a/m.batch8.seq1.collage");
  EXPECT_EQ(request_.report, "page.batch8.seq1.html");
  EXPECT_EQ(request_.json.file, "/dev/stdout");
  EXPECT_EQ(request_.placement.save, "");
  EXPECT_EQ(request_.trace.file, "t.json");
  EXPECT_EQ(request_.run.results.front().file, "y.npy");
  EXPECT_EQ(with_infix("/dev/shm/a.json", "x"), "/dev/shm/a.x.json");
}

}  // namespace
}  // namespace collage::request
