// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "compiler/rules_tool/lsp/diagnostics.h"
#include "compiler/rules_tool/lsp/model_file.h"
#include "compiler/rules_tool/lsp/rules_file.h"
#include "compiler/rules_tool/lsp/serve.h"
#include "compiler/rules_tool/lsp/test_lenses.h"
#include "compiler/rules_tool/lsp/transport.h"
#include "include/collage/version.h"

namespace collage::rules_tool::lsp {
namespace {

// Codes of JSON-RPC 2.0 and of the protocol.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kInternalError = -32603;
constexpr int kNotInitialized = -32002;
constexpr int kRequestFailed = -32803;

struct RequestError : std::runtime_error {
  RequestError(int error_code, const std::string& message) : std::runtime_error(message), code(error_code) {}
  int code;
};

Json capabilities() {
  constexpr int kFullText = 1;
  return {{"capabilities",
           {{"textDocumentSync", {{"openClose", true}, {"change", kFullText}}},
            {"hoverProvider", true},
            {"definitionProvider", true},
            {"referencesProvider", true},
            {"renameProvider", {{"prepareProvider", true}}},
            {"completionProvider", {{"triggerCharacters", {".", "%", "@"}}}},
            {"documentFormattingProvider", true},
            {"documentSymbolProvider", true},
            {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}}},
            {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}, {"resolveProvider", true}}},
            {"codeLensProvider", {{"resolveProvider", false}}},
            {"executeCommandProvider", {{"commands", {kRunTests}}}}}},
          {"serverInfo", {{"name", "collage-rules"}, {"version", COLLAGE_VERSION}}}};
}

/// The value at a JSON pointer; null where there is none.
Json at_pointer(const Json& value, const char* pointer) {
  const Json::json_pointer path(pointer);
  return value.is_structured() && value.contains(path) ? value.at(path) : Json(nullptr);
}

bool is_model(const std::string& uri, const Json& language) {
  if (language == "collage-model") return true;
  return language != "collage-rules" && path_of(uri).ends_with(".ir");
}

/// The path by which an `include` finds a file.
std::string buffer_path(const std::string& uri) {
  return std::filesystem::path(path_of(uri)).lexically_normal().string();
}

/// Where ranges of the protocol begin and end, to compare them.
std::pair<int64_t, int64_t> place_of(const Json& position) {
  return {position.at("line").get<int64_t>(), position.at("character").get<int64_t>()};
}

bool overlap(const Json& a, const Json& b) {
  return place_of(a.at("start")) <= place_of(b.at("end")) && place_of(b.at("start")) <= place_of(a.at("end"));
}

Json edit_of(const OpenFile& file, const std::vector<Edit>& edits) {
  const Positions positions(file.text());
  Json all = Json::array();
  for (const Edit& edit : edits) all.push_back({{"range", positions.range(edit.span)}, {"newText", edit.text}});
  return {{"changes", {{file.uri(), std::move(all)}}}};
}

/// Does an editor that asks for `only` these kinds want fixes?
bool wants_fixes(const Json& only) {
  if (!only.is_array()) return true;
  return std::any_of(only.begin(), only.end(), [](const Json& kind) { return kind == "quickfix" || kind == ""; });
}

/// Tests that failed, as diagnostics.
Json failures_of(const Json& outcome) {
  Json failures = Json::array();
  for (const Json& test : outcome.at("tests")) {
    if (test.at("passed").get<bool>()) continue;
    failures.push_back({{"range", test.at("range")},
                        {"severity", kErrorSeverity},
                        {"source", "collage-rules test"},
                        {"message", test.at("message")}});
  }
  return failures;
}

/// `id` of a request: a number or a string; anything else is not answered by it.
Json id_of(const Json& message) {
  auto id = message.find("id");
  if (id == message.end() || !(id->is_number() || id->is_string())) return nullptr;
  return *id;
}

}  // namespace

bool serve(std::istream& in, std::ostream& out, support::Diagnostics&) {
  return Server(in, out).run();
}

bool Server::run() {
  const bool was_shut_down = serve();
  // Results that come after the end have no reader.
  const std::lock_guard lock(published_mutex_);
  published_.clear();
  return was_shut_down;
}

