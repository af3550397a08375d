// SPDX-License-Identifier: Apache-2.0
// The server as streams: what it answers to a session, in order. tests/language_server/server_test.py drives the
// program.
#include "compiler/rules_tool/lsp/server.h"

#include <gtest/gtest.h>

#include <sstream>

#include "compiler/rules_tool/lsp/positions.h"
#include "compiler/rules_tool/lsp/transport.h"

namespace collage::rules_tool::lsp {
namespace {

constexpr const char* kRules = "file:///tmp/a.rules";
constexpr const char* kModel = "file:///tmp/a.ir";

class LanguageServer : public ::testing::Test {
 protected:
  void notify(const char* method, Json params) {
    write({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
  }
  /// Asks; the answer is that of the same number.
  size_t ask(const char* method, Json params) {
    write({{"jsonrpc", "2.0"}, {"id", asked_}, {"method", method}, {"params", std::move(params)}});
    return asked_++;
  }
  void open(const char* uri, const std::string& text) {
    notify("textDocument/didOpen", {{"textDocument", {{"uri", uri}, {"version", 1}, {"text", text}}}});
  }
  static Json at(const char* uri, int line, int character) {
    return {{"textDocument", {{"uri", uri}}}, {"position", {{"line", line}, {"character", character}}}};
  }
  static Json whole(const char* uri) { return {{"textDocument", {{"uri", uri}}}}; }

  /// Ends the session, and collects what came.
  void run() {
    ask("shutdown", Json::object());
    notify("exit", Json::object());
    std::ostringstream out;
    {
      std::istringstream in(session_);
      EXPECT_TRUE(Server(in, out).run());
    }
    std::istringstream in(out.str());
    for (Incoming message = read_message(in); message.kind == Incoming::Kind::Message; message = read_message(in)) {
      Json json = Json::parse(message.text);
      if (json.contains("id")) {
        answers_[json.at("id").get<size_t>()] = json;
      } else if (json.at("method") == "textDocument/publishDiagnostics") {
        published_.push_back(json.at("params"));
      }
    }
  }

  Json result(size_t id) { return answers_.at(id).at("result"); }

  std::map<size_t, Json> answers_;
  std::vector<Json> published_;

 private:
  void write(const Json& message) {
    if (session_.empty() && message.value("method", "") != "initialize") ask("initialize", Json::object());
    std::ostringstream out;
    write_message(out, message.dump());
    session_ += out.str();
  }

  std::string session_;
  size_t asked_ = 0;
};

TEST_F(LanguageServer, ChoosesTheLanguage) {
  open(kModel, "model @m(%x: f32[1]) -> (%y: f32[1]) { %y = Relo(%x) }");
  open(kRules, "model");
  notify("textDocument/didOpen",
         {{"textDocument", {{"uri", "untitled:1"}, {"languageId", "collage-model"}, {"text", "rules 1\n"}}}});
  run();
  ASSERT_EQ(published_.size(), 3U);
  EXPECT_EQ(published_[0].at("diagnostics").at(0).at("code"), "CG0102");
  EXPECT_EQ(published_[0].at("version"), 1);
  EXPECT_NE(published_[1].at("diagnostics").at(0).at("message").get<std::string>().find("rules 1"), std::string::npos);
  EXPECT_FALSE(published_[2].at("diagnostics").empty());
}

TEST_F(LanguageServer, FixesAreActions) {
  open(kModel, "model @m(%x: f32[1]) -> (%y: f32[1]) { %y = Relo(%x) }");
  Json params = whole(kModel);
  params["range"] = {{"start", {{"line", 0}, {"character", 45}}}, {"end", {{"line", 0}, {"character", 45}}}};
  params["context"] = {{"diagnostics", Json::array()}};
  const size_t here = ask("textDocument/codeAction", params);
  params["context"]["only"] = {"refactor"};
  const size_t refactorings = ask("textDocument/codeAction", params);
  run();
  const Json actions = result(here);
  ASSERT_EQ(actions.size(), 1U) << actions.dump();
  EXPECT_EQ(actions[0].at("title"), "Change to `Relu`");
  const Json edit = actions[0].at("edit").at("changes").at(kModel).at(0);
  EXPECT_EQ(edit.at("newText"), "Relu");
  EXPECT_EQ(edit.at("range").at("start").at("character"), 44);
  EXPECT_TRUE(result(refactorings).empty());
}

TEST_F(LanguageServer, ColumnsCountUtf16) {
  open(kModel, "model @m(%\"\xf0\x9d\x95\x8f\": f32[1]) -> (%y: f32[1]) { %y = Relu(%\"\xf0\x9d\x95\x8f\") }");
  const size_t definition = ask("textDocument/definition", at(kModel, 0, 52));
  const size_t tokens = ask("textDocument/semanticTokens/full", whole(kModel));
  run();
  const Json range = result(definition).at("range");
  EXPECT_EQ(range.at("start").at("character"), 9);
  EXPECT_EQ(range.at("end").at("character"), 14);
  // `model`, `@m`, then the value, five units long.
  const Json data = result(tokens).at("data");
  EXPECT_EQ(data.at(10), 0);
  EXPECT_EQ(data.at(11), 3);
  EXPECT_EQ(data.at(12), 5);
}

TEST_F(LanguageServer, RunsTheTestsOfTheOpenText) {
  open(kRules,
       "rules 1 backend a { device a { link host bandwidth 1 GB/s } runtime sim\n rule r { match y = Relu(x) cost 1 us "
       "lower \"r\"(x)\n"
       "test ok \"%y = Relu(%x)\" with x: f32[4] -> {%y}\ntest ok \"%y = Tanh(%x)\" with x: f32[4] -> {%y}\n} }");
  const size_t lenses = ask("textDocument/codeLens", whole(kRules));
  const auto run_tests = [&](Json which) {
    which["uri"] = kRules;
    return ask("workspace/executeCommand", {{"command", "collage.runTests"}, {"arguments", Json::array({which})}});
  };
  const size_t all = run_tests({{"rule", "r"}});
  const size_t second = run_tests({{"rule", "r"}, {"line", 3}});
  const size_t other = run_tests({{"rule", "s"}});
  run();
  EXPECT_EQ(result(lenses).size(), 3U);
  EXPECT_EQ(result(all).at("passed"), 1);
  EXPECT_EQ(result(all).at("failed"), 1);
  EXPECT_EQ(result(second).at("tests").size(), 1U);
  EXPECT_FALSE(result(second).at("tests").at(0).at("passed").get<bool>());
  EXPECT_TRUE(result(other).at("tests").empty());
}

TEST_F(LanguageServer, MissingTestsAreOfferedWhereTheRuleBegins) {
  open(kRules,
       "rules 1\nbackend a {\n  device a { link host bandwidth 1 GB/s }\n  runtime sim\n  rule r {\n    match y = "
       "Relu(x)\n    cost 1 us\n"
       "    lower \"r\"(x)\n  }\n}\n");
  Json params = whole(kRules);
  params["context"] = {{"diagnostics", Json::array()}};
  params["range"] = {{"start", {{"line", 4}, {"character", 8}}}, {"end", {{"line", 4}, {"character", 8}}}};
  const size_t at_head = ask("textDocument/codeAction", params);
  params["range"] = {{"start", {{"line", 6}, {"character", 8}}}, {"end", {{"line", 6}, {"character", 8}}}};
  const size_t inside = ask("textDocument/codeAction", params);
  run();
  const Json actions = result(at_head);
  ASSERT_EQ(actions.size(), 1U) << actions.dump();
  EXPECT_EQ(actions[0].at("title"), "Add a `test ok` of rule `r`");
  // This editor does not ask for the edit later, so it is there.
  const Json edit = actions[0].at("edit").at("changes").at(kRules).at(0);
  EXPECT_EQ(edit.at("range").at("start"), (Json{{"line", 7}, {"character", 16}}));
  EXPECT_TRUE(edit.at("newText").get<std::string>().starts_with("\n    test ok \"%y = Relu(%x)\" with x: f32["));
  EXPECT_TRUE(result(inside).empty());
}

TEST_F(LanguageServer, TextsThatEndInsideAPattern) {
  std::vector<size_t> asked;
  for (const char* end : {"=", "d =", "d = (", "d = Relu", "d = Relu(", "d = Relu |", "d = Sub(x, mean ="}) {
    const std::string line = std::string("match y = Mul(") + end;
    open(kRules, "rules 1\nbackend a {\nrule r {\n" + line);
    const int last = static_cast<int>(line.size());
    for (const char* method : {"textDocument/hover", "textDocument/definition", "textDocument/completion"})
      asked.push_back(ask(method, at(kRules, 3, last)));
    asked.push_back(ask("textDocument/semanticTokens/full", whole(kRules)));
  }
  run();
  for (size_t id : asked) EXPECT_TRUE(answers_.at(id).contains("result")) << answers_.at(id).dump();
}

TEST_F(LanguageServer, IncludesAreReadFromOpenFiles) {
  constexpr const char* kCommon = "file:///tmp/collage_lsp_none/../collage_lsp_none/common.rules";
  constexpr const char* kUser = "file:///tmp/collage_lsp_none/user.rules";
  const std::string user =
      "rules 1\ninclude \"common.rules\"\nbackend a {\n  runtime host_jit\n  rule r {\n    match y = act(x)\n    cost "
      "1 us\n"
      "    test ok \"%y = Tanh(%x)\" with x: f32[1] -> {%y}\n  }\n}\n";
  open(kUser, user);
  open(kCommon, "rules 1\ndef act = Relu | Tanh\n");
  const size_t tests = ask("workspace/executeCommand",
                           {{"command", "collage.runTests"}, {"arguments", Json::array({{{"uri", kUser}}})}});
  open(kCommon, "rules 1\ndef other = Relu | Tanh\n");
  notify("textDocument/didClose", whole(kCommon));
  run();
  EXPECT_EQ(result(tests).at("passed"), 1);
  // What was said of the file that nobody has touched, once for each change of it.
  std::vector<std::string> said;
  for (const Json& published : published_) {
    if (published.at("uri") != kUser) continue;
    EXPECT_EQ(published.at("version"), 1);
    std::string errors;
    for (const Json& each : published.at("diagnostics")) {
      if (each.at("severity") == 1) errors += each.at("code").get<std::string>() + " ";
    }
    if (said.empty() || said.back() != errors) said.push_back(errors);
  }
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[0], "CG0001 ");  // no such file
  EXPECT_EQ(said[1], "");
  EXPECT_NE(said[2], "");  // `act` is unknown
  EXPECT_NE(said[2], said[0]);
  EXPECT_EQ(said[3], "CG0001 ");
}

TEST_F(LanguageServer, NamesAreWrittenWithTheQuotesThatTheyNeed) {
  const std::string head = "model @m(%\"a//b\": f32[1]) -> (%y: f32[1]) {\n  %y = Relu(%";
  open(kModel, head + "\"a//c\") }");
  Json params = whole(kModel);
  params["range"] = {{"start", {{"line", 1}, {"character", 12}}}, {"end", {{"line", 1}, {"character", 12}}}};
  params["context"] = {{"diagnostics", Json::array()}};
  const size_t fix = ask("textDocument/codeAction", params);
  open(kModel, head + "a");
  const size_t completion = ask("textDocument/completion", at(kModel, 1, 14));
  run();
  const Json edit = result(fix).at(0).at("edit").at("changes").at(kModel).at(0);
  EXPECT_EQ(edit.at("newText"), "\"a//b\"");
  EXPECT_EQ(edit.at("range").at("start").at("character"), 13);
  EXPECT_EQ(result(completion).at(0).at("label"), "a//b");
  EXPECT_EQ(result(completion).at(0).at("textEdit").at("newText"), "\"a//b\"");
}

TEST_F(LanguageServer, RenamesNothingThatOthersName) {
  open(kRules,
       "rules 1\nbackend a {\n  device a { link host bandwidth 1 GB/s }\n  runtime sim\n  def act = Relu | Tanh\n"
       "  semantics \"f\"(v, of) = of(v)\n  rule r {\n    match y = act(v)\n    cost 1 us\n    lower \"f\"(v, of = "
       "op(y))\n  }\n  rule s {\n    match y = Abs(z)\n    cost 1 us\n  }\n}\n");
  const auto rename = [&](int line, int character, const char* name) {
    Json params = at(kRules, line, character);
    params["newName"] = name;
    return ask("textDocument/rename", params);
  };
  const size_t argument = rename(5, 19, "function");
  const size_t captured_elsewhere = rename(4, 6, "z");
  const size_t free_name = rename(4, 6, "activation");
  run();
  constexpr int kRequestFailed = -32803;
  EXPECT_EQ(answers_.at(argument).at("error").at("code"), kRequestFailed);
  EXPECT_EQ(answers_.at(captured_elsewhere).at("error").at("code"), kRequestFailed);
  EXPECT_EQ(result(free_name).at("changes").at(kRules).size(), 2U);
}

TEST_F(LanguageServer, ADimensionMayKeepItsName) {
  open(kModel, "model @m(%x: f32[n]) -> (%y: f32[n]) { %y = Relu(%x) }");
  Json params = at(kModel, 0, 17);
  params["newName"] = "n";
  const size_t same = ask("textDocument/rename", params);
  run();
  EXPECT_TRUE(result(same).at("changes").at(kModel).empty());
}

TEST_F(LanguageServer, FilesBesideADocumentInNoFolder) {
  notify("textDocument/didOpen",
         {{"textDocument",
           {{"uri", "untitled:1"}, {"languageId", "collage-rules"}, {"text", "rules 1\ninclude \"b.rules\"\n"}}}});
  open(kRules, "rules 1\ninclude \"b c.rules\"\n");
  const size_t nowhere = ask("textDocument/definition", at("untitled:1", 1, 12));
  const size_t beside = ask("textDocument/definition", at(kRules, 1, 12));
  run();
  EXPECT_TRUE(result(nowhere).is_null());
  EXPECT_EQ(result(beside).at("uri"), "file:///tmp/b%20c.rules");
}

TEST_F(LanguageServer, AnActionOfAnOlderTextIsRefused) {
  const std::string text =
      "rules 1\nbackend a {\n  device a { link host bandwidth 1 GB/s }\n  runtime sim\n  rule r { match y = Relu(x) "
      "cost 1 "
      "us }\n  rule s { match y = Tanh(x) cost 1 us }\n}\n";
  const Json params = {{"title", "Add"}, {"data", {{"uri", kRules}, {"offset", text.find("rule s")}, {"test", "ok"}}}};
  open(kRules, text);
  Json of_other = params;
  of_other["data"]["name"] = "r";
  Json of_this = params;
  of_this["data"]["name"] = "s";
  const size_t refused = ask("codeAction/resolve", of_other);
  const size_t made = ask("codeAction/resolve", of_this);
  run();
  EXPECT_TRUE(answers_.at(refused).contains("error"));
  EXPECT_EQ(result(made).at("edit").at("changes").at(kRules).size(), 1U);
}

TEST(LanguageServerTransport, GoesOnAfterAMessageThatIsTooLarge) {
  const size_t size = (size_t{64} << 20) + 1;
  std::istringstream in("Content-Length: " + std::to_string(size) + "\r\nX: y\r\n\r\n" + std::string(size, '\n') +
                        "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(read_message(in).kind, Incoming::Kind::Bad);
  const Incoming next = read_message(in);
  EXPECT_EQ(next.kind, Incoming::Kind::Message);
  EXPECT_EQ(next.text, "{}");
}

TEST(LanguageServerPositions, LongLines) {
  std::string text = "\n";
  for (int i = 0; i < 300; ++i) text += "a\xf0\x9d\x95\x8f";
  text += "\nb";
  const Positions positions(text);
  for (uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(positions.column_of(1 + 5 * i), 3 * i);
    EXPECT_EQ(positions.column_of(2 + 5 * i), 3 * i + 1);
  }
  const auto size = static_cast<uint32_t>(text.size());
  EXPECT_EQ(positions.line_of(size), 2U);
  EXPECT_EQ(positions.column_of(size), 1U);
  EXPECT_EQ(Positions("").column_of(0), 0U);
  const std::string block(256, 'a');
  EXPECT_EQ(Positions(block).column_of(256), 256U);
}

}  // namespace
}  // namespace collage::rules_tool::lsp
