// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/load_cost_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <vector>

#include "compiler/sema/rules/check_expr.h"
#include "runtime/core/text.h"
#include "runtime/support/csv.h"

namespace collage::sema {
namespace {

using support::Code;
using support::Span;

constexpr size_t kMostRows = 1'000'000;
constexpr size_t kMostArguments = 6;

class TableReader {
 public:
  TableReader(support::FileId file, const support::SourceManager& sources, support::Diagnostics& diags)
      : file_(file), text_(sources.text(file)), diags_(diags) {}

  std::shared_ptr<const ir::CostTable> run(std::string_view name) {
    table_->file = name;
    if (!read_lines()) return nullptr;
    if (lines_.empty()) {
      diags_.error(Code::BadCostTable, Span{file_, 0, 0}, "the table is empty")
          .note("it starts with a header: `macs, time [us]`");
      return nullptr;
    }
    if (!read_header() || !read_rows() || !make_grid()) return nullptr;
    return std::move(table_);
  }

 private:
  using Cells = std::vector<Span>;

  std::string_view text(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  Span trim(size_t begin, size_t end) const {
    auto is_space = [&](size_t at) { return text_[at] == ' ' || text_[at] == '\t'; };
    while (begin < end && is_space(begin)) ++begin;
    while (end > begin && is_space(end - 1)) --end;
    return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  bool read_lines() {
    for (const support::CsvRecord& record : support::parse_csv_with_comments(text_)) {
      Cells cells;
      for (const support::CsvField& field : record) cells.push_back(trim(field.begin, field.end));
      if (lines_.size() > kMostRows) {
        return diags_.error(Code::BadCostTable, cells.front().to(cells.back()), "the table has more than {} rows",
                            kMostRows);
      }
      lines_.push_back(std::move(cells));
    }
    return true;
  }

  /// `time [us]`
  bool read_column(Span cell, std::string* name, ir::Unit* unit, double* factor) {
    std::string_view written = text(cell);
    size_t open = written.find('[');
    Span name_span = trim(cell.begin, open == std::string_view::npos ? cell.end : cell.begin + open);
    *name = text(name_span);
    *factor = 1;
    if (name->empty()) return diags_.error(Code::BadCostTable, cell, "a column has no name");
    if (open == std::string_view::npos) return true;
    Span unit_span = trim(cell.begin + open + 1, cell.end - 1);
    *factor = si_value(1, text(unit_span), unit);
    if (written.back() == ']' && *unit != ir::Unit::None) return true;
    return diags_
        .error(Code::BadCostTable, Span{file_, cell.begin + static_cast<uint32_t>(open), cell.end},
               "`{}` is not a unit", written.substr(open))
        .note("`time [us]`, `size [KiB]`, `rate [GB/s]`");
  }

  bool read_header() {
    const Cells& header = lines_[0];
    if (header.size() < 2 || header.size() > kMostArguments + 1) {
      return diags_.error(Code::BadCostTable, header[0].to(header.back()),
                          "a table has one to {} columns of arguments and one of results, found {}", kMostArguments,
                          runtime::counted(header.size(), "column"));
    }
    for (size_t i = 0; i < header.size(); ++i) {
      std::string name;
      ir::Unit unit = ir::Unit::None;
      factors_.emplace_back();
      if (!read_column(header[i], &name, &unit, &factors_.back())) return false;
      if (i + 1 < header.size()) {
        table_->axes.push_back({std::move(name), unit, {}});
      } else {
        table_->unit = unit;
      }
    }
    return true;
  }

  bool read_rows() {
    if (lines_.size() < 2) return diags_.error(Code::BadCostTable, lines_[0][0], "the table has no rows");
    for (size_t l = 1; l < lines_.size(); ++l) {
      const Cells& cells = lines_[l];
      if (cells.size() != lines_[0].size()) {
        return diags_.error(Code::BadCostTable, cells[0].to(cells.back()), "{}, the header has {}",
                            runtime::counted(cells.size(), "column"), lines_[0].size());
      }
      rows_.emplace_back();
      for (size_t i = 0; i < cells.size(); ++i) {
        std::string_view written = text(cells[i]);
        double number = 0;
        auto [stop, error] = std::from_chars(written.data(), written.data() + written.size(), number);
        if (error != std::errc() || stop != written.data() + written.size() || !std::isfinite(number * factors_[i])) {
          return diags_.error(Code::BadCostTable, cells[i], "`{}` is not a number", written);
        }
        rows_.back().push_back(number * factors_[i]);
      }
      if (l < 2) continue;
      const std::vector<double>& before = rows_[l - 2];
      const std::vector<double>& row = rows_[l - 1];
      size_t axes = table_->axes.size();
      size_t differs = 0;
      while (differs < axes && row[differs] == before[differs]) ++differs;
      if (differs < axes && row[differs] > before[differs]) continue;
      Span place = cells[0].to(cells[axes - 1]);
      if (differs == axes)
        return diags_.error(Code::BadCostTable, place, "two rows have the arguments `{}`", text(place));
      return diags_.error(Code::BadCostTable, cells[differs], "`{}` comes after a larger `{}`: rows must ascend",
                          text(cells[differs]), table_->axes[differs].name);
    }
    return true;
  }

  /// Expects ascending rows. The grid is full if they are all combinations of the values in the columns.
  bool make_grid() {
    size_t points = 1;
    for (size_t i = 0; i < table_->axes.size(); ++i) {
      std::vector<double>& axis = table_->axes[i].points;
      for (const std::vector<double>& row : rows_) axis.push_back(row[i]);
      std::sort(axis.begin(), axis.end());
      axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
      points = std::min(points * axis.size(), kMostRows * 2);
    }
    for (size_t r = 0; r < points; ++r) {
      std::string missing;
      bool is_there = r < rows_.size();
      size_t rest = r;
      for (size_t i = table_->axes.size(); i-- > 0;) {
        const std::vector<double>& axis = table_->axes[i].points;
        double wanted = axis[rest % axis.size()];
        rest /= axis.size();
        is_there = is_there && rows_[r][i] == wanted;
        missing = fmt::format("{} {:g}{}{}", table_->axes[i].name, wanted / factors_[i], missing.empty() ? "" : ", ",
                              missing);
      }
      if (!is_there) {
        const Cells& near = lines_[std::min(r + 1, lines_.size() - 1)];
        return diags_.error(Code::BadCostTable, near[0].to(near.back()), "no row has the arguments {}", missing)
            .note("the rows must be all combinations of the values of the arguments");
      }
      if (table_->unit == ir::Unit::Time && rows_[r].back() < 0) {
        diags_.warning(Code::BadCost, lines_[r + 1].back(), "this cost is negative: what it is about is refused");
      }
      table_->values.push_back(rows_[r].back());
    }
    return true;
  }

  support::FileId file_;
  std::string_view text_;
  support::Diagnostics& diags_;
  std::shared_ptr<ir::CostTable> table_ = std::make_shared<ir::CostTable>();
  std::vector<Cells> lines_;  ///< starts with the header
  std::vector<double> factors_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace

std::shared_ptr<const ir::CostTable> CostTableFiles::load(const std::string& path, Span span,
                                                          support::Diagnostics& diags) {
  std::filesystem::path folder = std::filesystem::path(sources_.name(span.file)).parent_path();
  std::string name = (folder / path).string();
  if (auto known = tables_.find(name); known != tables_.end()) return known->second;
  std::shared_ptr<const ir::CostTable> table;
  if (const auto file = sources_.load(name, access_, folder.string())) {
    table = TableReader(*file, sources_, diags).run(name);
  } else if (file.message() == support::kOutside) {
    diags.error(Code::BadCostTable, span, "`{}` {}", path, support::kOutside).note("{}", support::kOutsideHint);
  } else {
    diags.error(Code::BadCostTable, span, "`{}` cannot be read: {}", name, file.message());
  }
  tables_[name] = table;
  return table;
}

}  // namespace collage::sema
