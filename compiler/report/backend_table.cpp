// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/backend_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/report/figures.h"
#include "compiler/report/summary_line.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

using runtime::counted, runtime::with_prefix;

constexpr size_t kNoteIndent = 2;  ///< of a reason below its backend

std::string percent(double part, double all) {
  return all > 0 ? fmt::format("{:.1f} %", 100 * part / all) : "-";
}

class BackendTable {
 public:
  BackendTable(const ir::Graph& graph, const ir::Placement& placement, const Report& report, size_t width)
      : report_(report),
        width_(width),
        figures_(figures_by_backend(graph, placement)),
        macs_(all_macs(figures_)),
        conversions_(conversion_figures(graph, placement)),
        conversion_count_(placement.conversions.size()) {
    seconds_ = conversions_.cost.seconds();
    for (const auto& [backend, figures] : figures_) {
      seconds_ += figures.cost.seconds();
      name_columns_ = std::max(name_columns_, backend.size() + 1);
    }
  }

  std::string text() {
    std::vector<const BackendRow*> used, unused;
    for (const BackendRow& row : report_.backends) {
      (figures_[row.backend].partitions > 0 ? used : unused).push_back(&row);
    }
    std::stable_sort(used.begin(), used.end(), [&](const BackendRow* a, const BackendRow* b) {
      return figures_[a->backend].cost > figures_[b->backend].cost;
    });
    std::string text = row_text("placement", columns("backend", "ops", "partitions", "MACs", "predicted", "share"));
    for (const BackendRow* row : used) text += used_rows(*row);
    text += conversion_row();
    return text + unused_lines(unused);
  }

 private:
  std::string columns(std::string_view name, std::string_view ops, std::string_view partitions, std::string_view macs,
                      std::string_view predicted, std::string_view share) const {
    return fmt::format("{:<{}}{:>5}{:>12}{:>9}{:>12}{:>9}", name, name_columns_, ops, partitions, macs, predicted,
                       share);
  }

  static std::string row_text(std::string_view label, std::string_view columns) {
    return fmt::format("{:<{}}{}\n", label, kLabelColumns, columns);
  }

  std::string used_rows(const BackendRow& row) {
    const BackendFigures& figures = figures_[row.backend];
    std::string text = row_text(
        "", columns(row.backend, std::to_string(figures.ops), std::to_string(figures.partitions),
                    percent(figures.macs, macs_), human(figures.cost), percent(figures.cost.seconds(), seconds_)));
    if (!row.refused.empty()) text += note("refused " + row.refused.front());
    return text;
  }

  /// Below a row of the table.
  std::string note(std::string_view text) const {
    const size_t column = kLabelColumns + kNoteIndent;
    return std::string(column, ' ') + runtime::wrapped(text, {column, column + kNoteIndent, width_}) + "\n";
  }

  std::string conversion_row() const {
    const bool has_any = conversion_count_ > 0;
    const std::string row =
        columns("conversions", "", std::to_string(conversion_count_), "", has_any ? human(conversions_.cost) : "-",
                has_any ? percent(conversions_.cost.seconds(), seconds_) : "-");
    if (!has_any) return row_text("", row);
    const std::string kinds = conversion_kinds();
    const bool fits = kLabelColumns + row.size() + 3 + kinds.size() <= width_;
    return fits ? row_text("", row + "   " + kinds) : row_text("", row) + note(kinds);
  }

  /// `(2 reorders, 1 copy, 2048 B)`
  std::string conversion_kinds() const {
    std::string kinds;
    if (conversions_.reorders > 0) runtime::add_to_list(kinds, counted(conversions_.reorders, "reorder"));
    if (conversions_.copies > 0)
      runtime::add_to_list(kinds, conversions_.copies == 1 ? "1 copy" : fmt::format("{} copies", conversions_.copies));
    if (conversions_.casts > 0) runtime::add_to_list(kinds, counted(conversions_.casts, "cast"));
    const std::string_view blank = conversions_.bytes >= 1e4 ? "" : " ";
    return fmt::format("({}, {}{}B)", kinds, with_prefix(conversions_.bytes), blank);
  }

  /// Why a backend runs nothing, or "".
  static std::string reason_of(const BackendRow& row) {
    if (row.is_unnamed_model) return row.absent;
    if (!row.absent.empty()) return "absent: " + row.absent;
    return row.refused.empty() ? "" : row.refused.front();
  }

  std::string unused_lines(const std::vector<const BackendRow*>& unused) const {
    std::string plain, models, one_model;
    std::vector<std::string> entries;
    size_t model_count = 0;
    for (const BackendRow* row : unused) {
      const std::string reason = reason_of(*row);
      if (reason.empty()) {
        runtime::add_to_list(plain, row->backend);
      } else if (row->is_unnamed_model) {
        runtime::add_to_list(models, row->backend);
        one_model = reason;
        ++model_count;
      } else {
        entries.push_back(row->backend + ": " + reason);
      }
    }
    if (!plain.empty()) entries.insert(entries.begin(), plain);
    if (model_count == 1) entries.push_back(models + ": " + one_model);
    if (model_count > 1)
      entries.push_back(models + ": models of chips, no devices: `-t NAME` or `--simulated` lets them take part");
    std::string text;
    for (const std::string& entry : entries) {
      text += row_text(text.empty() ? "not used" : "",
                       runtime::wrapped(entry, {kLabelColumns, kLabelColumns + kNoteIndent, width_}));
    }
    return text;
  }

  const Report& report_;
  const size_t width_;
  std::map<std::string, BackendFigures> figures_;
  const double macs_;
  const ConversionFigures conversions_;
  const size_t conversion_count_;
  double seconds_ = 0;  ///< of all steps
  size_t name_columns_ = std::string_view("conversions").size();
};

}  // namespace

std::string backend_table(const ir::Graph& graph, const ir::Placement& placement, const Report& report, size_t width) {
  return BackendTable(graph, placement, report, width).text();
}

}  // namespace collage::report
