// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/faults/fault_spec.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace collage::runtime {
namespace {

constexpr double kMostPatience = 10;  // seconds: a timeout takes wall time
constexpr Duration kUsualPatience = Duration::picoseconds(1'000'000'000);

struct FaultWord {
  std::string_view word;
  FaultKind kind;
};
constexpr FaultWord kFaultWords[] = {{"fail", FaultKind::Fail},
                                     {"flip", FaultKind::Flip},
                                     {"timeout", FaultKind::Timeout},
                                     {"lose", FaultKind::Lose},
                                     {"out-of-memory", FaultKind::OutOfMemory}};

struct CommandWord {
  std::string_view one, many;
  FaultCommand command;
};
constexpr CommandWord kCommandWords[] = {{"copy", "copies", FaultCommand::Copy},
                                         {"launch", "launches", FaultCommand::Launch},
                                         {"allocation", "allocations", FaultCommand::Allocation}};

/// A word, a sign, or the end of a statement: `;`, a line end, the end of the text.
struct FaultToken {
  std::string_view text;
  size_t begin = 0;
  bool ends_statement = false;
};

/// Thrown inside the parser alone.
struct WrongFaultSpec {
  FaultSpecError error;
};

bool is_word_letter(char c) {
  return std::string_view(" \t\r\n;:,#").find(c) == std::string_view::npos;
}

bool is_possible(FaultKind kind, FaultCommand command) {
  switch (kind) {
    case FaultKind::Flip: return command == FaultCommand::Copy;
    case FaultKind::OutOfMemory: return command == FaultCommand::Allocation;
    case FaultKind::Fail:
    case FaultKind::Timeout: return command != FaultCommand::Allocation;
    case FaultKind::Lose: return true;
  }
  return false;
}

class FaultSpecParser {
 public:
  explicit FaultSpecParser(std::string_view text) : text_(text) { advance(); }

  FaultSpec parse() {
    while (!is_at_end()) {
      if (token_.ends_statement) {
        advance();
      } else {
        statement();
      }
    }
    return std::move(spec_);
  }

 private:
  void statement() {
    if (token_.text == "seed") {
      advance();
      spec_.seed = static_cast<uint64_t>(whole("a seed", 0));
    } else {
      const FaultToken device = take("a device such as `npu[0]`, `npu` or `*`");
      check_device(device);
      if (token_.text != ":") fail("want `:` after the device");
      do {
        advance();
        fault(device);
      } while (token_.text == ",");
    }
    if (!token_.ends_statement) fail("want `;` or a new line");
  }

  void check_device(const FaultToken& device) {
    const std::string_view name = device.text;
    const size_t bracket = name.find('[');
    const std::string_view index = bracket == std::string_view::npos ? "0]" : name.substr(bracket + 1);
    const bool has_index = index.size() > 1 && index.back() == ']' &&
                           std::all_of(index.begin(), index.end() - 1, [](char c) { return c >= '0' && c <= '9'; });
    if (!has_index || bracket == 0) fail(device, "is no device: want `npu[0]`, `npu` or `*`");
    if (name == "host") fail(device, "is no device: faults are those of devices");
  }

  void fault(const FaultToken& device) {
    FaultRule rule;
    rule.device = device.text;
    rule.begin = device.begin;
    const FaultToken what = take("a fault");
    const auto* word = std::find_if(std::begin(kFaultWords), std::end(kFaultWords),
                                    [&](const FaultWord& known) { return known.word == what.text; });
    if (word == std::end(kFaultWords)) fail(what, "is no fault: want fail, flip, timeout, lose or out-of-memory");
    rule.kind = word->kind;
    if (rule.kind == FaultKind::Timeout) rule.patience = patience();
    const FaultToken command = when(rule);
    if (!is_possible(rule.kind, rule.command)) {
      fail(command, "cannot go wrong in this way: `" + std::string(what.text) + "` is " + possible(rule.kind));
    }
    const size_t end = end_of_last_;
    rule.text = std::string(device.text) + ": " + std::string(text_.substr(what.begin, end - what.begin));
    spec_.rules.push_back(std::move(rule));
  }

  static std::string possible(FaultKind kind) {
    if (kind == FaultKind::Flip) return "of copies";
    return kind == FaultKind::OutOfMemory ? "of allocations" : "of copies and launches";
  }

  /// `5 ms`, `5ms`, or nothing.
  Duration patience() {
    // A share follows at once where no time is given: `timeout 0.1 of copies`.
    const FaultToken first = token_;
    if (first.text.empty() || first.text[0] < '0' || first.text[0] > '9') return kUsualPatience;
    std::optional<Duration> time = parse_duration(first.text);
    if (!time) {
      const FaultSpecParser rest(*this, first.begin + first.text.size());
      if (rest.token_.ends_statement) return kUsualPatience;
      time = parse_duration(std::string(first.text) + std::string(rest.token_.text));
      if (!time) return kUsualPatience;
      advance();
    }
    if (time->seconds() > kMostPatience) fail(first, "is too long: at most 10 s");
    advance();
    return *time;
  }

  FaultToken when(FaultRule& rule) {
    if (token_.text == "at") {
      advance();
      const FaultToken word = take("a command");
      rule.command = command(word);
      rule.number = whole("which one, counted from 1", 1);
      return word;
    }
    if (token_.text == "after") {
      rule.when = FaultRule::When::After;
      advance();
      rule.number = whole("how many", 0);
    } else {
      rule.when = FaultRule::When::Share;
      rule.share = share();
      if (token_.text != "of") fail("want `of` after the share");
      advance();
    }
    const FaultToken word = take("a command");
    rule.command = command(word);
    return word;
  }

  FaultCommand command(const FaultToken& word) {
    for (const CommandWord& known : kCommandWords) {
      if (word.text == known.one || word.text == known.many) return known.command;
    }
    fail(word, "is no command: want copies, launches or allocations");
  }

  int64_t whole(const std::string& what, int64_t least) {
    const FaultToken token = take(what);
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [stop, error] = std::from_chars(token.text.data(), end, value);
    if (error != std::errc() || stop != end || value < least) fail(token, "is no number: want " + what);
    return value;
  }

  /// `0.01`, `1%`
  double share() {
    const FaultToken token = take("`at`, `after` or a share such as 0.01");
    std::string_view digits = token.text;
    const bool is_percent = digits.ends_with('%');
    if (is_percent) digits.remove_suffix(1);
    double value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || stop != end) fail(token, "is none of `at`, `after` and a share such as 0.01");
    if (is_percent) value /= 100;
    if (!(value >= 0 && value <= 1)) fail(token, "is no share: want 0 to 1");
    return value;
  }

  FaultToken take(const std::string& wanted) {
    if (token_.ends_statement) fail("want " + wanted);
    const FaultToken token = token_;
    advance();
    return token;
  }

  [[noreturn]] void fail(const std::string& message) {
    throw WrongFaultSpec{{token_.begin, token_.begin + token_.text.size(), message}};
  }
  [[noreturn]] static void fail(const FaultToken& token, const std::string& message) {
    throw WrongFaultSpec{
        {token.begin, token.begin + token.text.size(), "`" + std::string(token.text) + "` " + message}};
  }

  /// The same text from `at` on, to look ahead.
  FaultSpecParser(const FaultSpecParser& other, size_t at) : text_(other.text_), at_(at) { advance(); }

  bool is_at_end() const { return token_.ends_statement && token_.text.empty() && token_.begin >= text_.size(); }

  void advance() {
    end_of_last_ = token_.begin + token_.text.size();
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ >= text_.size()) {
      token_ = {{}, text_.size(), true};
      return;
    }
    const size_t begin = at_;
    while (at_ < text_.size() && is_word_letter(text_[at_])) ++at_;
    const bool is_sign = at_ == begin;
    if (is_sign) ++at_;
    token_ = {text_.substr(begin, at_ - begin), begin, is_sign && (text_[begin] == ';' || text_[begin] == '\n')};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t end_of_last_ = 0;
  FaultToken token_{};
  FaultSpec spec_;
};

}  // namespace

bool FaultRule::is_of(std::string_view space) const {
  return device == "*" || device == space || space.starts_with(device + "[");
}

std::variant<FaultSpec, FaultSpecError> parse_fault_spec(std::string_view text) {
  try {
    return FaultSpecParser(text).parse();
  } catch (const WrongFaultSpec& wrong) {
    return wrong.error;
  }
}

std::string_view name_of(FaultCommand command) {
  for (const CommandWord& known : kCommandWords) {
    if (known.command == command) return known.one;
  }
  return "";
}

}  // namespace collage::runtime
