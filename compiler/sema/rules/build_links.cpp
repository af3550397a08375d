// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/sema/rules/read_numbers.h"

namespace collage::sema {
namespace {

using ir::LinkShape;
using ir::Unit;
using support::Code;
using support::Diagnostics;

constexpr QuantityRow kBandwidth{"a bandwidth", Unit::Rate, "4 GB/s", 1e3, 1e18, "from 1 KB/s to 10^18 B/s"};
constexpr QuantityRow kLatency{"a latency", Unit::Time, "8 us", 0, 1e3, "at most 1000 s", true};
constexpr QuantityRow kByteEnergy{"the energy of a byte", Unit::Energy, "20 pJ", 0, 1, "at most 1 J", true};

struct ShapeRow {
  std::string_view word;
  LinkShape::Kind kind;
  size_t least_sizes = 0;
  size_t most_sizes = 0;
  std::string_view form;
};

constexpr ShapeRow kShapes[] = {{"ring", LinkShape::Kind::Ring, 0, 0, "`link ring`"},
                                {"torus", LinkShape::Kind::Torus, 2, 3, "`link torus(ROWS, COLUMNS)`"},
                                {"tree", LinkShape::Kind::Tree, 1, 1, "`link tree(FANOUT)`"}};

/// `torus(4, 8)`; `ring`, which may yet turn out to be a switch of that name.
bool build_shape(const syntax::LinkAst& ast, ir::Link* link, Diagnostics& diags) {
  const auto* const row = std::find_if(std::begin(kShapes), std::end(kShapes),
                                       [&](const ShapeRow& shape) { return shape.word == ast.to.text; });
  if (row == std::end(kShapes)) {
    if (!ast.shape) return true;
    return diags.error(Code::UnknownName, ast.to.span, "unknown shape `{}` of a network", ast.to.text)
        .did_you_mean(support::closest(ast.to.text, shape_names()))
        .note("`link ring`, `link torus(4, 8)` and `link tree(8)` join instances or hosts");
  }
  if (!ast.shape && row->least_sizes > 0) return true;
  const std::vector<syntax::NumberAst> written = ast.shape.value_or(std::vector<syntax::NumberAst>());
  if (ast.shape && (row->most_sizes == 0 || written.size() < row->least_sizes || written.size() > row->most_sizes)) {
    return diags.error(Code::BadDevice, ast.span, "it is written {}{}", row->form,
                       row->most_sizes > 2 ? ", or with three numbers" : "");
  }
  link->shape = LinkShape{row->kind};
  bool ok = true;
  for (const syntax::NumberAst& number : written) {
    const auto size =
        whole(number, 2, kMostInstances, fmt::format("a number of a {}", row->word), Code::BadDevice, diags);
    ok = ok && size;
    link->shape->sizes.push_back(size.value_or(2));
  }
  return ok;
}

bool build_link(const syntax::LinkAst& ast, ir::Link* link, Diagnostics& diags) {
  link->to = ast.to.text;
  link->span = ast.span;
  bool ok = build_shape(ast, link, diags);
  bool has_bandwidth = false;
  for (size_t i = 0; i < ast.properties.size(); ++i) {
    const syntax::LinkPropertyAst& property = ast.properties[i];
    const syntax::LinkPropertyAst* before = i > 0 ? &ast.properties[i - 1] : nullptr;
    const std::string& name = property.name.text;
    if (name == "duplex" && !property.value) {
      link->duplex = true;
    } else if (name == "bandwidth" && property.value) {
      has_bandwidth = true;
      auto value = quantity(*property.value, kBandwidth, diags);
      ok = ok && value;
      if (value) link->bytes_per_second = *value;
    } else if (name == "latency" && property.value) {
      auto value = quantity(*property.value, kLatency, diags);
      ok = ok && value;
      if (value) link->latency = ir::Duration::seconds(*value);
    } else if (name == "energy" && property.value) {
      link->joules_per_byte = quantity(*property.value, kByteEnergy, diags);
      ok = ok && link->joules_per_byte;
    } else if (before != nullptr && before->value && before->value->unit.empty() && !property.value) {
      // `latency 8 uz`: the number was reported to need a unit.
      ok = false;
    } else {
      auto error = diags.error(Code::UnknownName, property.name.span, "a link has no property `{}`", name);
      error.note("a link: `link host bandwidth 4 GB/s latency 8 us duplex`");
      ok = false;
    }
  }
  if (!has_bandwidth) ok = diags.error(Code::BadDevice, ast.span, "the link has no bandwidth");
  return ok;
}

}  // namespace

bool build_links(const std::vector<syntax::LinkAst>& asts, std::vector<ir::Link>* links, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::LinkAst& ast : asts) {
    ir::Link link;
    ok = build_link(ast, &link, diags) && ok;
    for (const ir::Link& other : *links) {
      if (other.to != link.to) continue;
      ok = diags.error(Code::DuplicateName, link.span, "two links to `{}`", link.to)
               .note(other.span, "the first is here");
    }
    links->push_back(std::move(link));
  }
  return ok;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const ShapeRow& row : kShapes) names.emplace_back(row.word);
  return names;
}

std::string shape_text(const LinkShape& shape) {
  const auto* const row =
      std::find_if(std::begin(kShapes), std::end(kShapes), [&](const ShapeRow& r) { return r.kind == shape.kind; });
  const std::string word(row->word);
  return shape.sizes.empty() ? word : fmt::format("{}({})", word, fmt::join(shape.sizes, ", "));
}

}  // namespace collage::sema
