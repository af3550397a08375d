// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/graph/open_shape.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "runtime/core/joined.h"

namespace collage::ir {
namespace {

using support::Code;

constexpr std::string_view kRangeSign = "..";

std::optional<int64_t> parse_size(std::string_view text) {
  int64_t size = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || stop != text.data() + text.size() || size < 0) return std::nullopt;
  return size;
}

std::optional<SizeRange> parse_range(std::string_view text) {
  const size_t sign = text.find(kRangeSign);
  std::optional<int64_t> least = parse_size(text.substr(0, sign));
  std::optional<int64_t> most = least;
  if (sign != std::string_view::npos) most = parse_size(text.substr(sign + kRangeSign.size()));
  if (!least || !most || *least > *most) return std::nullopt;
  return SizeRange{*least, *most};
}

/// Fixes the dimensions of all inputs together: those with one name are one unknown.
class ShapeCloser {
 public:
  ShapeCloser(const std::vector<OpenInput>& inputs, const std::string& file, support::Diagnostics& diags)
      : inputs_(inputs), file_(file), diags_(diags) {}

  std::optional<ClosedShapes> close(const std::vector<ShapeBinding>& bindings) {
    const size_t errors = diags_.error_count();
    for (const ShapeBinding& binding : bindings) {
      if (!binding.is_of_tensor) take(binding);
    }
    for (const ShapeBinding& binding : bindings) {
      if (binding.is_of_tensor) take(binding);
    }
    if (diags_.error_count() > errors) return std::nullopt;
    take_largest();
    take_ones();
    report_open();
    if (diags_.error_count() > errors) return std::nullopt;
    ClosedShapes closed;
    for (const OpenInput& input : inputs_) closed.inputs[input.name] = shape_of(input);
    for (const auto& [key, size] : sizes_) {
      if (key.second < 0) closed.names[key.first] = size.size;
    }
    return closed;
  }

 private:
  /// A name of a dimension with -1, or an input with the index of a dimension that has no name.
  using Key = std::pair<std::string, int>;
  struct Known {
    int64_t size;
    std::string where;
  };

  std::string place(const OpenInput& input) const { return fmt::format("{}: input '{}'", file_, input.name); }

  static Key key_of(const OpenInput& input, size_t i) {
    const std::string& name = (*input.dims)[i].name;
    return name.empty() ? Key{input.name, static_cast<int>(i)} : Key{name, -1};
  }

