// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "compiler/driver/input/select_nodes.h"

namespace collage::driver {
namespace {

using ir::NodeId;
using place::Wish;
using support::Code;

class WishReader {
 public:
  WishReader(const ir::Graph& graph, support::Diagnostics& diags) : graph_(graph), diags_(diags) {}

  /// `SELECTOR=BACKEND`, `SELECTOR=DEVICE[0]`
  bool read_target(Wish::Kind kind, const std::string& option, const std::string& text) {
    Wish wish{kind, {}, "", -1, option + " " + text};
    size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return diags_.error_at(Code::BadOption, wish.option,
                             "want NODES=BACKEND, such as `conv*=npu` or `op:Conv=npu[0]`");
    }
    wish.target = text.substr(equals + 1);
    if (size_t bracket = wish.target.find('['); bracket != std::string::npos) {
      const char* begin = wish.target.data() + bracket + 1;
      const char* end = wish.target.data() + wish.target.size();
      auto [stop, error] = std::from_chars(begin, end, wish.instance);
      if (error != std::errc() || wish.instance < 0 || end - stop != 1 || *stop != ']') {
        return diags_.error_at(Code::BadOption, wish.option, "`{}` is no device: want `npu` or `npu[0]`", wish.target);
      }
      wish.target.resize(bracket);
    }
    return select(text.substr(0, equals), wish) && add(std::move(wish));
  }

  /// `A,B,…`
  bool read_together(const std::string& text) {
    Wish wish{Wish::Kind::Together, {}, "", -1, "--together " + text};
    for (size_t begin = 0; begin <= text.size();) {
      size_t comma = std::min(text.find(',', begin), text.size());
      if (!select(text.substr(begin, comma - begin), wish)) return false;
      begin = comma + 1;
    }
    std::set<NodeId> nodes(wish.nodes.begin(), wish.nodes.end());
    if (nodes.size() > 1) return add(std::move(wish));
    return diags_.error_at(Code::BadOption, wish.option, "names one node, `%{}`: together with what?",
                           graph_.node_name(*nodes.begin()));
  }

  std::vector<Wish> wishes;

 private:
  bool add(Wish wish) {
    std::sort(wish.nodes.begin(), wish.nodes.end());
    wish.nodes.erase(std::unique(wish.nodes.begin(), wish.nodes.end()), wish.nodes.end());
    wishes.push_back(std::move(wish));
    return true;
  }

  bool select(const std::string& selector, Wish& wish) {
    std::optional<std::vector<NodeId>> nodes = select_nodes(selector, graph_, wish.option, diags_);
    if (nodes) wish.nodes.insert(wish.nodes.end(), nodes->begin(), nodes->end());
    return nodes.has_value();
  }

  const ir::Graph& graph_;
  support::Diagnostics& diags_;
};

}  // namespace

std::optional<std::vector<Wish>> read_wishes(const Options& options, const ir::Graph& graph,
                                             support::Diagnostics& diags) {
  WishReader reader(graph, diags);
  bool good = true;
  for (const std::string& text : options.place) good &= reader.read_target(Wish::Kind::Place, "--place", text);
  for (const std::string& text : options.forbid) good &= reader.read_target(Wish::Kind::Forbid, "--forbid", text);
  for (const std::string& text : options.together) good &= reader.read_together(text);
  if (!good) return std::nullopt;
  return std::move(reader.wishes);
}

}  // namespace collage::driver
