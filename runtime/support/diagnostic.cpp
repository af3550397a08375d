// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/diagnostic.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "runtime/support/visible.h"
#include "runtime/support/written_name.h"

namespace collage::support {
namespace {

struct Kind {
  Code code;
  int number;
  std::string_view name;
  std::string_view explanation;
};

constexpr Kind kKinds[] = {
#define DIAGNOSTIC(number, name, explanation) {Code::name, number, #name, explanation},
#include "runtime/support/diagnostic_kinds.def"
#undef DIAGNOSTIC
};

const Kind& kind(Code code) {
  return kKinds[static_cast<size_t>(code)];
}

/// Returns whether the byte continues a UTF-8 character, and so takes no column.
bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// The source line, cut to the width of a terminal and with `?` for what a terminal would obey, then a line with carets
/// under the part of `span` that lies on it.
std::string excerpt(const SourceManager& sources, const Span& span) {
  constexpr size_t kShown = 160;
  constexpr std::string_view kDots = "...";
  const std::string_view line = sources.line_at(span.file, span.begin);
  const LineColumn at = sources.position(span.file, span.begin);
  const size_t column = std::min(static_cast<size_t>(at.column - 1), line.size());
  size_t begin = column < kShown ? 0 : column - kShown / 2;
  while (begin < column && continues_character(line[begin])) ++begin;
  size_t end = std::min(begin + kShown, line.size());
  while (end < line.size() && continues_character(line[end])) ++end;
  const size_t wanted = span.end > span.begin ? span.end - span.begin : 1;
  size_t marked_end = std::min(column + wanted, end);
  while (marked_end < end && continues_character(line[marked_end])) ++marked_end;
  const std::string_view dots = end < line.size() ? kDots : "";
  const std::string before = (begin > 0 ? std::string(kDots) : "") + masked(line.substr(begin, column - begin));
  const std::string marked = masked(line.substr(column, marked_end - column));
  const std::string after = masked(line.substr(marked_end, end - marked_end)).append(dots);
  std::string pad;
  for (char c : before) {
    if (!continues_character(c)) pad += c == '\t' ? '\t' : ' ';
  }
  const auto characters = std::count_if(marked.begin(), marked.end(), [](char c) { return !continues_character(c); });
  const size_t width = static_cast<size_t>(characters) +
                       std::min(column + std::max(wanted, marked_end - column) - marked_end, dots.size());
  const std::string carets = "^" + std::string(width > 1 ? width - 1 : 0, '~');
  return fmt::format("{:>5} | {}{}{}\n{:>5} | {}{}\n", at.line, before, marked, after, "", pad, carets);
}

std::string render_part(const SourceManager& sources, const Span& span, std::string_view where, std::string_view label,
                        std::string_view message) {
  if (!span.is_valid()) {
    std::string prefix = where.empty() ? "" : fmt::format("{}: ", visible(where));
    return fmt::format("{}{}: {}\n", prefix, label, message);
  }
  LineColumn at = sources.position(span.file, span.begin);
  return fmt::format("{}:{}:{}: {}: {}\n{}", visible(sources.name(span.file)), at.line, at.column, label, message,
                     excerpt(sources, span));
}

/// Counts insertions, deletions, replacements and swaps of neighbours, ignoring case (restricted Damerau-Levenshtein).
size_t edit_distance(std::string_view a, std::string_view b) {
  auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  const size_t width = b.size() + 1;
  std::vector<size_t> costs((a.size() + 1) * width);
  const auto cost = [&](size_t i, size_t j) -> size_t& { return costs[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost(i, j) = i + j;
        continue;
      }
      cost(i, j) =
          std::min({cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) cost(i, j) = std::min(cost(i, j), cost(i - 2, j - 2) + 1);
    }
  }
  return cost(a.size(), b.size());
}

/// A character of names in both languages.
bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.$-/").find(c) != std::string_view::npos;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_of_word);
}

Span part_of(const Span& span, size_t begin, size_t length) {
  const auto at = static_cast<uint32_t>(span.begin + begin);
  return {span.file, at, static_cast<uint32_t>(at + length)};
}

/// A place where another word may stand, and how it is written there; nullopt: it cannot be.
struct WordPlace {
  enum class Form {
    Bare,
    AfterSigil,  ///< the place has the quotes, if there are any
    InQuotes
  };
  Span span;
  Form form = Form::Bare;

