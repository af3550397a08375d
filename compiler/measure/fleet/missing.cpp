// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/missing.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/measure/environment.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::measure::fleet {
namespace {

constexpr size_t kMostText = 80;    ///< characters of what differs
constexpr size_t kMostReasons = 4;  ///< of one need

std::vector<std::string_view> words_of_line(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::string shown_words(const std::vector<std::string_view>& words, size_t first, size_t last) {
  std::string text;
  for (size_t word = first; word < last; ++word) runtime::add_to_list(text, words[word], " ");
  if (text.empty()) return "nothing";
  // Not within a character of several bytes.
  size_t end = std::min(text.size(), kMostText);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("`{}{}`", text.substr(0, end), end < text.size() ? "…" : "");
}

/// The words without those at both ends that are equal, but with the one before:
///
///     `npu version 2 runtime sim`, `npu version 1 runtime sim`   =>   `version 2` instead of `version 1`
std::string difference_between(std::string_view theirs, std::string_view wanted) {
  const std::vector<std::string_view> a = words_of_line(theirs), b = words_of_line(wanted);
  const size_t both = std::min(a.size(), b.size());
  size_t first = 0, last = 0;
  while (first < both && a[first] == b[first]) ++first;
  while (last < both - first && a[a.size() - 1 - last] == b[b.size() - 1 - last]) ++last;
  if (first > 0) --first;
  return fmt::format("{} instead of {}", shown_words(a, first, a.size() - last),
                     shown_words(b, first, b.size() - last));
}

/// The command of `describe_program`, without the fingerprints after it.
std::string command_of(const std::string& program) {
  constexpr size_t kDigits = 16;
  std::vector<std::string_view> words = words_of_line(program);
  while (!words.empty() && words.back().size() == kDigits &&
         words.back().find_first_not_of("0123456789abcdef") == std::string_view::npos)
    words.pop_back();
  return fmt::format("{}", fmt::join(words, " "));
}

std::string difference_of_programs(const std::string& theirs, const std::string& wanted) {
  const std::string command = command_of(wanted);
  if (theirs.empty()) return "no cost program";
  if (command_of(theirs) == command) return fmt::format("files of `{}` have other contents", command);
  return fmt::format("another cost program, `{}` instead of `{}`", command_of(theirs), command);
}

struct Reason {
  std::string text;            ///< empty: it is of another kind
  bool is_of_backend = false;  ///< otherwise it is one for all backends
  bool operator==(const Reason&) const = default;
};

/// Why one worker does not measure.
Reason reason_of(const Environment& need, const KnownWorker& known, const std::vector<std::string>& offers,
                 Explain explain) {
  const Announcement& worker = known.announcement;
  // One that waits for its machine withholds what it measures, and says so.
  if (std::find(offers.begin(), offers.end(), to_text(need)) != offers.end()) return {known.note, true};
  const bool is_of_program = !need.program.empty();
  if (!is_of_program && worker.machine != need.machine) {
    if (explain != Explain::All) return {};
    Environment there;
    there.machine = worker.machine;
    const bool is_alike = there.processor() == need.processor();
    return {fmt::format("another machine, `{}`{}", there.processor(), is_alike ? " with other features" : "")};
  }
  if (!is_of_program && worker.build != need.build)
    return {fmt::format("another build, {} instead of {}", worker.build, need.build)};
  Reason other;
  for (const std::string& offer : offers) {
    const Environment theirs = parse_environment(offer);
    if (theirs.backend() != need.backend()) continue;
    if (theirs.subject != need.subject) {
      other = {"other rules, " + difference_between(theirs.subject, need.subject), true};
    } else if (theirs.program != need.program) {
      return {difference_of_programs(theirs.program, need.program), true};
    }
  }
  if (!other.text.empty() || explain != Explain::All) return other;
  return {fmt::format("only {} is measured there", worker.backends), true};
}

}  // namespace

std::vector<std::string> why_not_asked(const std::string& need, const std::vector<KnownWorker>& workers,
                                       const std::map<int64_t, std::vector<std::string>>& offers, Explain explain) {
  const Environment wanted = parse_environment(need);
  struct Group {
    const Announcement* first = nullptr;
    size_t others = 0;
    Reason reason;
  };
  std::vector<Group> groups;
  for (const KnownWorker& worker : workers) {
    const auto offered = offers.find(worker.id);
    if (!worker.is_live || offered == offers.end()) continue;
    Reason reason = reason_of(wanted, worker, offered->second, explain);
    if (reason.text.empty()) continue;
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const Group& one) { return one.reason == reason; });
    if (same != groups.end()) {
      ++same->others;
    } else {
      groups.push_back({&worker.announcement, 0, std::move(reason)});
    }
  }
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    if (lines.size() == kMostReasons) break;
    const std::string others = group.others == 0 ? "" : " and " + runtime::counted(group.others, "other");
    lines.push_back(fmt::format("worker `{}` at {}{} {} not asked{}: {}", group.first->name, group.first->host, others,
                                group.others == 0 ? "is" : "are",
                                group.reason.is_of_backend ? fmt::format(" for `{}`", wanted.backend()) : "",
                                group.reason.text));
  }
  return lines;
}

}  // namespace collage::measure::fleet