  void take(const ShapeBinding& binding) {
    const auto input =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const OpenInput& one) { return one.name == binding.name; });
    const bool is_input = input != inputs_.end();
    const bool is_name = !binding.is_of_tensor && binding.sizes.size() == 1 && has_name(binding.name);
    // A name of both means the input, unless only the dimension can be meant.
    if (is_input && !(is_name && input->dims && input->dims->size() != 1)) return take(binding, *input);
    if (is_name) return take({binding.name, -1}, binding.sizes[0], binding.where);
    if (has_name(binding.name)) {
      diags_.error_at(Code::InputMismatch, binding.where, "`{}` is one dimension, {} sizes were given", binding.name,
                      binding.sizes.size());
      return;
    }
    std::set<std::string> names;
    for (const OpenInput& one : inputs_) {
      names.insert(one.name);
      for (const OpenDim& dim : one.dims.value_or(std::vector<OpenDim>())) names.insert(dim.name);
    }
    diags_
        .error_at(Code::InputMismatch, file_, "a shape was given for `{}`, which is not an input or a dimension",
                  binding.name)
        .did_you_mean(support::closest(binding.name, {names.begin(), names.end()}))
        .note("{}", inputs_text());
  }

  /// `inputs: x[batch, 3, 224, 224], y[?]`
  std::string inputs_text() const {
    constexpr size_t kMostShown = 12;
    std::string text;
    for (size_t i = 0; i < std::min(inputs_.size(), kMostShown); ++i) {
      const OpenInput& input = inputs_[i];
      const std::string dims = !input.dims ? "…" : runtime::joined(*input.dims, ", ", [](const OpenDim& dim) {
        return !dim.is_open() ? std::to_string(dim.size) : dim.name.empty() ? std::string("?") : dim.name;
      });
      runtime::add_to_list(text, fmt::format("{}[{}]", input.name, dims));
    }
    if (inputs_.size() > kMostShown) text += fmt::format(" and {} more", inputs_.size() - kMostShown);
    const bool has_open =
        std::any_of(inputs_.begin(), inputs_.end(), [](const OpenInput& one) { return one.is_open(); });
    return fmt::format("inputs: {}{}", text, has_open ? "" : "; no dimension is open");
  }

  bool has_name(const std::string& name) const {
    return std::any_of(inputs_.begin(), inputs_.end(), [&](const OpenInput& input) {
      return input.dims && std::any_of(input.dims->begin(), input.dims->end(),
                                       [&](const OpenDim& dim) { return dim.is_open() && dim.name == name; });
    });
  }

  void take(const ShapeBinding& binding, const OpenInput& input) {
    if (!input.dims) {
      Shape shape;
      for (const SizeRange& size : binding.sizes) shape.push_back(size.most);
      unranked_.emplace(input.name, shape);
      return;
    }
    if (input.dims->size() != binding.sizes.size()) {
      const bool has_open =
          std::any_of(input.dims->begin(), input.dims->end(), [](const OpenDim& dim) { return dim.is_open(); });
      if (binding.is_of_tensor && (!has_open || binding.leaves_first)) return;  // reported where the tensor is bound
      diags_.error_at(Code::InputMismatch, place(input), "the shape {} was given, but it has {} dimensions",
                      to_string(binding.sizes), input.dims->size());
      return;
    }
    for (size_t i = 0; i < binding.sizes.size(); ++i) {
      const OpenDim& dim = (*input.dims)[i];
      const SizeRange& wanted = binding.sizes[i];
      if (dim.is_open()) {
        if (i > 0 || !binding.leaves_first) take(key_of(input, i), wanted, binding.where);
      } else if (!binding.is_of_tensor && !wanted.holds(dim.size)) {
        diags_.error_at(Code::InputMismatch, place(input), "dimension {} is {}, but {} was given", i, dim.size,
                        to_string({wanted}));
      }
    }
  }

  void take(const Key& key, const SizeRange& wanted, const std::string& where) {
    auto range = ranges_.find(key);
    auto known = sizes_.find(key);
    if (known != sizes_.end() && !wanted.holds(known->second.size)) {
      diags_
          .error_at(Code::InputMismatch, where, "gives {} {}, but it is {}", text_of(key), to_string({wanted}),
                    known->second.size)
          .note("{} says so", known->second.where);
    } else if (range != ranges_.end() && wanted.is_one() && !range->second.first.holds(wanted.least)) {
      diags_
          .error_at(Code::InputMismatch, where, "gives {} {}, which is not within {}", text_of(key), wanted.least,
                    to_string({range->second.first}))
          .note("{} says so", range->second.second);
    } else if (wanted.is_one()) {
      sizes_.emplace(key, Known{wanted.least, where});
    } else {
      ranges_.emplace(key, std::pair(wanted, where));
    }
  }

  static std::string text_of(const Key& key) {
    return key.second < 0 ? fmt::format("dimension `{}`", key.first)
                          : fmt::format("dimension {} of `{}`", key.second, key.first);
  }

  /// ` (`batch`)`; empty for a dimension without a name.
  static std::string name_text(const OpenDim& dim) { return dim.name.empty() ? "" : fmt::format(" (`{}`)", dim.name); }

  void take_largest() {
    for (const auto& [key, range] : ranges_) {
      if (sizes_.contains(key)) continue;
      diags_.warning_at(Code::InputMismatch, range.second, "{} is {}: compiled for {}", text_of(key),
                        to_string({range.first}), range.first.most);
      sizes_.emplace(key, Known{range.first.most, range.second});
    }
  }

  /// First dimensions count a batch.
  void take_ones() {
    for (const OpenInput& input : inputs_) {
      if (!input.dims || input.dims->empty() || !input.dims->front().is_open()) continue;
      if (!sizes_.emplace(key_of(input, 0), Known{1, place(input)}).second) continue;
      diags_.warning_at(Code::InputMismatch, place(input), "dimension 0{} is open: taken as 1",
                        name_text(input.dims->front()));
    }
  }

  /// Reports all dimensions that nothing fixes in one error, with the option that fixes them.
  void report_open() {
    std::vector<std::string> open;     // in words
    std::vector<std::string> entries;  // of --shape
    std::set<Key> seen;
    const OpenInput* only = nullptr;
    int only_at = 0;
    for (const OpenInput& input : inputs_) {
      if (!input.dims) {
        if (unranked_.contains(input.name)) continue;
        open.push_back(fmt::format("the shape of `{}`", input.name));
        entries.push_back(input.name + "=N");
        only = nullptr;
        continue;
      }
      bool has_unnamed = false;
      for (size_t i = 0; i < input.dims->size(); ++i) {
        const Key key = key_of(input, i);
        if (!(*input.dims)[i].is_open() || sizes_.contains(key) || !seen.insert(key).second) continue;
        only = &input;
        only_at = static_cast<int>(i);
        open.push_back(key.second < 0 ? fmt::format("`{}`", key.first) : text_of(key));
        if (key.second < 0) entries.push_back(key.first + "=N");
        has_unnamed = has_unnamed || key.second >= 0;
      }
      if (has_unnamed) entries.push_back(fmt::format("{}={}", input.name, sizes_text(input)));
    }
    if (open.empty()) return;
    const std::string option = fmt::format("--shape {}", fmt::join(entries, ","));
    if (open.size() > 1) {
      diags_.error_at(Code::InputMismatch, file_, "{} are open, so their sizes must be given", fmt::join(open, ", "))
          .note("`{}` fixes them", option);
    } else if (only == nullptr) {
      diags_.error_at(Code::InputMismatch, file_, "{} is not stated, so it must be given", open.front())
          .note("`{}` states it, for as many dimensions as it has: NxN…", option);
    } else {
      diags_
          .error_at(Code::InputMismatch, place(*only), "dimension {}{} is open, so its size must be given", only_at,
                    name_text((*only->dims)[static_cast<size_t>(only_at)]))
          .note("`{}` fixes it", option);
    }
  }

  /// `1xNx224`, N where nothing fixes a dimension.
  std::string sizes_text(const OpenInput& input) const {
    std::string text;
    for (size_t i = 0; i < input.dims->size(); ++i) {
      const OpenDim& dim = (*input.dims)[i];
      const auto known = sizes_.find(key_of(input, i));
      const bool is_open = dim.is_open() && known == sizes_.end();
      runtime::add_to_list(text, is_open ? "N" : std::to_string(dim.is_open() ? known->second.size : dim.size), "x");
    }
    return text;
  }

  /// Expects that all dimensions are known.
  Shape shape_of(const OpenInput& input) const {
    if (!input.dims) return unranked_.at(input.name);
    Shape shape;
    for (size_t i = 0; i < input.dims->size(); ++i) {
      const OpenDim& dim = (*input.dims)[i];
      shape.push_back(dim.is_open() ? sizes_.at(key_of(input, i)).size : dim.size);
    }
    return shape;
  }

  const std::vector<OpenInput>& inputs_;
  const std::string& file_;
  support::Diagnostics& diags_;
  std::map<Key, Known> sizes_;
  std::map<Key, std::pair<SizeRange, std::string>> ranges_;
  std::map<std::string, Shape> unranked_;
};

}  // namespace

bool OpenInput::is_open() const {
  return !dims || std::any_of(dims->begin(), dims->end(), [](const OpenDim& dim) { return dim.is_open(); });
}

std::optional<std::vector<SizeRange>> parse_sizes(const std::string& text) {
  std::vector<SizeRange> sizes;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find('x', begin), text.size());
    std::optional<SizeRange> size = parse_range(std::string_view(text).substr(begin, end - begin));
    if (!size) return std::nullopt;
    sizes.push_back(*size);
    begin = end + 1;
  }
  return sizes;
}

std::string to_string(const std::vector<SizeRange>& sizes) {
  std::string text;
  for (const SizeRange& size : sizes) {
    if (!text.empty()) text += 'x';
    text += size.is_one() ? std::to_string(size.least) : fmt::format("{}{}{}", size.least, kRangeSign, size.most);
  }
  return text;
}

std::optional<ClosedShapes> close_shapes(const std::vector<OpenInput>& inputs,
                                         const std::vector<ShapeBinding>& bindings, const std::string& file,
                                         support::Diagnostics& diags) {
  return ShapeCloser(inputs, file, diags).close(bindings);
}

}  // namespace collage::ir
