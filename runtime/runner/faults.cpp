// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "runtime/core/text.h"
#include "runtime/runner/run_json.h"

namespace collage::runner {

using support::Code;

std::optional<Faults> read_faults(const std::string& file_or_text, support::SourceManager& sources,
                                  support::Diagnostics& diags) {
  std::error_code error;
  support::FileId file;
  if (std::filesystem::exists(file_or_text, error)) {
    const runtime::Result<support::FileId> loaded = sources.load(file_or_text);
    if (!loaded) return diags.error_at(Code::CannotRead, "--faults " + file_or_text, "{}", loaded.message());
    file = *loaded;
  } else {
    file = sources.add("--faults", file_or_text);
  }
  auto spec = runtime::parse_fault_spec(sources.text(file));
  if (const auto* wrong = std::get_if<runtime::FaultSpecError>(&spec)) {
    const support::Span span{file, static_cast<uint32_t>(wrong->begin), static_cast<uint32_t>(wrong->end)};
    return diags.error(Code::SyntaxError, span, "{}", wrong->message);
  }
  return Faults{std::move(std::get<runtime::FaultSpec>(spec)), file};
}

std::shared_ptr<runtime::FaultInjector> make_injector(const Faults& faults, const std::vector<std::string>& spaces,
                                                      support::Diagnostics& diags) {
  for (const runtime::FaultRule& rule : faults.spec.rules) {
    if (std::any_of(spaces.begin(), spaces.end(), [&](const std::string& space) { return rule.is_of(space); }))
      continue;
    const auto begin = static_cast<uint32_t>(rule.begin);
    const support::Span span{faults.text, begin, begin + static_cast<uint32_t>(rule.device.size())};
    diags.warning(Code::BadOption, span, "there is no device `{}`", rule.device)
        .note("the devices are {}", spaces.empty() ? "none" : fmt::to_string(fmt::join(spaces, ", ")));
  }
  return std::make_shared<runtime::FaultInjector>(faults.spec);
}

std::string print_recovery(const runtime::Executor& executor) {
  std::string text;
  if (const size_t retries = executor.retries(); retries > 0) {
    text += fmt::format("{:<12}{} {} given again, the last after: {}\n", "faults", runtime::counted(retries, "command"),
                        retries == 1 ? "was" : "were", executor.last_retried());
  }
  for (const runtime::DeviceLoss& loss : executor.losses()) text += fmt::format("{:<12}{}\n", "lost", loss.text());
  return text;
}

nlohmann::ordered_json recovery_json(const runtime::Executor& executor) {
  nlohmann::ordered_json json = {{"given_again", executor.retries()}, {"lost", nlohmann::ordered_json::array()}};
  for (const runtime::DeviceLoss& loss : executor.losses()) {
    nlohmann::ordered_json one = {
        {"device", loss.device}, {"partitions", loss.partitions}, {"now_on", loss.now_on}, {"event", loss.text()}};
    if (loss.step) one["step"] = *loss.step;
    json["lost"].push_back(std::move(one));
  }
  return json;
}

}  // namespace collage::runner