bool Server::serve() {
  bool was_shut_down = false;
  while (state_ != State::Exited) {
    was_shut_down = state_ == State::ShutDown;
    Incoming message = read_message(in_);
    if (message.kind == Incoming::Kind::End) return was_shut_down;
    if (message.kind == Incoming::Kind::Bad) {
      send_error(nullptr, kParseError, message.text);
    } else {
      handle(message.text);
    }
  }
  return was_shut_down;
}

void Server::handle(const std::string& text) {
  // Values nested deeper than any message are left out.
  constexpr int kMostDeep = 32;
  auto is_shallow = [](int depth, Json::parse_event_t, const Json&) { return depth <= kMostDeep; };
  Json message = Json::parse(text, is_shallow, /*allow_exceptions=*/false);
  if (message.is_discarded()) return send_error(nullptr, kParseError, "the message is not JSON");
  if (!message.is_object()) return send_error(nullptr, kInvalidRequest, "the message is not an object");
  Json id = id_of(message);
  auto method = message.find("method");
  // An answer to a request of ours; we make none.
  if (method == message.end() && (message.contains("result") || message.contains("error"))) return;
  if (method == message.end() || !method->is_string()) {
    return send_error(id, kInvalidRequest, "the message has no method");
  }
  const Json params = message.contains("params") ? message["params"] : Json::object();
  bool is_request = message.contains("id");
  try {
    if (!is_request) return notify(*method, params);
    Json result = request(*method, params);
    send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  } catch (const RequestError& error) {
    if (is_request) send_error(id, error.code, error.what());
  } catch (const Json::exception&) {
    if (is_request) send_error(id, kInvalidParams, "the parameters have another form");
  } catch (const std::exception& error) {
    send_error(is_request ? id : Json(nullptr), kInternalError, error.what());
  }
}

Json Server::request(const std::string& method, const Json& params) {
  if (state_ == State::ShutDown) throw RequestError(kInvalidRequest, "the server is shut down");
  if (method == "initialize") {
    if (state_ == State::Running) throw RequestError(kInvalidRequest, "the server is initialized");
    state_ = State::Running;
    return initialize(params);
  }
  if (state_ == State::Fresh) throw RequestError(kNotInitialized, "the server is not initialized");
  if (method == "shutdown") {
    state_ = State::ShutDown;
    return nullptr;
  }
  if (method == "textDocument/hover") return file(params).hover(offset(params));
  if (method == "textDocument/definition") return file(params).definition(offset(params));
  if (method == "textDocument/references") return references(params);
  if (method == "textDocument/prepareRename") return prepare_rename(params);
  if (method == "textDocument/rename") return rename(params);
  if (method == "textDocument/completion") return file(params).completion(offset(params));
  if (method == "textDocument/formatting") return format(params);
  if (method == "textDocument/documentSymbol") return file(params).symbols();
  if (method == "textDocument/semanticTokens/full") {
    const OpenFile& of = file(params);
    return {{"data", encode_tokens(of.text(), of.semantic_tokens())}};
  }
  if (method == "textDocument/codeAction") return code_actions(params);
  if (method == "codeAction/resolve") return resolve(params);
  if (method == "textDocument/codeLens") return file(params).lenses();
  if (method == "workspace/executeCommand") return run_command(params);
  throw RequestError(kMethodNotFound, "no method `" + method + "`");
}

void Server::notify(const std::string& method, const Json& params) {
  if (method == "exit") {
    state_ = State::Exited;
    return;
  }
  if (state_ != State::Running) return;
  if (method == "textDocument/didOpen") {
    const Json& item = params.at("textDocument");
    open(item, item.at("text"));
  } else if (method == "textDocument/didChange") {
    // The whole text, as `textDocumentSync` asks for: of several changes the last one counts.
    const Json& changes = params.at("contentChanges");
    if (changes.is_array() && !changes.empty()) open(params.at("textDocument"), changes.back().at("text"));
  } else if (method == "textDocument/didClose") {
    close(params.at("textDocument").at("uri"));
  }
}

Json Server::initialize(const Json& params) {
  const Json properties = at_pointer(params, "/capabilities/textDocument/codeAction/resolveSupport/properties");
  resolves_edits_ =
      properties.is_array() && std::find(properties.begin(), properties.end(), "edit") != properties.end();
  return capabilities();
}

