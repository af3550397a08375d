// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/target_words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "compiler/sema/rules/check_expr.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::request {
namespace {

using support::Code;

/// Always there, with or without rules.
constexpr std::string_view kHost = "host";

/// `16`, `true`, `fast` as the type that the attribute is declared with.
std::optional<runtime::AttrValue> parse_value(const ir::AttrDecl& decl, const std::string& text) {
  if (decl.type == ir::ExprType::String) return runtime::AttrValue(text);
  if (decl.type == ir::ExprType::Bool) {
    if (text != "true" && text != "false") return std::nullopt;
    return runtime::AttrValue(int64_t{text == "true"});
  }
  const char* end = text.data() + text.size();
  if (decl.unit != ir::Unit::None) {
    double number = 0;
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc()) return std::nullopt;
    std::string_view unit_text(stop, end);
    while (unit_text.starts_with(' ')) unit_text.remove_prefix(1);
    ir::Unit unit = decl.unit;  // of a number alone, in SI
    if (!unit_text.empty()) number = sema::si_value(number, unit_text, &unit);
    if (unit != decl.unit || !std::isfinite(number)) return std::nullopt;
    return runtime::AttrValue(number);
  }
  if (std::holds_alternative<double>(decl.fallback)) {
    double number = 0;
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
    return runtime::AttrValue(number);
  }
  int64_t number = 0;
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return runtime::AttrValue(number);
}

std::string allowed_text(const ir::AttrDecl& decl) {
  return runtime::joined(decl.allowed, ", ", [](const auto& value) { return runtime::to_string(value); });
}

bool set_attr(Activation& activation, const std::string& setting, support::Diagnostics& diags) {
  const ir::Backend& backend = *activation.active.backend;
  std::string where = "-t " + backend.name;
  size_t equals = setting.find('=');
  std::string name = setting.substr(0, equals), text = setting.substr(equals + 1);
  const ir::AttrDecl* decl = backend.find_attr(name);
  if (decl == nullptr) {
    std::vector<std::string> names;
    for (const ir::AttrDecl& attr : backend.attrs) names.push_back(attr.name);
    return diags.error_at(Code::BadOption, where, "backend `{}` has no attribute `{}`", backend.name, name)
        .did_you_mean(support::closest(name, names));
  }
  std::optional<runtime::AttrValue> value = parse_value(*decl, text);
  if (!value)
    return diags.error_at(Code::BadOption, where, "`{}` is no value for `{}`", text, name)
        .note(decl->span, "declared here");
  auto is_value = [&](const runtime::AttrValue& allowed) { return equal(allowed, *value); };
  if (!decl->allowed.empty() && std::none_of(decl->allowed.begin(), decl->allowed.end(), is_value)) {
    return diags.error_at(Code::BadOption, where, "`{}` must be one of {}, not {}", name, allowed_text(*decl), text)
        .note(decl->span, "declared here");
  }
  activation.active.attrs[name] = *value;
  return true;
}

class TargetReader {
 public:
  TargetReader(std::vector<Activation>& all, support::Diagnostics& diags)
      : all_(all), diags_(diags), is_named_(all.size(), false) {
    for (const Activation& activation : all) names_.push_back(activation.active.backend->name);
  }

  /// Attributes belong to the backend before them.
  void read(const std::string& target) {
    backend_.reset();
    is_known_ = true;
    for (const std::string& word : runtime::split(target, ',')) {
      if (word.empty()) {
        good_ = diags_.error_at(Code::BadOption, "-t", "`{}` has an empty name", target)
                    .note("backends are {}", known_backends());
        return;
      }
      if (word.find('=') == std::string::npos) {
        take_backend(word);
      } else if (backend_) {
        good_ &= set_attr(all_[*backend_], word, diags_);
      } else if (is_known_) {
        good_ = diags_.error_at(Code::BadOption, "-t", "`{0}` is an attribute of no backend: `-t BACKEND,{0}`", word);
      }
    }
  }

  std::optional<std::vector<bool>> result() const { return good_ ? std::optional(is_named_) : std::nullopt; }

 private:
  void take_backend(const std::string& word) {
    const auto it = std::find(names_.begin(), names_.end(), word);
    if (it == names_.end()) return refuse(word);
    backend_ = static_cast<size_t>(it - names_.begin());
    is_known_ = true;
    is_named_[*backend_] = true;
  }

  void refuse(const std::string& word) {
    const std::optional<size_t> before = std::exchange(backend_, std::nullopt);
    is_known_ = word == kHost;
    if (is_known_) return;
    const bool is_attribute = before && all_[*before].active.backend->find_attr(word) != nullptr;
    if (is_attribute) {
      good_ = diags_.error_at(Code::BadOption, "-t " + names_[*before], "`{0}` needs a value: `{0}=VALUE`", word);
      return;
    }
    good_ = diags_.error_at(Code::BadOption, "-t", "no rule file declares a backend `{}`", word)
                .did_you_mean(support::closest(word, names_))
                .note("backends are {}", known_backends());
  }

  std::string known_backends() const {
    std::vector<std::string> known = names_;
    if (std::find(known.begin(), known.end(), kHost) == known.end()) known.insert(known.begin(), std::string(kHost));
    return runtime::joined(known, ", ", [](const std::string& name) { return "`" + name + "`"; });
  }

  std::vector<Activation>& all_;
  support::Diagnostics& diags_;
  std::vector<std::string> names_;
  std::vector<bool> is_named_;
  std::optional<size_t> backend_;  ///< that attributes are of
  bool is_known_ = true;           ///< the backend before is one, if not one of rule files
  bool good_ = true;
};

}  // namespace

std::optional<std::vector<bool>> read_targets(const std::vector<std::string>& targets, std::vector<Activation>& all,
                                              support::Diagnostics& diags) {
  TargetReader reader(all, diags);
  for (const std::string& target : targets) reader.read(target);
  return reader.result();
}

}  // namespace collage::request
