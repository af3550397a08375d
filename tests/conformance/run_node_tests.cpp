// SPDX-License-Identifier: Apache-2.0
// Runs a folder of ONNX's tests in several ways and prints a table by opset:
//
//     run_node_tests FOLDER [--ways reference,host,optimal,device] [--jobs 2] [--only TEXT] [--steps N] [--write PAGE]
//
//   reference  the reference kernels, without compiling
//   host       compiled host code
//   optimal    the exact search over all of rules/
//   device     host code, and a simulated accelerator so fast that what it can run goes there
//
// A model with loops or shapes that only a run decides runs in stages, where the importer refuses it as a whole.
//
// With --steps a float may be off by N steps of its dtype at the largest number of its tensor, which is less than
// ONNX's runner lets it be. Each test runs in a process of its own, so that a crash is one test's. Left out are
// strings, sequences, optionals, maps, images, training and the domain ai.onnx.ml. After the table: what was refused,
// by reason, and each test that was wrong or crashed. Exits with 1 if there is one.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "compiler/compilation/compilation.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/program/plan_runner.h"
#include "compiler/stages/dynamic_model.h"
#include "tests/conformance/node_test_case.h"

namespace collage {
namespace {

namespace fs = std::filesystem;
using testing::NodeTestCase;
using testing::Outcome;

constexpr unsigned kMostSeconds = 120;

/// Units in the last place that floats may differ by; 0: the tolerance of ONNX's runner.
double steps_allowed = 0;

/// How a test ended in one way.
enum class Verdict : char { Passed = 'p', Refused = 'r', Wrong = 'w', Crashed = 'c' };

struct Way {
  std::string name;
  std::string strategy;            ///< of the search; empty: reference kernels
  std::vector<std::string> rules;  ///< paths; of reference kernels for the stages of large models
  std::shared_ptr<const request::RuleFiles> files{};
};

struct Line {
  Verdict verdict;
  std::string why;
};

struct Test {
  fs::path folder;
  int64_t opset = 0;
  std::string left_out;       ///< why; empty: it is run
  std::vector<Line> lines{};  ///< one for each way
};

// --- which tests there are ---

std::string reason_to_leave_out(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain() == "ai.onnx.ml" || import.domain() == "ai.onnx.preview.training") return import.domain();
  }
  auto is_tensor_of_numbers = [](const onnx::ValueInfoProto& value) {
    return !value.has_type() ||
           (value.type().has_tensor_type() && value.type().tensor_type().elem_type() != onnx::TensorProto::STRING);
  };
  const auto& graph = model.graph();
  bool all = std::all_of(graph.input().begin(), graph.input().end(), is_tensor_of_numbers) &&
             std::all_of(graph.output().begin(), graph.output().end(), is_tensor_of_numbers);
  if (!all) return "strings, sequences, optionals";
  for (const auto& node : graph.node()) {
    if (node.op_type() == "ImageDecoder") return "images";
    if (node.op_type().starts_with("Sequence") || node.op_type().starts_with("Optional"))
      return "strings, sequences, optionals";
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "training_mode" && attribute.i() != 0) return "training";
    }
  }
  return "";
}

std::vector<Test> tests_in(const fs::path& root, const std::string& only) {
  std::vector<Test> tests;
  for (const auto& entry : fs::recursive_directory_iterator(root, fs::directory_options::follow_directory_symlink)) {
    fs::path folder = entry.path().parent_path();
    bool is_test = entry.path().filename() == "model.onnx" && fs::exists(folder / "test_data_set_0") &&
                   folder.string().find(only) != std::string::npos;
    if (!is_test) continue;
    Test& test = tests.emplace_back();
    test.folder = folder;
    onnx::ModelProto model;
    std::ifstream stream(entry.path(), std::ios::binary);
    if (!model.ParseFromIstream(&stream)) continue;
    for (const auto& import : model.opset_import()) {
      if (import.domain().empty() || import.domain() == "ai.onnx") test.opset = import.version();
    }
    test.left_out = reason_to_leave_out(model);
  }
  std::sort(tests.begin(), tests.end(), [](const Test& a, const Test& b) { return a.folder < b.folder; });
  return tests;
}

