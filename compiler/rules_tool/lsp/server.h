// SPDX-License-Identifier: Apache-2.0
// `collage-rules lsp`: a language server for rule files over standard input and output. It knows open documents only,
// as texts; nothing is written, and nothing that is sent can end it but `exit` and the end of the input.
//
// Diagnostics, hover, go to definition, completion, formatting.
#pragma once

#include <istream>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "compiler/rules_tool/lsp/document.h"

namespace collage::rules_tool::lsp {

class Server {
 public:
  Server(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  /// Serves until `exit` or the end of the input. True if `shutdown` came before.
  bool run();

 private:
  enum class State { Fresh, Running, ShutDown, Exited };

  void handle(const std::string& text);
  /// The result of a request. Throws RequestError, or what JSON throws where parameters are of another form.
  Json request(const std::string& method, const Json& params);
  void notify(const std::string& method, const Json& params);

  void open(const std::string& uri, std::string text);
  const Document& document(const Json& params) const;
  Json hover(const Json& params) const;
  Json definition(const Json& params) const;
  Json references(const Json& params) const;
  Json rename(const Json& params) const;
  Json format(const Json& params) const;

  void send(const Json& message);
  void send_error(const Json& id, int code, const std::string& message);

  std::istream& in_;
  std::ostream& out_;
  State state_ = State::Fresh;
  std::map<std::string, Document> documents_;
};

}  // namespace collage::rules_tool::lsp