void Server::open(const Json& item, std::string text) {
  const std::string uri = item.at("uri");
  auto known = files_.find(uri);
  const auto* before = known == files_.end() ? nullptr : dynamic_cast<const ModelFile*>(known->second.get());
  const bool is_of_models = known == files_.end() ? is_model(uri, at_pointer(item, "/languageId")) : before != nullptr;
  const Json version = at_pointer(item, "/version");
  if (is_of_models) {
    show(uri, version, std::make_unique<ModelFile>(uri, std::move(text), before));
  } else {
    show(uri, version,
         std::make_unique<RulesFile>(uri, std::make_shared<const std::string>(std::move(text)), buffers()));
    show_dependents(uri);
  }
}

void Server::show(const std::string& uri, const Json& version, std::unique_ptr<OpenFile> opened) {
  const OpenFile& file = *opened;
  files_.insert_or_assign(uri, std::move(opened));
  const int64_t serial = ++serial_;
  {
    const std::lock_guard lock(published_mutex_);
    published_[uri] = {serial, version, Json::array(), Json::array()};
  }
  background_.cancel(uri);
  publish(uri, serial, file.diagnostics());
  if (!file.has_slow_check()) return;
  background_.start(uri, [this, uri, serial, text = file.shared_text(), others = buffers()] {
    try {
      Json found = slow_diagnostics(uri, text, others);
      if (!found.empty()) publish(uri, serial, std::move(found));
    } catch (const std::exception& error) {
      send_notification("window/logMessage", {{"type", 1}, {"message", error.what()}});
    }
  });
}

void Server::show_dependents(const std::string& uri) {
  const std::string path = buffer_path(uri);
  std::vector<std::string> dependents;
  for (const auto& [other, file] : files_) {
    if (other != uri && file->depends_on(path)) dependents.push_back(other);
  }
  for (const std::string& other : dependents) {
    Json version;
    {
      const std::lock_guard lock(published_mutex_);
      version = published_.at(other).version;
    }
    show(other, version, std::make_unique<RulesFile>(other, file_of(other).shared_text(), buffers()));
  }
}

Buffers Server::buffers() const {
  Buffers open;
  for (const auto& [uri, file] : files_) {
    if (dynamic_cast<const RulesFile*>(file.get()) != nullptr) open[buffer_path(uri)] = file->shared_text();
  }
  return open;
}

void Server::close(const std::string& uri) {
  background_.cancel(uri);
  files_.erase(uri);
  const int64_t serial = ++serial_;
  {
    const std::lock_guard lock(published_mutex_);
    published_[uri] = {serial, nullptr, Json::array(), Json::array()};
  }
  publish(uri, serial, Json::array());
  {
    const std::lock_guard lock(published_mutex_);
    published_.erase(uri);
  }
  show_dependents(uri);
}

const OpenFile& Server::file_of(const std::string& uri) const {
  auto found = files_.find(uri);
  if (found == files_.end()) throw RequestError(kInvalidParams, "the document is not open");
  return *found->second;
}

const OpenFile& Server::file(const Json& params) const {
  return file_of(params.at("textDocument").at("uri").get<std::string>());
}

uint32_t Server::offset(const Json& params) const {
  return offset_at(file(params).text(), params.at("position"));
}

Json Server::references(const Json& params) const {
  const OpenFile& of = file(params);
  const Json wanted = at_pointer(params, "/context/includeDeclaration");
  const Positions positions(of.text());
  Json all = Json::array();
  for (const support::Span& span : of.references(offset(params), !wanted.is_boolean() || wanted.get<bool>()))
    all.push_back({{"uri", of.uri()}, {"range", positions.range(span)}});
  return all;
}

Json Server::prepare_rename(const Json& params) const {
  const OpenFile& of = file(params);
  const std::optional<Renamable> found = of.renamable(offset(params));
  if (!found) return nullptr;
  return {{"range", range_of(of.text(), found->span)}, {"placeholder", found->name}};
}

Json Server::rename(const Json& params) const {
  const OpenFile& of = file(params);
  const Rename made = of.rename(offset(params), params.at("newName"));
  if (!made.refusal.empty()) throw RequestError(kRequestFailed, made.refusal);
  return edit_of(of, made.edits);
}