// --- one test, in a process of its own ---

request::Settings settings_of(const Way& way) {
  request::Settings settings;
  if (!way.strategy.empty()) settings.strategy = way.strategy;
  settings.allows_simulated = true;
  settings.costs.mode = request::CostMode::Estimate;
  settings.costs.database = "";
  settings.cache = "";
  return settings;
}

Line verdict_of(const std::vector<runtime::Tensor>& got, const NodeTestCase& test) {
  std::string what = testing::difference(got, test.wanted, steps_allowed);
  return {what.empty() ? Verdict::Passed : Verdict::Wrong, what};
}

Line compile_and_run(const Way& way, const NodeTestCase& test, const fs::path& model) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const request::Settings settings = settings_of(way);
  auto failed = [&diags] { return Line{Verdict::Wrong, diags.render()}; };
  auto compilation = compilation::Compilation::open({model, {*test.graph, {}}, {}}, way.files, settings, diags);
  if (compilation == nullptr || !compilation->run_passes({}, diags)) return failed();
  auto candidates = compilation->find_candidates({}, nullptr, diags);
  if (!candidates) return failed();
  auto found = compilation->find_placement(*candidates, compilation->strategy(), diags);
  if (!found) return failed();
  auto runner = program::load_runner(compilation->graph(), found->placement, compilation->targets(), nullptr, diags);
  if (!runner) return failed();
  auto got = runner->executor->run(test.inputs);
  return got ? verdict_of(*got, test) : Line{Verdict::Wrong, got.message()};
}

Line run_in_stages(const Way& way, const NodeTestCase& test, const fs::path& model) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  auto failed = [&diags] {
    return Line{testing::is_refusal(diags) ? Verdict::Refused : Verdict::Wrong, diags.render()};
  };
  auto source = request::ModelSource::open(model.string(), support::FileAccess({model.string()}), sources, diags);
  if (source == nullptr) return failed();
  stages::StageSettings settings{model, way.files, settings_of(way)};
  settings.compiles_little = !way.strategy.empty();
  stages::DynamicModel runner(std::move(source), std::move(settings), 8, diags);
  auto results = runner.run(test.inputs);
  if (!results) return failed();
  std::vector<runtime::Tensor> got;
  for (const auto& result : *results) got.push_back(result.tensor);
  return verdict_of(got, test);
}

Line run_one(const Way& way, const NodeTestCase& test, const fs::path& folder) {
  const fs::path model = folder / "model.onnx";
  if (test.outcome != Outcome::Passed) return run_in_stages(way, test, model);
  if (!way.strategy.empty()) return compile_and_run(way, test, model);
  auto got = ir::evaluate_graph(*test.graph, test.inputs);
  return got ? verdict_of(*got, test) : Line{Verdict::Wrong, got.message()};
}

/// The first error, without its place.
std::string reason_of(const std::string& messages) {
  size_t at = messages.find("error: ");
  std::string text = at == std::string::npos ? messages : messages.substr(at + 7);
  return text.substr(0, text.find('\n'));
}

/// Writes a line for each way: the verdict and, after a space, why.
void run_in_child(const Test& test, const std::vector<Way>& ways, int out) {
  alarm(kMostSeconds);
  NodeTestCase read = testing::read_node_test(test.folder);
  for (const Way& way : ways) {
    Line line = read.has_data ? run_one(way, read, test.folder) : Line{Verdict::Refused, read.why};
    line.why = line.verdict == Verdict::Refused ? reason_of(line.why) : line.why;
    std::replace(line.why.begin(), line.why.end(), '\n', ' ');
    std::string text = fmt::format("{} {}\n", static_cast<char>(line.verdict), line.why);
    if (write(out, text.data(), text.size()) < 0) _exit(1);
  }
}

struct Child {
  pid_t pid;
  int pipe;
  Test* test;
  std::string text{};
};

Child start(Test& test, const std::vector<Way>& ways) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    run_in_child(test, ways, ends[1]);
    close(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return {pid, ends[0], &test};
}