  std::optional<std::string> written(std::string_view word) const {
    if (form == Form::AfterSigil) return written_name(word);
    const bool fits = form == Form::InQuotes ? is_word(word) : is_plain_name(word);
    return fits ? std::optional(std::string(word)) : std::nullopt;
  }
};

/// The word that a text consists of: `x` of `%x`, `"a b"` of `%"a b"`, `NHWC` of `"NHWC"`.
std::optional<WordPlace> only_word(std::string_view text, const Span& span) {
  using Form = WordPlace::Form;
  const bool has_sigil = text.starts_with('%') || text.starts_with('@');
  const std::string_view name = has_sigil ? text.substr(1) : text;
  const bool has_quotes = name.size() >= 2 && name.starts_with('"') && name.ends_with('"');
  if (has_sigil && (has_quotes || is_word(name))) return WordPlace{part_of(span, 1, name.size()), Form::AfterSigil};
  const size_t quotes = has_quotes ? 1 : 0;
  const size_t length = name.size() - 2 * quotes;
  if (has_sigil || !is_word(name.substr(quotes, length))) return std::nullopt;
  return WordPlace{part_of(span, quotes, length), has_quotes ? Form::InQuotes : Form::Bare};
}

/// Where `word` stands in a text first, as a whole word.
std::optional<WordPlace> find_word(std::string_view text, std::string_view word, const Span& span) {
  if (word.empty()) return std::nullopt;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool is_whole = (at == 0 || !is_of_word(text[at - 1])) && (end == text.size() || !is_of_word(text[end]));
    if (is_whole) return WordPlace{part_of(span, at, word.size())};
  }
  return std::nullopt;
}

/// What is written in place of the word that a place has; nullopt where nothing fits.
std::optional<Fix> fix_of(const std::optional<WordPlace>& place, std::string_view near) {
  if (!place || near.empty()) return std::nullopt;
  std::optional<std::string> text = place->written(near);
  if (!text) return std::nullopt;
  return Fix{place->span, std::move(*text)};
}

}  // namespace

std::string code_text(Code code) {
  return fmt::format("CG{:04}", kind(code).number);
}

std::string_view code_name(Code code) {
  return kind(code).name;
}

std::string_view code_explanation(Code code) {
  return kind(code).explanation;
}

std::optional<Code> parse_code(std::string_view text) {
  for (const Kind& k : kKinds) {
    if (code_text(k.code) == text || k.name == text) return k.code;
  }
  return std::nullopt;
}

std::vector<Code> all_codes() {
  std::vector<Code> codes;
  for (const Kind& k : kKinds) codes.push_back(k.code);
  return codes;
}

Diagnostic& Diagnostic::did_you_mean(std::string_view near) {
  const Span span = owner_.records_[index_].span;
  return suggest(near, span.is_valid() ? fix_of(only_word(owner_.sources_.text(span), span), near) : std::nullopt);
}

Diagnostic& Diagnostic::did_you_mean(std::string_view near, std::string_view word) {
  const Span span = owner_.records_[index_].span;
  return suggest(near,
                 span.is_valid() ? fix_of(find_word(owner_.sources_.text(span), word, span), near) : std::nullopt);
}

Diagnostic& Diagnostic::fix(std::string text) {
  DiagnosticRecord& record = owner_.records_[index_];
  if (record.span.is_valid()) record.fixes.push_back({record.span, std::move(text)});
  return *this;
}

Diagnostic& Diagnostic::suggest(std::string_view near, std::optional<Fix> fix) {
  if (near.empty()) return *this;
  if (fix) owner_.records_[index_].fixes.push_back(std::move(*fix));
  return note("did you mean `{}`?", near);
}

Diagnostic& Diagnostic::add_note(Span span, std::string message) {
  owner_.records_[index_].notes.push_back({span, std::move(message)});
  return *this;
}

Diagnostic Diagnostics::add(DiagnosticRecord record) {
  records_.push_back(std::move(record));
  return Diagnostic(*this, records_.size() - 1);
}

void Diagnostics::add_errors(const Diagnostics& other) {
  add_errors(other, [](const DiagnosticRecord&) { return true; });
}

void Diagnostics::add_errors(const Diagnostics& other, const std::function<bool(const DiagnosticRecord&)>& wanted) {
  for (const DiagnosticRecord& record : other.records_) {
    if (record.severity == Severity::Error && wanted(record)) records_.push_back(record);
  }
}

size_t Diagnostics::error_count() const {
  return static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(), [](const auto& r) { return r.severity == Severity::Error; }));
}

std::string Diagnostics::render(size_t first) const {
  std::vector<const DiagnosticRecord*> order;
  for (size_t i = first; i < records_.size(); ++i) order.push_back(&records_[i]);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->span.file.index, a->span.begin) < std::pair(b->span.file.index, b->span.begin);
  });
  std::string text;
  std::string previous;
  std::map<std::pair<Code, Severity>, size_t> alike;
  for (const DiagnosticRecord* record : order) {
    if (alike[{record->code, record->severity}]++ >= kMostAlike) continue;
    std::string_view label = record->severity == Severity::Error ? "error" : "warning";
    std::string part = render_part(sources_, record->span, record->where, label,
                                   fmt::format("{} [{}]", visible(record->message), code_text(record->code)));
    // A note may show a model.
    for (const Note& note : record->notes)
      part += render_part(sources_, note.span, "", "note", visible(note.message, Lines::Keep));
    if (part != previous) text += part;
    previous = std::move(part);
  }
  for (const auto& [kind, count] : alike) {
    if (count > kMostAlike)
      text += fmt::format("note: {} more of {} are not shown\n", count - kMostAlike, code_text(kind.first));
  }
  return text;
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestWord = 200;
  if (word.size() < 2 || word.size() > kLongestWord) return "";
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    // Each letter that one has more is a difference.
    if (candidate.size() >= word.size() + best_distance || word.size() >= candidate.size() + best_distance) continue;
    size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace collage::support
