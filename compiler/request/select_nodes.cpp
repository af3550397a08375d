// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/select_nodes.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <charconv>
#include <set>

#include "compiler/ir/ops/op_def.h"

namespace collage::request {
namespace {

using ir::NodeId;
using support::Code;

bool fits(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

std::optional<std::vector<NodeId>> select_operators(const std::string& pattern, const ir::Graph& graph,
                                                    const std::string& option, support::Diagnostics& diags) {
  std::vector<NodeId> nodes;
  std::set<std::string> names;
  for (NodeId id : graph.node_ids()) {
    std::string name(graph.node(id).op->name);
    if (fits(pattern, name)) nodes.push_back(id);
    names.insert(std::move(name));
  }
  if (!nodes.empty()) return nodes;
  return diags.error_at(Code::BadOption, option, "the model has no operator `{}`", pattern)
      .did_you_mean(support::closest(pattern, {names.begin(), names.end()}));
}

/// `model.ir:12-20`
struct Lines {
  std::string file;
  int first = 0;
  int last = 0;
};

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Lines> as_lines(const std::string& selector) {
  const size_t colon = selector.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string_view numbers = std::string_view(selector).substr(colon + 1);
  const size_t dash = numbers.find('-');
  const std::optional<int> first = whole_number(numbers.substr(0, dash));
  const std::optional<int> last = dash == std::string_view::npos ? first : whole_number(numbers.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return Lines{selector.substr(0, colon), *first, *last};
}

/// `nets/a.ir` is what `a.ir`, `nets/a.ir` and nothing mean.
bool means(std::string_view typed, std::string_view file) {
  if (typed.empty() || typed == file) return true;
  return file.ends_with(typed) && file[file.size() - typed.size() - 1] == '/';
}

std::string text_of(const Lines& lines) {
  return lines.first == lines.last ? fmt::format("line {}", lines.first)
                                   : fmt::format("lines {} to {}", lines.first, lines.last);
}

std::optional<std::vector<NodeId>> select_lines(const Lines& lines, const ir::Graph& graph, const std::string& option,
                                                support::Diagnostics& diags) {
  if (lines.first < 1 || lines.last < lines.first) {
    return diags.error_at(Code::BadOption, option, "{} to {} are no lines: count from 1, the lesser first", lines.first,
                          lines.last);
  }
  const support::SourceManager& sources = diags.sources();
  std::vector<NodeId> nodes;
  std::string file;
  std::string nearest;  // the last node above
  for (NodeId id : graph.node_ids()) {
    const support::Span& span = graph.node(id).span;
    if (!span.is_valid()) continue;
    file = sources.name(span.file);
    const int begin = sources.position(span.file, span.begin).line;
    const int end = sources.position(span.file, span.end > span.begin ? span.end - 1 : span.begin).line;
    if (begin <= lines.last && lines.first <= end) nodes.push_back(id);
    if (begin < lines.first) nearest = fmt::format("`%{}` is at line {}", graph.node_name(id), begin);
  }
  if (file.empty()) {
    return diags.error_at(Code::BadOption, option, "the model has no lines: its nodes go by name")
        .note("`--emit=nodes` prints them");
  }
  if (!means(lines.file, file)) {
    return diags.error_at(Code::BadOption, option, "the model is `{}`, not `{}`", file, lines.file);
  }
  if (!nodes.empty()) return nodes;
  auto error = diags.error_at(Code::BadOption, option, "no node is written at {} of `{}`", text_of(lines), file);
  if (!nearest.empty()) error.note("{}", nearest);
  return error.note("what passes fold or join has no line of its own any more: `--emit=nodes` prints what is left");
}

}  // namespace

std::optional<std::vector<NodeId>> select_nodes(std::string selector, const ir::Graph& graph, const std::string& option,
                                                support::Diagnostics& diags) {
  if (selector.starts_with("op:")) return select_operators(selector.substr(3), graph, option, diags);
  if (selector.starts_with("%")) selector.erase(0, 1);
  if (NodeId node = graph.find_node(selector); node.is_valid()) return std::vector<NodeId>{node};
  if (std::optional<Lines> lines = as_lines(selector)) return select_lines(*lines, graph, option, diags);
  std::vector<NodeId> nodes;
  for (NodeId id : graph.node_ids()) {
    if (fits(selector, graph.node_name(id))) nodes.push_back(id);
  }
  if (!nodes.empty()) return nodes;
  if (ir::ValueId value = graph.find_value(selector); value.is_valid()) {
    return diags.error_at(Code::BadOption, option, "`%{}` is {}, no node computes it", selector,
                          graph.value(value).is_constant() ? "a constant" : "an input of the model");
  }
  std::vector<std::string> names;
  for (NodeId id : graph.node_ids()) names.push_back(graph.node_name(id));
  return diags.error_at(Code::BadOption, option, "the model has no node `{}`", selector)
      .did_you_mean(support::closest(selector, names))
      .note("nodes are named by their results after the passes: `--emit=nodes` prints them");
}

}  // namespace collage::request
