// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL server for the tests of this program: made in a temporary folder by the first test that asks, reached by
// a Unix socket alone, gone with the program, however that ends.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "compiler/measure/postgres/connection.h"

namespace collage::measure {

class PostgresCluster {
 public:
  static PostgresCluster& instance() {
    static PostgresCluster made;
    return made;
  }

  /// Why there is no server; empty: there is one.
  const std::string& why_absent() const { return why_absent_; }

  std::string address(const std::string& database, const std::string& user = "postgres",
                      const std::string& more = "") const {
    return "postgresql://" + user + "@/" + database + "?host=" + folder_ + "&connect_timeout=5" + more;
  }
  /// Makes a database that is empty.
  void make_database(const std::string& name) const {
    run(address("postgres"), "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    run(address("postgres"), "CREATE DATABASE " + name);
  }
  /// Runs statements; returns the failure, or nothing.
  static std::string run(const std::string& address, const std::string& statements) {
    auto server = postgres::Connection::open(address);
    if (!server) return server.message();
    const runtime::Status done = (*server)->execute_script(statements);
    return done ? "" : done.message();
  }

  /// Stops all of its processes where they are: the server answers no more, and no connection is cut.
  void pause() { signal_all(SIGSTOP); }
  void go_on() { signal_all(SIGCONT); }

  /// Ends the server as a crash would.
  void stop() {
    if (process_ <= 0) return;
    go_on();
    ::kill(process_, SIGQUIT);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  void start() {
    process_ = ::fork();
    if (process_ == 0) {
      std::vector<std::string> words = as_user();
      // The server ends with this program.
      words.insert(words.begin() + 1, {"--pdeathsig", "QUIT"});
      words.insert(words.end(), {programs_ + "/postgres", "-D", folder_ + "/data", "-k", folder_, "-h", "", "-F"});
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      if (std::freopen((folder_ + "/log").c_str(), "a", stderr) == nullptr) ::_exit(1);
      (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
      ::execvp(arguments[0], arguments.data());
      ::_exit(1);
    }
    for (int tries = 0; tries < 200; ++tries) {
      auto server = postgres::Connection::open(address("postgres"));
      why_absent_ = server ? "" : "the server does not start: " + server.message();
      if (server) return;
      ::usleep(50'000);
    }
  }
  bool is_running() const { return process_ > 0; }

 private:
  PostgresCluster() {
    find_programs();
    if (programs_.empty()) {
      why_absent_ = "initdb of PostgreSQL is not installed";
      return;
    }
    if (auto opened = postgres::Connection::open("postgresql:///x?host=/nowhere");
        opened.message().find("built without") != std::string::npos) {
      why_absent_ = opened.message();
      return;
    }
    char folder[] = "/tmp/collage_postgres_XXXXXX";  // the name of a socket has at most 107 characters
    if (::mkdtemp(folder) == nullptr) {
      why_absent_ = "no temporary folder";
      return;
    }
    folder_ = folder;
    std::string command;
    for (const std::string& word : as_user()) command += word + " ";
    if (::geteuid() == 0) command = "chown nobody " + folder_ + " && " + command;
    command += programs_ + "/initdb -D " + folder_ + "/data -U postgres -A trust -N -E UTF8 --no-locale > " + folder_ +
               "/initdb.log 2>&1";
    if (std::system(command.c_str()) != 0) {
      why_absent_ = "initdb failed";
      return;
    }
    start();
  }
  ~PostgresCluster() {
    stop();
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  /// Where Debian has them, the newest version first, or where the path leads.
  void find_programs() {
    namespace fs = std::filesystem;
    std::error_code error;
    int newest = 0;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", error)) {
      const int version = std::atoi(entry.path().filename().c_str());
      if (version <= newest || !fs::exists(entry.path() / "bin" / "initdb", error)) continue;
      newest = version;
      programs_ = (entry.path() / "bin").string();
    }
    const char* path = std::getenv("PATH");
    std::string rest = path == nullptr ? "" : path;
    while (programs_.empty() && !rest.empty()) {
      const std::string folder = rest.substr(0, rest.find(':'));
      rest.erase(0, folder.size() + 1);
      if (fs::exists(fs::path(folder) / "initdb", error) && fs::exists(fs::path(folder) / "postgres", error))
        programs_ = folder;
    }
  }

  void signal_all(int signal) {
    if (process_ <= 0) return;
    // The first one first, so that it starts no other.
    ::kill(process_, signal);
    std::ifstream file("/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) + "/children");
    for (pid_t child = 0; file >> child;) ::kill(child, signal);
  }

  /// PostgreSQL refuses to run as root.
  static std::vector<std::string> as_user() {
    if (::geteuid() != 0) return {"setpriv"};
    return {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"};
  }

  std::string programs_, folder_, why_absent_;
  pid_t process_ = -1;
};

}  // namespace collage::measure
