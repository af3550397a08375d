// SPDX-License-Identifier: Apache-2.0
// Einsum: one sum of products over the space of all labels.
//
//     y[result labels] = sum over the other labels of a[its labels] * b[its labels] * …
//
// A label is a character; the dimensions of `...` are numbered from the last and named by characters beyond letters.
#include "runtime/kernels/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "runtime/core/text.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

using Label = int;
/// The label of the dimension `from_last` places before the end of `...`.
constexpr Label dots_label(size_t from_last) {
  return 1000 + static_cast<Label>(from_last);
}

struct Term {
  std::vector<Label> before, after;
  bool has_dots = false;
};

std::optional<std::string> read_term(const std::string& text, Term* term) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.compare(i, 3, "...") == 0) {
      if (term->has_dots) return "`...` occurs twice in \"" + text + "\"";
      term->has_dots = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      (term->has_dots ? term->after : term->before).push_back(text[i]);
    } else {
      std::string problem = "the equation has the character `";
      problem.append(1, text[i]).append("`");
      return problem;
    }
  }
  return std::nullopt;
}

/// Labels of a tensor of `rank` dimensions, or of the result where `...` stands for `dots` dimensions.
std::vector<Label> expand(const Term& term, size_t dots) {
  std::vector<Label> labels = term.before;
  for (size_t d = dots; term.has_dots && d-- > 0;) labels.push_back(dots_label(d));
  labels.insert(labels.end(), term.after.begin(), term.after.end());
  return labels;
}

/// Labels that occur once, those of `...` first.
std::vector<Label> implicit_result(const std::vector<std::vector<Label>>& operands, size_t dots) {
  std::map<Label, int> counts;
  for (const auto& labels : operands) {
    for (Label label : labels) ++counts[label];
  }
  std::vector<Label> result;
  for (size_t d = dots; d-- > 0;) result.push_back(dots_label(d));
  for (auto [label, count] : counts) {
    if (count == 1 && label < dots_label(0)) result.push_back(label);
  }
  return result;
}

}  // namespace

std::optional<std::string> resolve_einsum(const std::string& equation, std::span<const Shape> operands,
                                          EinsumSpec* spec) {
  size_t arrow = equation.find("->");
  std::vector<std::string> texts = split(equation.substr(0, arrow), ',');
  if (texts.size() != operands.size()) {
    return "the equation has " + std::to_string(texts.size()) + " terms for " + std::to_string(operands.size()) +
           " operands";
  }
  std::vector<std::vector<Label>> labels;
  std::map<Label, int64_t> extents;
  size_t most_dots = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    Term term;
    if (auto problem = read_term(texts[k], &term)) return problem;
    size_t named = term.before.size() + term.after.size();
    size_t rank = operands[k].size();
    if (rank < named || (rank > named && !term.has_dots)) {
      return "the term \"" + texts[k] + "\" does not fit an operand of rank " + std::to_string(rank);
    }
    most_dots = std::max(most_dots, term.has_dots ? rank - named : 0);
    labels.push_back(expand(term, rank - named));
    for (size_t d = 0; d < rank; ++d) {
      auto [place, is_new] = extents.emplace(labels[k][d], operands[k][d]);
      if (is_new || place->second == operands[k][d] || operands[k][d] == 1) continue;
      if (place->second != 1) {
        return "a label stands for dimensions of extent " + std::to_string(place->second) + " and " +
               std::to_string(operands[k][d]);
      }
      place->second = operands[k][d];
    }
  }
  std::vector<Label> result;
  if (arrow == std::string::npos) {
    result = implicit_result(labels, most_dots);
  } else {
    Term term;
    if (auto problem = read_term(equation.substr(arrow + 2), &term)) return problem;
    result = expand(term, most_dots);
  }
  std::map<Label, int> places;
  for (Label label : result) {
    if (!extents.contains(label)) return "a label of the result occurs in no operand";
    if (!places.emplace(label, static_cast<int>(places.size())).second) return "a label occurs twice in the result";
    spec->space.push_back(extents[label]);
  }
  spec->result_rank = result.size();
  for (auto [label, extent] : extents) {
    if (places.emplace(label, static_cast<int>(places.size())).second) spec->space.push_back(extent);
  }
  if (spec->space.size() > 64) return "the equation has more than 64 dimensions";
  for (size_t k = 0; k < operands.size(); ++k) {
    std::vector<int>& own = spec->places.emplace_back();
    for (size_t d = 0; d < operands[k].size(); ++d) {
      bool repeats = operands[k][d] == 1 && extents[labels[k][d]] != 1;
      own.push_back(repeats ? -1 : places[labels[k][d]]);
    }
  }
  return std::nullopt;
}

Status kernel_Einsum(const KernelArgs& args) {
  std::vector<Shape> shapes;
  for (const TensorView& input : args.inputs) shapes.push_back(input.shape);
  EinsumSpec spec;
  if (auto problem = resolve_einsum(args.attrs.get_string("equation", ""), shapes, &spec)) {
    return Status::error(*problem);
  }
  size_t rank = spec.space.size();
  std::vector<RowWalk::Strides> strides(args.inputs.size() + 1, RowWalk::Strides(rank, 0));
  for (size_t k = 0; k < shapes.size(); ++k) {
    std::vector<int64_t> own = row_major_strides(shapes[k]);
    for (size_t d = 0; d < own.size(); ++d) {
      // A label that occurs twice in an operand walks its diagonal.
      if (spec.places[k][d] >= 0) strides[k][static_cast<size_t>(spec.places[k][d])] += own[d];
    }
  }
  std::vector<int64_t> result = row_major_strides(spec.result());
  std::copy(result.begin(), result.end(), strides.back().begin());
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    using Sum = Accumulator<T>;
    auto y = args.outputs[0].as<T>();
    std::vector<Sum> sums(y.size(), Sum(0));
    size_t last = args.inputs.size();
    for (RowWalk walk(spec.space, strides); walk.more(); walk.advance()) {
      for (int64_t i = 0; i < walk.length(); ++i) {
        Sum product = 1;
        for (size_t k = 0; k < last; ++k) {
          const T* x = args.inputs[k].as<T>().data();
          product = wrapping_mul<Sum>(product, x[walk.offset(k) + i * walk.stride(k)]);
        }
        Sum& sum = sums[static_cast<size_t>(walk.offset(last) + i * walk.stride(last))];
        sum = wrapping_add(sum, product);
      }
    }
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(sums[i]);
    return Status::ok();
  });
}

}  // namespace collage::runtime