Json Server::format(const Json& params) const {
  const OpenFile& of = file(params);
  if (!of.has_formatter()) return nullptr;
  std::optional<std::string> text = of.formatted();
  if (!text) throw RequestError(kInvalidRequest, "the document does not parse");
  if (*text == of.text()) return Json::array();
  support::Span all{{}, 0, static_cast<uint32_t>(of.text().size())};
  return Json::array({{{"range", range_of(of.text(), all)}, {"newText", *text}}});
}

Json Server::code_actions(const Json& params) {
  const OpenFile& of = file(params);
  const Json& range = params.at("range");
  Json all = Json::array();
  if (!wants_fixes(at_pointer(params, "/context/only"))) return all;
  for (const Json& diagnostic : diagnostics_of(of.uri())) {
    if (!overlap(diagnostic.at("range"), range)) continue;
    for (const Json& fix : at_pointer(diagnostic, "/data/fixes")) {
      const std::string text = fix.at("newText");
      all.push_back({{"title", fmt::format("Change to `{}`", text)},
                     {"kind", "quickfix"},
                     {"isPreferred", true},
                     {"diagnostics", Json::array({diagnostic})},
                     {"edit", {{"changes", {{of.uri(), Json::array({fix})}}}}}});
    }
  }
  for (const Json& action : of.actions(offset_at(of.text(), range.at("start")))) {
    // An editor that does not resolve edits gets the edit now, if one can be made.
    Json whole = action;
    if (!resolves_edits_) {
      const std::vector<Edit> edits = of.resolve(action.at("data"));
      if (edits.empty()) continue;
      whole["edit"] = edit_of(of, edits);
    }
    all.push_back(std::move(whole));
  }
  return all;
}

Json Server::resolve(Json action) const {
  if (action.contains("edit")) return action;
  const Json& data = action.at("data");
  const OpenFile& of = file_of(data.at("uri").get<std::string>());
  const std::vector<Edit> edits = of.resolve(data);
  if (edits.empty()) throw RequestError(kRequestFailed, "no model was found that shows it");
  action["edit"] = edit_of(of, edits);
  return action;
}

Json Server::run_command(const Json& params) {
  if (params.at("command") != kRunTests) throw RequestError(kInvalidParams, "there is no such command");
  const Json& which = params.at("arguments").at(0);
  const OpenFile& of = file_of(which.at("uri").get<std::string>());
  std::optional<Json> outcome = of.run_tests(which);
  if (!outcome) throw RequestError(kRequestFailed, "the file has errors");
  const int failed = outcome->at("failed");
  constexpr int kErrorMessage = 1, kInfoMessage = 3;
  send_notification("window/showMessage",
                    {{"type", failed > 0 ? kErrorMessage : kInfoMessage},
                     {"message", fmt::format("{} passed, {} failed", outcome->at("passed").get<int>(), failed)}});
  // Failures stand with the other diagnostics until the text changes.
  publish_failures(of.uri(), failures_of(*outcome));
  return std::move(*outcome);
}

Json Server::diagnostics_of(const std::string& uri) {
  const std::lock_guard lock(published_mutex_);
  auto known = published_.find(uri);
  return known == published_.end() ? Json::array() : known->second.diagnostics;
}

void Server::publish(const std::string& uri, int64_t serial, Json diagnostics) {
  const std::lock_guard lock(published_mutex_);
  auto known = published_.find(uri);
  if (known == published_.end() || known->second.serial != serial) return;
  known->second.diagnostics = std::move(diagnostics);
  send_published(uri, known->second);
}

void Server::publish_failures(const std::string& uri, Json failures) {
  const std::lock_guard lock(published_mutex_);
  auto known = published_.find(uri);
  if (known == published_.end()) return;
  known->second.failures = std::move(failures);
  send_published(uri, known->second);
}

void Server::send_published(const std::string& uri, const Published& published) {
  Json all = published.diagnostics;
  for (const Json& failure : published.failures) all.push_back(failure);
  Json params = {{"uri", uri}, {"diagnostics", std::move(all)}};
  if (published.version.is_number_integer()) params["version"] = published.version;
  send_notification("textDocument/publishDiagnostics", std::move(params));
}

void Server::send(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::lock_guard lock(output_);
  write_message(out_, text);
}

void Server::send_notification(const char* method, Json params) {
  send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

void Server::send_error(const Json& id, int code, const std::string& message) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

}  // namespace collage::rules_tool::lsp
