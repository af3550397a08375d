// SPDX-License-Identifier: Apache-2.0
// `collage-rules lsp`: a language server for both languages over standard input and output. It knows open documents
// only, as texts; nothing is written, and nothing that is sent can end it but `exit` and the end of the input.
//
// Diagnostics, hover, go to definition, references, rename, completion, formatting of rule files, symbols, semantic
// tokens, fixes of diagnostics, missing tests, and lenses that run tests. What takes longer than an answer may, the
// warnings of rule files, is found beside and published when it is there. An `include` leads to the text of an open
// file before that on disk.
#pragma once

#include <chrono>
#include <istream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>

#include "compiler/rules_tool/lsp/background.h"
#include "compiler/rules_tool/lsp/document.h"
#include "compiler/rules_tool/lsp/open_file.h"

namespace collage::rules_tool::lsp {

class Server {
 public:
  Server(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  /// Serves until `exit` or the end of the input. True if `shutdown` came before.
  bool run();

 private:
  enum class State { Fresh, Running, ShutDown, Exited };

  /// What was published last about a file.
  struct Published {
    int64_t serial = 0;  ///< counts the changes of all files
    Json version;        ///< the editor's number of the text; null where it gave none
    Json diagnostics = Json::array();
    Json failures = Json::array();  ///< of tests that were run, as diagnostics
  };

  bool serve();
  void handle(const std::string& text);
  /// The result of a request. Throws RequestError, or what JSON throws where parameters are of another form.
  Json request(const std::string& method, const Json& params);
  void notify(const std::string& method, const Json& params);

  Json initialize(const Json& params);
  void open(const Json& item, std::string text);
  void close(const std::string& uri);
  /// Makes it the file that `uri` has from now on, and says what is wrong with it.
  void show(const std::string& uri, const Json& version, std::unique_ptr<OpenFile> file);
  /// Shows the open files again that depend on the text of `uri`, which has changed.
  void show_dependents(const std::string& uri);
  /// The texts of open rule files.
  Buffers buffers() const;
  const OpenFile& file(const Json& params) const;
  const OpenFile& file_of(const std::string& uri) const;
  uint32_t offset(const Json& params) const;
  Json references(const Json& params) const;
  Json prepare_rename(const Json& params) const;
  Json rename(const Json& params) const;
  Json format(const Json& params) const;
  Json code_actions(const Json& params);
  Json resolve(Json action) const;
  Json run_command(const Json& params);

  /// Sends diagnostics, with the failures of tests that are known, unless the text has changed since `serial`.
  void publish(const std::string& uri, int64_t serial, Json diagnostics);
  /// Sends failures of tests beside the diagnostics.
  void publish_failures(const std::string& uri, Json failures);
  /// Its caller holds `published_mutex_` while it is sent: nothing older follows.
  void send_published(const std::string& uri, const Published& published);
  Json diagnostics_of(const std::string& uri);
  void send(const Json& message);
  void send_notification(const char* method, Json params);
  void send_error(const Json& id, int code, const std::string& message);

  std::istream& in_;
  std::ostream& out_;
  State state_ = State::Fresh;
  bool resolves_edits_ = false;  ///< the editor asks for the edit of an action when it is chosen
  int64_t serial_ = 0;
  std::map<std::string, std::unique_ptr<OpenFile>> files_;
  std::mutex output_;
  std::mutex published_mutex_;
  std::map<std::string, Published> published_;
  static constexpr std::chrono::milliseconds kQuiet{200};
  Background background_{kQuiet};  ///< last: it ends before what its jobs use
};

}  // namespace collage::rules_tool::lsp
