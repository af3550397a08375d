// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/seconds_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <system_error>

namespace collage::tools {

void add_seconds(CLI::App& app, const std::string& flag, double& seconds, const std::string& help) {
  static constexpr double kMost = 1e6;
  const auto store = [&seconds, flag](const CLI::results_t& texts) {
    const std::string& text = texts.front();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!is_number || !(value >= 0 && value <= kMost)) {  // NaN is neither
      throw CLI::ValidationError(flag, fmt::format("`{}` is no number of seconds from 0 to {}", text, kMost));
    }
    seconds = value;
    return true;
  };
  app.add_option(flag, store, help)
      ->type_name("SECONDS")
      ->allow_extra_args(false)
      ->default_str(fmt::format("{}", seconds));
}

}  // namespace collage::tools
