// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/model/build_format.h"

#include <cmath>

#include "runtime/core/layout.h"

namespace collage::sema {
namespace {

using support::Code;
using syntax::FormatPart;
using syntax::FormatParts;

class LayoutBuilder {
 public:
  LayoutBuilder(const FormatParts& parts, bool takes_any, support::Diagnostics& diags)
      : parts_(parts), takes_any_(takes_any), diags_(diags) {}

  std::optional<MemoryLayout> run() {
    if (!layout()) return std::nullopt;
    if (at_ < parts_.size() && !storage()) return std::nullopt;
    return built_;
  }

 private:
  bool layout() {
    const FormatPart& first = parts_[0];
    if (runtime::parse_storage_type(first.word)) return true;
    ++at_;
    if (first.word == "any" && takes_any_) {
      built_.any = true;
      return true;
    }
    if (runtime::is_known_layout(first.word)) {
      built_.layout = runtime::canonical_layout(first.word);
      return true;
    }
    return diags_.error(Code::BadFormat, first.span, "unknown layout `{}`", first.word)
        .did_you_mean(support::closest(first.word, runtime::layout_names()));
  }

  bool storage() {
    const FormatPart& word = parts_[at_++];
    auto type = runtime::parse_storage_type(word.word);
    if (word.word.empty()) {
      return diags_.error(Code::BadQuantisation, word.span, "a number in a format must follow `scale` or `zero`");
    }
    if (!type) {
      return diags_.error(Code::UnknownName, word.span, "unknown dtype `{}`", word.word)
          .did_you_mean(support::closest(word.word, runtime::storage_type_names()));
    }
    built_.storage = runtime::Storage{*type};
    while (at_ < parts_.size()) {
      if (!parameter()) return false;
    }
    return check_scale(word);
  }

  /// `scale 0.05`, `zero 3`
  bool parameter() {
    const FormatPart& name = parts_[at_++];
    bool is_known = name.word == "scale" || name.word == "zero";
    if (!is_known) {
      return diags_
          .error(Code::BadQuantisation, name.span, "expected `scale` or `zero`{}",
                 name.word.empty() ? "" : ", found `" + name.word + "`")
          .did_you_mean(support::closest(name.word, {"scale", "zero"}));
    }
    if (at_ == parts_.size() || !parts_[at_].word.empty()) {
      return diags_.error(Code::BadQuantisation, name.span, "`{}` needs a number", name.word);
    }
    const FormatPart& number = parts_[at_++];
    std::optional<double>& target = name.word == "scale" ? scale_ : zero_;
    if (target) return diags_.error(Code::BadQuantisation, name.span, "a second `{}`", name.word);
    target = number.number;
    if (name.word == "scale" && !(std::isfinite(number.number) && number.number > 0)) {
      return diags_.error(Code::BadQuantisation, number.span, "a scale must be a number above 0");
    }
    runtime::StorageType type = built_.storage->type;
    bool fits =
        name.word == "scale" || (std::fabs(number.number) < 0x1p31 && number.number == std::floor(number.number) &&
                                 runtime::can_store(type, static_cast<int64_t>(number.number)));
    if (!fits && runtime::is_integer(type)) {
      return diags_.error(Code::BadQuantisation, number.span, "`zero` must be an integer that {} can hold",
                          runtime::name_of(type));
    }
    return true;
  }

  bool check_scale(const FormatPart& word) {
    if (!scale_ && !zero_) return true;
    if (!runtime::is_integer(built_.storage->type)) {
      return diags_.error(Code::BadQuantisation, word.span, "`{}` cannot have a scale: it stores real numbers directly",
                          word.word);
    }
    if (!scale_) return diags_.error(Code::BadQuantisation, word.span, "a `zero` without a `scale`");
    built_.storage->quantisation = {*scale_, static_cast<int32_t>(zero_.value_or(0))};
    return true;
  }

  const FormatParts& parts_;
  bool takes_any_;
  support::Diagnostics& diags_;
  MemoryLayout built_;
  size_t at_ = 0;
  std::optional<double> scale_;
  std::optional<double> zero_;
};

}  // namespace

std::optional<MemoryLayout> build_memory_layout(const FormatParts& parts, bool takes_any, support::Diagnostics& diags) {
  return LayoutBuilder(parts, takes_any, diags).run();
}

}  // namespace collage::sema
