// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/server.h"

#include <filesystem>
#include <stdexcept>

#include "compiler/rules_tool/lsp/completion.h"
#include "compiler/rules_tool/lsp/references.h"
#include "compiler/rules_tool/lsp/symbols.h"
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
            {"renameProvider", true},
            {"completionProvider", {{"triggerCharacters", {"."}}}},
            {"documentFormattingProvider", true}}},
          {"serverInfo", {{"name", "collage-rules"}, {"version", COLLAGE_VERSION}}}};
}

/// `id` of a request: a number or a string; anything else is not answered by it.
Json id_of(const Json& message) {
  auto id = message.find("id");
  if (id == message.end() || !(id->is_number() || id->is_string())) return nullptr;
  return *id;
}

}  // namespace

bool Server::run() {
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
  // What is nested deeper than any message is left out.
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
    return capabilities();
  }
  if (state_ == State::Fresh) throw RequestError(kNotInitialized, "the server is not initialized");
  if (method == "shutdown") {
    state_ = State::ShutDown;
    return nullptr;
  }
  if (method == "textDocument/hover") return hover(params);
  if (method == "textDocument/definition") return definition(params);
  if (method == "textDocument/references") return references(params);
  if (method == "textDocument/rename") return rename(params);
  if (method == "textDocument/completion") {
    const Document& of = document(params);
    return completion(of, offset_at(of.text(), params.at("position")));
  }
  if (method == "textDocument/formatting") return format(params);
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
    open(item.at("uri"), item.at("text"));
  } else if (method == "textDocument/didChange") {
    // The whole text, as `textDocumentSync` asks for: of several changes the last one counts.
    const Json& changes = params.at("contentChanges");
    if (changes.is_array() && !changes.empty()) open(params.at("textDocument").at("uri"), changes.back().at("text"));
  } else if (method == "textDocument/didClose") {
    std::string uri = params.at("textDocument").at("uri");
    documents_.erase(uri);
    send({{"jsonrpc", "2.0"},
          {"method", "textDocument/publishDiagnostics"},
          {"params", {{"uri", uri}, {"diagnostics", Json::array()}}}});
  }
}

void Server::open(const std::string& uri, std::string text) {
  Document& opened = documents_.insert_or_assign(uri, Document(uri, std::move(text))).first->second;
  send({{"jsonrpc", "2.0"},
        {"method", "textDocument/publishDiagnostics"},
        {"params", {{"uri", uri}, {"diagnostics", opened.diagnostics()}}}});
}

const Document& Server::document(const Json& params) const {
  auto found = documents_.find(params.at("textDocument").at("uri").get<std::string>());
  if (found == documents_.end()) throw RequestError(kInvalidParams, "the document is not open");
  return found->second;
}

Json Server::hover(const Json& params) const {
  const Document& of = document(params);
  std::optional<Symbol> symbol = symbol_at(of, offset_at(of.text(), params.at("position")));
  if (!symbol) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", symbol->text}}}, {"range", range_of(of.text(), symbol->span)}};
}

Json Server::definition(const Json& params) const {
  const Document& of = document(params);
  std::optional<Symbol> symbol = symbol_at(of, offset_at(of.text(), params.at("position")));
  if (!symbol) return nullptr;
  if (symbol->definition) return {{"uri", of.uri()}, {"range", range_of(of.text(), *symbol->definition)}};
  if (symbol->kind != Symbol::Kind::Include) return nullptr;
  std::filesystem::path folder = std::filesystem::path(path_of(of.uri())).parent_path();
  std::string path = (folder / symbol->name).lexically_normal().string();
  return {{"uri", uri_of(path)}, {"range", range_of("", {})}};
}

Json Server::references(const Json& params) const {
  const Document& of = document(params);
  const uint32_t offset = offset_at(of.text(), params.at("position"));
  bool with_declaration = true;
  if (auto context = params.find("context"); context != params.end())
    with_declaration = context->value("includeDeclaration", true);
  std::optional<Symbol> symbol = symbol_at(of, offset);
  Json all = Json::array();
  for (const support::Span& span : references_of(of, offset)) {
    const bool is_declaration = symbol && symbol->definition && symbol->definition->begin == span.begin;
    if (!is_declaration || with_declaration) all.push_back({{"uri", of.uri()}, {"range", range_of(of.text(), span)}});
  }
  return all;
}

Json Server::rename(const Json& params) const {
  const Document& of = document(params);
  const Rename made = rename_at(of, offset_at(of.text(), params.at("position")), params.at("newName"));
  if (!made.refusal.empty()) throw RequestError(kRequestFailed, made.refusal);
  Json edits = Json::array();
  for (const Edit& edit : made.edits)
    edits.push_back({{"range", range_of(of.text(), edit.span)}, {"newText", edit.text}});
  return {{"changes", {{of.uri(), std::move(edits)}}}};
}

Json Server::format(const Json& params) const {
  const Document& of = document(params);
  std::optional<std::string> text = of.formatted();
  if (!text) throw RequestError(kInvalidRequest, "the document does not parse");
  if (*text == of.text()) return Json::array();
  support::Span all{{}, 0, static_cast<uint32_t>(of.text().size())};
  return Json::array({{{"range", range_of(of.text(), all)}, {"newText", *text}}});
}

void Server::send(const Json& message) {
  write_message(out_, message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Server::send_error(const Json& id, int code, const std::string& message) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

}  // namespace collage::rules_tool::lsp
