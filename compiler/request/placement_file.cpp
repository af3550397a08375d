// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/placement_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/ir/graph/print_parts.h"
#include "compiler/sema/model/build_format.h"
#include "runtime/core/joined.h"
#include "runtime/core/layout.h"

namespace collage::request {
namespace {

using ir::NodeId;
using support::Code;
using support::Span;

struct Token {
  std::string text;  ///< a name without its sigil and quotes
  char kind = 0;     ///< `%` `@` `"` name; `a` word or number; `>` arrow; `$` end; else the character;
                     ///< a line end: a quote that was not closed, which has been reported
  Span span;
};

/// Splits the text. Comments run from `//` to the end of the line; so does a quote that is not closed, an error.
class Scanner {
 public:
  Scanner(std::string_view text, support::FileId file, support::Diagnostics& diags)
      : text_(text), file_(file), diags_(diags) {}

  Token next() {
    skip_blanks();
    size_t begin = at_;
    if (at_ == text_.size()) return token('$', begin, "");
    char c = text_[at_++];
    if (c == '-' && at_ < text_.size() && text_[at_] == '>') return ++at_, token('>', begin, "->");
    if (c == '"') return quoted('"', begin);
    if (c == '%' || c == '@') {
      if (at_ < text_.size() && text_[at_] == '"') return ++at_, quoted(c, begin);
      return token(c, begin, rest_of_word());
    }
    if (!is_word(c)) return token(c, begin, std::string(1, c));
    --at_;
    return token('a', begin, rest_of_word());
  }

 private:
  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_.$-/").find(c) != std::string_view::npos;
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }
  std::string rest_of_word() {
    size_t begin = at_;
    auto ends_word = [&] { return text_.substr(at_, 2) == "->" || text_.substr(at_, 2) == "//"; };
    while (at_ < text_.size() && is_word(text_[at_]) && !ends_word()) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  /// After the opening quote. A line end as kind if it is not closed on its line.
  Token quoted(char kind, size_t begin) {
    const size_t open = at_ - 1;
    auto ends_line = [&](size_t at) { return at >= text_.size() || text_[at] == '\n'; };
    std::string result;
    for (; !ends_line(at_) && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\\' && !ends_line(at_ + 1)) {
        c = text_[++at_];
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
      result += c;
    }
    if (ends_line(at_)) {
      diags_.error(Code::BadPlan, {file_, static_cast<uint32_t>(open), static_cast<uint32_t>(at_)},
                   "the quote is not closed");
      return token('\n', begin, std::move(result));
    }
    ++at_;
    return token(kind, begin, std::move(result));
  }
  Token token(char kind, size_t begin, std::string text) const {
    return {std::move(text), kind, {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)}};
  }

  std::string_view text_;
  support::FileId file_;
  support::Diagnostics& diags_;
  size_t at_ = 0;
};

/// Recursive descent over the grammar in placement_file.h. A syntax error ends it; wrong names do not.
class PlacementReader {
 public:
  PlacementReader(std::string_view text, support::FileId file, const ir::Graph& graph, support::Diagnostics& diags)
      : scanner_(text, file, diags),
        graph_(graph),
        diags_(diags),
        token_(scanner_.next()),
        owner_(graph.node_count(), -1) {}

  std::optional<ir::Placement> read() {
    if (!word("placement")) return std::nullopt;
    if (token_.kind != 'a' || token_.text != "1") {
      wrong("`1`, the version of the form");
      return std::nullopt;
    }
    advance();
    while (token_.kind != '$') {
      if (!partition()) return std::nullopt;
    }
    if (!names_are_good_) return std::nullopt;
    return std::move(placement_);
  }

 private:
  void advance() { token_ = scanner_.next(); }
  /// Always false.
  bool wrong(std::string_view wanted) {
    if (token_.kind == '\n') return false;  // reported
    std::string found = token_.kind == '$' ? "the end of the file" : fmt::format("`{}`", token_.text);
    return diags_.error(Code::BadPlan, token_.span, "expected {}, found {}", wanted, found);
  }
  bool is_word(std::string_view text) const { return token_.kind == 'a' && token_.text == text; }
  bool word(std::string_view text) {
    if (!is_word(text)) return wrong(fmt::format("`{}`", text));
    return advance(), true;
  }
  bool symbol(char kind) {
    if (token_.kind != kind) return wrong(kind == '>' ? "`->`" : fmt::format("`{}`", kind));
    return advance(), true;
  }
  bool name(std::string* into, std::string_view what) {
    if (token_.kind != 'a') return wrong(what);
    *into = token_.text;
    return advance(), true;
  }