/// Reads what the child wrote; a way that it did not reach is where it crashed.
void collect(Child& child, size_t ways) {
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = read(child.pipe, buffer.data(), buffer.size())) > 0;)
    child.text.append(buffer.data(), static_cast<size_t>(n));
  close(child.pipe);
  int status = 0;
  waitpid(child.pid, &status, 0);
  for (size_t at = 0, end; (end = child.text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string line = child.text.substr(at, end - at);
    child.test->lines.push_back({static_cast<Verdict>(line[0]), line.substr(2)});
  }
  std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended early";
  while (child.test->lines.size() < ways) child.test->lines.push_back({Verdict::Crashed, how});
}

void run_all(std::vector<Test>& tests, const std::vector<Way>& ways, size_t jobs) {
  std::vector<Child> running;
  size_t next = 0;
  while (next < tests.size() || !running.empty()) {
    while (next < tests.size() && running.size() < jobs) {
      Test& test = tests[next++];
      if (test.left_out.empty()) running.push_back(start(test, ways));
    }
    if (running.empty()) continue;
    std::vector<pollfd> waits;
    for (const Child& child : running) waits.push_back({child.pipe, POLLIN | POLLHUP, 0});
    poll(waits.data(), waits.size(), -1);
    for (size_t i = running.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      ssize_t n = read(running[i].pipe, buffer.data(), buffer.size());
      if (n > 0) {
        running[i].text.append(buffer.data(), static_cast<size_t>(n));
        continue;
      }
      collect(running[i], ways.size());
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// --- what is printed ---

using Row = std::vector<std::string>;

/// The head, a row for each opset, and one for all: tests, left out, and for each way how many passed, were refused,
/// wrong, crashed.
std::vector<Row> table_of(const std::vector<Test>& tests, const std::vector<Way>& ways) {
  std::map<int64_t, std::vector<const Test*>> by_opset;
  std::vector<const Test*> all;
  for (const Test& test : tests) {
    by_opset[test.opset].push_back(&test);
    all.push_back(&test);
  }
  const auto row = [&](const std::string& name, const std::vector<const Test*>& some) {
    const auto left_out =
        std::count_if(some.begin(), some.end(), [](const Test* test) { return !test->left_out.empty(); });
    Row cells{name, std::to_string(some.size()), std::to_string(left_out)};
    for (size_t w = 0; w < ways.size(); ++w) {
      std::map<Verdict, int> counts;
      for (const Test* test : some) {
        if (test->left_out.empty()) ++counts[test->lines[w].verdict];
      }
      for (const Verdict verdict : {Verdict::Passed, Verdict::Refused, Verdict::Wrong, Verdict::Crashed})
        cells.push_back(std::to_string(counts[verdict]));
    }
    return cells;
  };
  std::vector<Row> rows{{"opset", "tests", "left out"}};
  for (const Way& way : ways) rows[0].insert(rows[0].end(), {way.name + ": passed", "refused", "wrong", "crashed"});
  for (const auto& [opset, some] : by_opset) rows.push_back(row(std::to_string(opset), some));
  rows.push_back(row("all", all));
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      fmt::print("{}{:>{}}", i == 0 ? "" : "  ", row[i], std::max<size_t>(rows[0][i].size(), 5));
    fmt::print("\n");
  }
}

/// Puts the table between the marks of a page. Returns false if the page cannot be read or written, or has no marks.
bool write_table(const std::vector<Row>& rows, const std::string& page) {
  std::string table = "\n| " + fmt::format("{}", fmt::join(rows[0], " | ")) + " |\n|";
  for (size_t i = 0; i < rows[0].size(); ++i) table += " ---: |";
  for (size_t r = 1; r < rows.size(); ++r) table += fmt::format("\n| {} |", fmt::join(rows[r], " | "));
  std::ifstream in(page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string begin = "<!-- made by run_node_tests -->\n", end = "\n<!-- end -->";
  const size_t from = text.find(begin), to = text.find(end, from == std::string::npos ? 0 : from);
  if (from == std::string::npos || to == std::string::npos) return false;
  std::ofstream out(page);
  out << text.substr(0, from + begin.size()) << table.substr(1) << text.substr(to);
  return static_cast<bool>(out);
}

void print_counts(const std::string& title, const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  fmt::print("\n{}\n", title);
  for (const auto& [reason, count] : sorted) fmt::print("{:>6}  {}\n", count, reason);
}

/// Returns whether every test passed or was refused.
bool print_details(const std::vector<Test>& tests, const std::vector<Way>& ways) {
  std::map<std::string, int> left_out, refused;
  std::string faults;
  for (const Test& test : tests) {
    if (!test.left_out.empty()) {
      ++left_out[test.left_out];
      continue;
    }
    if (test.lines[0].verdict == Verdict::Refused) ++refused[test.lines[0].why];
    for (size_t w = 0; w < ways.size(); ++w) {
      const Line& line = test.lines[w];
      if (line.verdict != Verdict::Wrong && line.verdict != Verdict::Crashed) continue;
      faults += fmt::format("{:>7} {} {}: {}\n", line.verdict == Verdict::Wrong ? "wrong" : "crashed", ways[w].name,
                            test.folder.filename().string(), line.why.substr(0, 300));
    }
  }
  print_counts("left out", left_out);
  print_counts("refused", refused);
  if (!faults.empty()) fmt::print("\n{}", faults);
  return faults.empty();
}

std::vector<Way> all_ways() {
  const std::string root = COLLAGE_SOURCE_DIR;
  return {{"reference", "", {root + "/rules/host.rules"}},
          {"host", "single:host", {root + "/rules/host.rules"}},
          {"optimal", "optimal", {root + "/rules"}},
          {"device", "optimal", {root + "/rules/host.rules", root + "/tests/filetests/run/Inputs/fast.rules"}}};
}

int usage() {
  fmt::print(stderr,
             "usage: run_node_tests FOLDER [--ways reference,host,optimal,device] [--jobs N] [--only TEXT] "
             "[--steps N] [--write PAGE]\n");
  return 2;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.size() % 2 == 0 || !fs::is_directory(arguments[0])) return usage();
  std::string chosen = "reference,host,optimal,device", only, page;
  size_t jobs = 2;
  for (size_t i = 1; i < arguments.size(); i += 2) {
    const std::string& value = arguments[i + 1];
    if (arguments[i] == "--ways") {
      chosen = value;
    } else if (arguments[i] == "--only") {
      only = value;
    } else if (arguments[i] == "--write") {
      page = value;
    } else if (arguments[i] == "--steps" && std::atof(value.c_str()) > 0) {
      steps_allowed = std::atof(value.c_str());
    } else if (arguments[i] == "--jobs" && std::atoi(value.c_str()) > 0) {
      jobs = static_cast<size_t>(std::atoi(value.c_str()));
    } else {
      return usage();
    }
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::vector<Way> ways;
  for (Way& way : all_ways()) {
    if (("," + chosen + ",").find("," + way.name + ",") == std::string::npos) continue;
    way.files = request::read_rule_files(way.rules, sources, diags);
    if (way.files == nullptr) {
      fmt::print(stderr, "{}", diags.render());
      return 2;
    }
    ways.push_back(std::move(way));
  }
  if (ways.empty()) return usage();
  std::vector<Test> tests = tests_in(arguments[0], only);
  run_all(tests, ways, jobs);
  for (Test& test : tests) {
    // Where an operand says it, only the importer knows.
    bool is_training = test.left_out.empty() && test.lines[0].why.find("in training mode") != std::string::npos;
    if (is_training) test.left_out = "training";
  }
  const std::vector<Row> table = table_of(tests, ways);
  print_table(table);
  if (!page.empty() && !write_table(table, page)) {
    fmt::print(stderr, "{}: cannot be written, or has no marks for the table\n", page);
    return 2;
  }
  return print_details(tests, ways) ? 0 : 1;
}

}  // namespace
}  // namespace collage

int main(int argc, char** argv) {
  return collage::run({argv + 1, argv + argc});
}
