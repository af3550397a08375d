// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/stated_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/request/bindings.h"

namespace collage::driver {
namespace {

using Values = std::vector<std::string>;

struct StatedOption {
  const char* flag;
  const char* words;
  Values (*get)(const Request&);
  bool (*set)(const Values&, Request&);
};

/// A list of texts, as it was given.
#define COLLAGE_LIST(flag, words, field)                                                     \
  {                                                                                          \
    flag, words, [](const Request& r) { return r.field; }, [](const Values& v, Request& r) { \
      r.field = v;                                                                           \
      return true;                                                                           \
    }                                                                                        \
  }
/// One text; empty: it was not given.
#define COLLAGE_TEXT(flag, words, field)                                                        \
  {                                                                                             \
    flag, words, [](const Request& r) { return r.field.empty() ? Values() : Values{r.field}; }, \
        [](const Values& v, Request& r) {                                                       \
          if (!v.empty()) r.field = v.front();                                                  \
          return v.size() <= 1;                                                                 \
        }                                                                                       \
  }

Values shapes_of(const Request& request) {
  Values values;
  for (const ir::ShapeBinding& binding : request.model.bindings) values.push_back(to_string(binding));
  return values;
}

bool set_shapes(const Values& values, Request& request) {
  for (const std::string& value : values) {
    if (!add_bindings(value, "--shape", request.model.bindings).empty()) return false;
  }
  return true;
}

Values threads_of(const Request& request) {
  return {std::to_string(request.settings.threads)};
}

bool set_threads(const Values& values, Request& request) {
  if (values.size() != 1) return false;
  const std::string& text = values.front();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, request.settings.threads);
  return error == std::errc() && stop == end && request.settings.threads > 0;
}

Values numerics_of(const Request& request) {
  const codegen::Numerics numerics = request.settings.code.numerics;
  return numerics == codegen::Numerics::F32 ? Values() : Values{std::string(row_of(numerics).name)};
}

bool set_numerics(const Values& values, Request& request) {
  if (values.empty()) return true;
  if (values.size() > 1) return false;
  const std::optional<codegen::Numerics> numerics = codegen::parse_numerics(values.front());
  if (numerics) request.settings.code.numerics = *numerics;
  return numerics.has_value();
}

const StatedOption kOptions[] = {
    COLLAGE_LIST("--place", "nodes run there", settings.place),
    COLLAGE_LIST("--forbid", "nodes do not run there", settings.forbid),
    COLLAGE_LIST("--together", "nodes are in one partition", settings.together),
    COLLAGE_LIST("-t", "a backend takes part, and no other", settings.targets),
    COLLAGE_LIST("--allow", "formats may round", settings.allow),
    COLLAGE_LIST("--memory", "a device has less memory", settings.memory),
    COLLAGE_TEXT("--placement", "the partitions of this file are kept", placement.follow),
    COLLAGE_TEXT("--candidate-placement", "the partitions of this file are candidates", placement.consider),
    COLLAGE_LIST("--disable-pass", "the pass does not run", passes.disabled),
    {"--shape", "open dimensions have these sizes", shapes_of, set_shapes},
    {"--threads", "threads of the host", threads_of, set_threads},
    {"--numerics", "what generated code may make of sums", numerics_of, set_numerics},
    {"--calibrate", "operators compute in integers where that pays",
     [](const Request& r) { return r.quantize.is_asked() ? Values{"yes"} : Values(); },
     [](const Values& v, Request&) { return v.empty(); }},
    COLLAGE_TEXT("--cpu", "the processor of generated code", settings.code.cpu),
};

#undef COLLAGE_LIST
#undef COLLAGE_TEXT

const StatedOption* find(const std::string& flag) {
  const auto row = std::find_if(std::begin(kOptions), std::end(kOptions),
                                [&](const StatedOption& option) { return option.flag == flag; });
  return row == std::end(kOptions) ? nullptr : row;
}

}  // namespace

StatedOptions stated_options(const Request& request) {
  StatedOptions stated;
  for (const StatedOption& option : kOptions) {
    Values values = option.get(request);
    if (!values.empty()) stated.emplace_back(option.flag, std::move(values));
  }
  return stated;
}

std::string set_stated_options(const StatedOptions& options, Request& request) {
  for (const auto& [flag, values] : options) {
    const StatedOption* option = find(flag);
    if (option == nullptr) return fmt::format("it states an option `{}`, which is not known", flag);
    if (!option->set(values, request)) return fmt::format("what it states of `{}` cannot be read", flag);
  }
  return "";
}

std::vector<std::string> in_words(const StatedOptions& options) {
  std::vector<std::string> lines;
  for (const auto& [flag, values] : options) {
    const StatedOption* option = find(flag);
    for (const std::string& value : values) {
      lines.push_back(fmt::format("{} {}: {}", flag, value, option != nullptr ? option->words : "?"));
    }
  }
  return lines;
}

}  // namespace collage::driver