  bool partition() {
    ir::Partition read;
    if (!word("partition")) return false;
    if (token_.kind != '@') return wrong("the partition's name, `@p0`");
    read.name = token_.text;
    read.span = token_.span;
    check_name(read);
    advance();
    if (!word("on") || !name(&read.backend, "a backend") || !symbol('(') || !instances(&read.instance) || !symbol(')'))
      return false;
    Token split;
    if (!split_of(&read, &split) || !rules(&read)) return false;
    if (token_.kind == '(') {
      if (!boundary(&read.inputs) || !symbol('>') || !boundary(&read.outputs)) return false;
    }
    if (!nodes(&read)) return false;
    if (read.split && !std::binary_search(read.nodes.begin(), read.nodes.end(), read.split->node) && names_are_good_) {
      diags_.error(Code::PartitionSplit, split.span, "partition `@{}` does not hold `%{}`", read.name, split.text);
      names_are_good_ = false;
    }
    placement_.partitions.push_back(std::move(read));
    return true;
  }

  void check_name(const ir::Partition& read) {
    for (const ir::Partition& other : placement_.partitions) {
      if (other.name != read.name) continue;
      diags_.error(Code::Redefinition, read.span, "partition `@{}` is in the placement twice", read.name)
          .note(other.span, "the first is here");
      names_are_good_ = false;
    }
  }

  /// `host`, `npu[0]`
  bool space(std::string* into) {
    if (!name(into, "a device")) return false;
    if (token_.kind != '[') return true;
    advance();
    std::string index;
    if (!name(&index, "the number of an instance") || !symbol(']')) return false;
    *into += "[" + index + "]";
    return true;
  }

  /// `npu[0] + npu[1]`
  bool instances(std::string* into) {
    for (;;) {
      std::string one;
      if (!space(&one)) return false;
      runtime::add_to_list(*into, one, "+");
      if (token_.kind != '+') return true;
      advance();
    }
  }

  /// `split %c along channels`
  bool split_of(ir::Partition* into, Token* at) {
    if (!is_word("split")) return true;
    advance();
    if (token_.kind != '%') return wrong("a node, `%x`");
    *at = token_;
    NodeId node = graph_.find_node(token_.text);
    if (!node.is_valid()) unknown("node", token_);
    advance();
    if (!word("along")) return false;
    std::optional<ir::SplitAxis> axis = token_.kind == 'a' ? ir::find_split_axis(token_.text) : std::nullopt;
    if (!axis) return wrong("`batch`, `channels` or `rows`");
    into->split = ir::PartitionSplit{node, *axis};
    return advance(), true;
  }

  bool rules(ir::Partition* into) {
    if (!is_word("rule")) return true;
    do {
      advance();
      if (token_.kind != '"') return wrong("the name of a rule in quotes");
      into->matches.push_back({token_.text});
      advance();
    } while (token_.kind == ',');
    return true;
  }

  /// `(%x: npu[0] NHWC, %y: host)`
  bool boundary(std::vector<ir::BoundaryValue>* into) {
    if (!symbol('(')) return false;
    while (token_.kind != ')') {
      if (token_.kind != '%') return wrong("a value, `%x`");
      ir::BoundaryValue item;
      item.value = graph_.find_value(token_.text);
      if (!item.value.is_valid()) unknown("value", token_);
      advance();
      if (!symbol(':') || !space(&item.format.space)) return false;
      layout(&item.format);
      if (item.value.is_valid()) into->push_back(item);
      if (token_.kind != ')' && !symbol(',')) return false;
    }
    return symbol(')');
  }

  /// `NHWC`, `f16`, `NHWC i8 scale 0.05`, or nothing
  void layout(ir::Format* into) {
    syntax::FormatParts parts;
    for (; token_.kind == 'a'; advance()) {
      syntax::FormatPart& part = parts.emplace_back();
      part.span = token_.span;
      const char* end = token_.text.data() + token_.text.size();
      auto [stop, error] = std::from_chars(token_.text.data(), end, part.number);
      if (error != std::errc() || stop != end) part.word = token_.text;
    }
    if (parts.empty()) return;
    const std::string& first = parts[0].word;
    if (!runtime::is_known_layout(first) && !runtime::parse_storage_type(first)) {
      diags_.error(Code::WrongFormat, parts[0].span, "no layout is called `{}`", first);
      names_are_good_ = false;
      return;
    }
    std::optional<sema::MemoryLayout> built = sema::build_memory_layout(parts, /*takes_any=*/false, diags_);
    names_are_good_ = names_are_good_ && built;
    if (!built) return;
    into->layout = built->layout.value_or("plain");
    into->storage = built->storage;
  }

