// SPDX-License-Identifier: Apache-2.0
// What the compiler reports about its input. One engine collects; the driver prints and decides the exit code.
//
//     return diags.error(Code::UnknownOperator, span, "unknown operator `{}`", name).note("did you mean `{}`?", near);
//
// A Diagnostic converts to an empty std::optional and to false, so that an error can be returned as the failure.
// Messages are lower case, without period, code in backticks; they say what was found and point at the narrowest span.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/source_manager.h"
#include "runtime/support/span.h"

namespace collage::support {

/// Rows of `diagnostic_kinds.def`. The printed code is `CG` and the number of the row.
enum class Code {
#define DIAGNOSTIC(number, name, explanation) name,
#include "runtime/support/diagnostic_kinds.def"
#undef DIAGNOSTIC
};

/// `CG0102`
std::string code_text(Code code);
/// `UnknownOperator`
std::string_view code_name(Code code);
/// The sentence that `--explain` prints.
std::string_view code_explanation(Code code);
std::optional<Code> parse_code(std::string_view text);
std::vector<Code> all_codes();

enum class Severity { Error, Warning };

struct Note {
  Span span;  ///< may be invalid: a note without a place
  std::string message;
};

/// What to write in place of a span.
struct Fix {
  Span span;
  std::string text;
};

struct DiagnosticRecord {
  Severity severity = Severity::Error;
  Code code;
  Span span;          ///< may be invalid: then `where` names the place
  std::string where;  ///< file or option, where there is no source text: `model.onnx: node 'conv1'`
  std::string message;
  std::vector<Note> notes;
  std::vector<Fix> fixes{};  ///< each of them alone is what may have been meant
};

class Diagnostics;

/// Handle of a diagnostic just emitted: attach notes, or return it as the failure.
class Diagnostic {
 public:
  template <typename... Args>
  Diagnostic& note(fmt::format_string<Args...> format, Args&&... args) {
    return add_note({}, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Diagnostic& note(Span span, fmt::format_string<Args...> format, Args&&... args) {
    return add_note(span, fmt::format(format, std::forward<Args>(args)...));
  }
  /// "did you mean `near`?", or nothing if `near` is empty. Where the diagnostic's span is one word, with a sigil or in
  /// quotes or not, to write `near` there is its fix; after a sigil it gets quotes where it needs them.
  Diagnostic& did_you_mean(std::string_view near);
  /// The same where the span holds more than the word.
  Diagnostic& did_you_mean(std::string_view near, std::string_view word);
  /// Says what may be written in place of its span.
  Diagnostic& fix(std::string text);

  template <typename T>
  operator std::optional<T>() const {
    return std::nullopt;
  }                                                    // NOLINT: implicit on purpose
  operator bool() const { return false; }              // NOLINT: implicit on purpose
  operator std::nullptr_t() const { return nullptr; }  // NOLINT: implicit on purpose

 private:
  friend class Diagnostics;
  Diagnostic(Diagnostics& owner, size_t index) : owner_(owner), index_(index) {}
  Diagnostic& add_note(Span span, std::string message);
  Diagnostic& suggest(std::string_view near, std::optional<Fix> fix);
  Diagnostics& owner_;
  size_t index_;
};

class Diagnostics {
 public:
  explicit Diagnostics(const SourceManager& sources) : sources_(sources) {}

  template <typename... Args>
  Diagnostic error(Code code, Span span, fmt::format_string<Args...> format, Args&&... args) {
    return add({Severity::Error, code, span, "", fmt::format(format, std::forward<Args>(args)...), {}});
  }
  /// An error in something that has no text: an option, a binary file, a node of an ONNX model.
  template <typename... Args>
  Diagnostic error_at(Code code, std::string where, fmt::format_string<Args...> format, Args&&... args) {
    return add({Severity::Error, code, {}, std::move(where), fmt::format(format, std::forward<Args>(args)...), {}});
  }
  template <typename... Args>
  Diagnostic warning(Code code, Span span, fmt::format_string<Args...> format, Args&&... args) {
    return add({Severity::Warning, code, span, "", fmt::format(format, std::forward<Args>(args)...), {}});
  }
  template <typename... Args>
  Diagnostic warning_at(Code code, std::string where, fmt::format_string<Args...> format, Args&&... args) {
    return add({Severity::Warning, code, {}, std::move(where), fmt::format(format, std::forward<Args>(args)...), {}});
  }

  /// While it lives, what is reported gets a note: the place that led to where the mistake is.
  class NoteOnErrors {
   public:
    NoteOnErrors(Diagnostics& owner, Span span, std::string message)
        : owner_(owner), first_(owner.records_.size()), note_{span, std::move(message)} {}
    ~NoteOnErrors() {
      for (size_t i = first_; i < owner_.records_.size(); ++i) owner_.records_[i].notes.push_back(note_);
    }
    NoteOnErrors(const NoteOnErrors&) = delete;
    NoteOnErrors& operator=(const NoteOnErrors&) = delete;

   private:
    Diagnostics& owner_;
    size_t first_;
    Note note_;
  };

  bool has_errors() const { return error_count() > 0; }
  size_t error_count() const;
  const std::vector<DiagnosticRecord>& records() const { return records_; }
  const SourceManager& sources() const { return sources_; }

  /// Adds the errors of `other`, which is about the same sources.
  void add_errors(const Diagnostics& other);
  /// Adds those for which `wanted` holds.
  void add_errors(const Diagnostics& other, const std::function<bool(const DiagnosticRecord&)>& wanted);

  /// How many of one code are printed. A file may have a mistake in each of a million lines.
  static constexpr size_t kMostAlike = 100;

  /// Prints the diagnostics from the index `first` on, sorted by file and place, equal ones once:
  ///
  ///     mlp.ir:7:15: error: inner dimensions differ: 128 and 64 [CG0203]
  ///        7 |   %h = MatMul(%x, %w1)
  ///          |               ^~~~~~~
  std::string render(size_t first = 0) const;

 private:
  friend class Diagnostic;
  Diagnostic add(DiagnosticRecord record);
  const SourceManager& sources_;
  std::vector<DiagnosticRecord> records_;
};

/// The candidate closest in spelling to `word`, or empty if none is close.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace collage::support
