// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/write_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/core/built_without.h"
#include "runtime/support/check.h"
#include "runtime/support/write_file.h"

namespace collage::page {
namespace {

std::string with_replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find(what, at), text.size());
    result += text.substr(at, next - at);
    if (next < text.size()) result += by;
    at = next < text.size() ? next + what.size() : next;
  }
  return result;
}

/// Scripts, styles and licences by the end of their names.
struct PageParts {
  std::string_view page;
  std::string style, scripts, licences;
};

PageParts parts_of(std::span<const PageAsset> assets) {
  PageParts parts;
  for (const PageAsset& asset : assets) {
    if (asset.name.ends_with(".html")) {
      parts.page = asset.text;
    } else if (asset.name.ends_with(".css")) {
      parts.style += fmt::format("<style>\n{}</style>\n", asset.text);
    } else if (asset.name.ends_with(".js")) {
      parts.scripts += fmt::format("<script>\n{}\n</script>\n", asset.text);
    } else {
      // A comment ends at `--`.
      parts.licences += fmt::format("<!--\n{}\n\n{}-->\n", asset.name, with_replaced(asset.text, "--", "- -"));
    }
  }
  return parts;
}

}  // namespace

std::string script_text(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return with_replaced(text, "<", "\\u003c");  // it stands in strings alone
}

std::string element_text(std::string_view text) {
  return with_replaced(with_replaced(text, "&", "&amp;"), "<", "&lt;");
}

std::string page_text(std::span<const PageAsset> assets, std::string_view title, const nlohmann::ordered_json& data) {
  const PageParts parts = parts_of(assets);
  const std::pair<std::string_view, std::string> marks[] = {
      {"<!-- @title@ -->", element_text(title)},
      {"<!-- @licences@ -->", parts.licences},
      {"<!-- @style@ -->", parts.style},
      {"<!-- @data@ -->", fmt::format("<script type=\"application/json\" id=\"data\">{}</script>", script_text(data))},
      {"<!-- @scripts@ -->", parts.scripts}};
  std::string text;
  size_t at = 0;
  for (const auto& [mark, by] : marks) {
    const size_t next = parts.page.find(mark, at);
    COLLAGE_CHECK(next != std::string_view::npos, "the page has no mark {} after the one before", mark);
    text += parts.page.substr(at, next - at);
    text += by;
    at = next + mark.size();
  }
  return text += parts.page.substr(at);
}

bool can_report(support::Diagnostics& diags) {
  if (!page_assets().empty()) return true;
  return diags
      .error_at(support::Code::BadOption, "--report", "{}",
                runtime::built_without("d3 and dagre, which draw the page", "REPORT"))
      .note("Debian has them in `node-d3` and `node-dagre-layout`; CMake takes them in when it configures");
}

bool write_report(const std::string& path, const nlohmann::ordered_json& data, support::Diagnostics& diags) {
  const std::string title = data["about"]["file"].get<std::string>();
  return support::write_file(path, page_text(page_assets(), title, data), diags);
}

}  // namespace collage::page