  bool nodes(ir::Partition* into) {
    if (!symbol('{')) return false;
    while (token_.kind != '}') {
      if (token_.kind != '%') return wrong("a node, `%x`");
      node(into);
      advance();
      if (token_.kind != '}' && !symbol(',')) return false;
    }
    std::sort(into->nodes.begin(), into->nodes.end());
    if (into->nodes.empty() && names_are_good_) {
      diags_.error(Code::BadPlan, into->span, "partition `@{}` has no node", into->name);
      names_are_good_ = false;
    }
    return symbol('}');
  }

  void node(ir::Partition* into) {
    NodeId node = graph_.find_node(token_.text);
    if (!node.is_valid()) return unknown("node", token_);
    int& owner = owner_[node.slot()];
    if (owner >= 0) {
      const ir::Partition& other = owner < static_cast<int>(placement_.partitions.size())
                                       ? placement_.partitions[static_cast<size_t>(owner)]
                                       : *into;
      diags_.error(Code::PartitionOverlap, token_.span, "`%{}` is in a partition already", token_.text)
          .note(other.span, "in this one");
      names_are_good_ = false;
      return;
    }
    owner = static_cast<int>(placement_.partitions.size());
    into->nodes.push_back(node);
  }

  void unknown(std::string_view what, const Token& token) {
    std::vector<std::string> names;
    for (NodeId id : graph_.node_ids()) names.push_back(graph_.node_name(id));
    diags_.error(Code::UndefinedValue, token.span, "the model has no {} `%{}`", what, token.text)
        .did_you_mean(support::closest(token.text, names))
        .note("a placement names nodes as they are after the passes: `--emit=nodes` prints them");
    names_are_good_ = false;
  }

  Scanner scanner_;
  const ir::Graph& graph_;
  support::Diagnostics& diags_;
  Token token_;
  std::vector<int> owner_;  ///< by node: its partition, or -1
  ir::Placement placement_;
  bool names_are_good_ = true;
};

std::string boundary_text(const ir::Graph& graph, const std::vector<ir::BoundaryValue>& values) {
  const std::string text = runtime::joined(values, ", ", [&](const ir::BoundaryValue& item) {
    return fmt::format("{}: {}", ir::sigil_name('%', graph.value(item.value).name), ir::to_string(item.format));
  });
  return "(" + text + ")";
}

}  // namespace

std::string print_placement(const ir::Graph& graph, const ir::Placement& placement) {
  std::string text = "placement 1\n";
  for (const ir::Partition& partition : placement.partitions) {
    text += fmt::format("partition {} on {}({})", ir::sigil_name('@', partition.name), partition.backend,
                        fmt::join(ir::instances_of(partition.instance), " + "));
    if (partition.split) {
      text += fmt::format(" split {} along {}", ir::sigil_name('%', graph.node_name(partition.split->node)),
                          name_of(partition.split->axis));
    }
    for (size_t i = 0; i < partition.matches.size(); ++i)
      text += (i == 0 ? " rule " : ", ") + ir::quoted(partition.matches[i].name);
    text +=
        fmt::format(" {} -> {} {{", boundary_text(graph, partition.inputs), boundary_text(graph, partition.outputs));
    for (size_t i = 0; i < partition.nodes.size(); ++i)
      text += (i == 0 ? " " : ", ") + ir::sigil_name('%', graph.node_name(partition.nodes[i]));
    text += " }\n";
  }
  return text;
}

std::optional<ir::Placement> read_placement(const std::string& path, const ir::Graph& graph,
                                            support::SourceManager& sources, support::Diagnostics& diags) {
  const runtime::Result<support::FileId> file = sources.load(path);
  if (!file) return diags.error_at(Code::CannotRead, path, "cannot read: {}", file.message());
  return parse_placement(*file, graph, sources, diags);
}

std::optional<ir::Placement> parse_placement(support::FileId file, const ir::Graph& graph,
                                             const support::SourceManager& sources, support::Diagnostics& diags) {
  return PlacementReader(sources.text(file), file, graph, diags).read();
}

std::optional<ir::Placement> read_placement_for(const sema::Model& model, const std::string& path,
                                                const std::string& option, support::SourceManager& sources,
                                                support::Diagnostics& diags) {
  if (model.placement.empty()) return read_placement(path, model.graph, sources, diags);
  return diags.error_at(Code::BadOption, option,
                        "the model has partitions of its own, and no placement can be followed");
}

}  // namespace collage::request
