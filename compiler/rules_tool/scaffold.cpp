// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/scaffold.h"

#include <filesystem>

#include "compiler/rules_tool/format.h"
#include "compiler/syntax/scan_rules.h"
#include "runtime/support/print.h"
#include "runtime/support/source_manager.h"
#include "runtime/support/write_file.h"

namespace collage::rules_tool {
namespace {

using support::Code;

// NAME stands for the backend's name.
constexpr std::string_view kText = R"rules(rules 1
// Backend `NAME`: what it can run, where, and at what cost. grammar/rules.md is the language.

backend NAME version 1 {
  // One device, with a link to the host. Transfers are priced from the link: no cost below counts them.
  device NAME {
    memory 256 MiB
    link host bandwidth 8 GB/s latency 5 us
  }
  attr lanes: int = 8 in {8, 16}  // set by `-t NAME,lanes=16`; seen by every expression here
  runtime sim                     // results are the reference kernels', time is what the costs below say

  // A convolution, with an activation if there is one. `b?` may be left out, `w: const` must be a constant.
  rule conv {
    match y = Relu?(c = Conv(x, w: const, b?: const))
    // Each `where` says no with a reason: it is what `collagec why-not` shows.
    where dtype(x) == f32         else "dtype {dtype(x)}, need f32"
    where rank(x) == 4            else "{rank(x)} dimensions, need an image"
    where c.group == 1            else "{c.group} groups, need 1"
    where dim(x, 1) % lanes == 0  else "{dim(x, 1)} channels, need a multiple of {lanes}"
    format x: NHWC, y: NHWC  // what the kernel reads and writes; changes of layout are priced by the search
    cost macs / (64 * lanes) * 1 ns
    lower "conv"(x, w, b)
    // `ok`: a match has exactly these nodes. `no`: the first clause that fails says so.
    test ok "%c = Conv(%x, %w, %b) %y = Relu(%c)"
      with x: f32[1, 8, 8, 8], w: f32[4, 8, 3, 3], b: f32[4] -> {%c, %y}
    test ok "%c = Conv(%x, %w)" with x: f32[1, 16, 8, 8], w: f32[4, 16, 1, 1] -> {%c}
    test no "%c = Conv(%x, %w)" with x: f64[1, 8, 8, 8], w: f64[4, 8, 1, 1] because "dtype f64"
    test no "%c = Conv(%x, %w)" with x: f32[1, 8, 8], w: f32[4, 8, 1] because "3 dimensions"
    test no "%c = Conv(%x, %w) {group = 2}" with x: f32[1, 8, 8, 8], w: f32[4, 4, 1, 1] because "2 groups"
    test no "%c = Conv(%x, %w)" with x: f32[1, 3, 8, 8], w: f32[4, 3, 1, 1] because "multiple of 8"
  }

  // One rule for several operators: `pool.MaxPool`, `pool.AveragePool`.
  rule pool for kind in {AveragePool, MaxPool} {
    match y = kind(x)
    where dtype(x) == f32  else "dtype {dtype(x)}, need f32"
    where rank(x) == 4     else "{rank(x)} dimensions, need an image"
    format x: NHWC, y: NHWC
    cost elems(x) / (8 * lanes) * 1 ns
    lower "pool"(x, kind)
    test ok "%y = MaxPool(%x) {kernel_shape = [2, 2]}" with x: f32[1, 8, 4, 4] -> {%y}
    test ok "%y = AveragePool(%x) {kernel_shape = [2, 2]}" with x: f32[1, 8, 4, 4] -> {%y}
    test no "%y = MaxPool(%x) {kernel_shape = [2, 2]}" with x: f64[1, 8, 4, 4] because "dtype f64"
    test no "%y = MaxPool(%x) {kernel_shape = [2]}" with x: f32[1, 8, 4] because "3 dimensions"
  }

  rule add {
    match y = Add(a, b)
    where dtype(a) == f32       else "dtype {dtype(a)}, need f32"
    where rank(a) == 4          else "{rank(a)} dimensions, need an image"
    where shape(a) == shape(b)  else "{shape(a)} and {shape(b)} are broadcast"
    format a: NHWC, b: NHWC, y: NHWC
    cost elems(y) / (8 * lanes) * 1 ns
    lower "add"(a, b)
    test ok "%y = Add(%a, %b)" with a: f32[1, 8, 4, 4], b: f32[1, 8, 4, 4] -> {%y}
    test no "%y = Add(%a, %b)" with a: i64[1, 8, 4, 4], b: i64[1, 8, 4, 4] because "dtype i64"
    test no "%y = Add(%a, %b)" with a: f32[8, 4], b: f32[8, 4] because "2 dimensions"
    test no "%y = Add(%a, %b)" with a: f32[1, 8, 4, 4], b: f32[1, 8, 1, 1] because "broadcast"
  }

  // How matches grow into one call of the backend.
  partition {
    join any
    limit ops 32, exits 2, taps yes
    launch 2 us  // what a call costs, whatever is in it
    cost launch + sum(rules)
    coalesce yes
  }
}
)rules";

/// A name that the scanner takes for one.
bool is_name(const std::string& name) {
  support::SourceManager sources;
  std::vector<syntax::RulesToken> tokens = syntax::scan_rules(sources, sources.add("name", name));
  return tokens.size() == 1 && tokens[0].kind == syntax::RulesToken::Kind::Name && tokens[0].span.begin == 0 &&
         tokens[0].span.end == name.size();
}

}  // namespace

std::string scaffold(const std::string& name) {
  std::string text;
  std::string_view rest = kText;
  for (size_t at = rest.find("NAME"); at != std::string_view::npos; at = rest.find("NAME")) {
    text += rest.substr(0, at);
    text += name;
    rest.remove_prefix(at + 4);
  }
  text += rest;
  support::SourceManager sources;
  return format_rules(sources, sources.add(name, text));
}

bool make_backend(const std::string& name, const std::string& folder, support::Diagnostics& diags) {
  namespace fs = std::filesystem;
  if (!is_name(name)) {
    return diags.error_at(Code::BadOption, "new", "`{}` cannot be the name of a backend", name)
        .note("letters, digits and `_`, not a digit first, and no keyword of the language");
  }
  if (name == "host") {
    return diags.error_at(Code::BadOption, "new",
                          "`host` is the processor that compiles; its backend is there already");
  }
  std::error_code error;
  if (!fs::is_directory(folder, error)) return diags.error_at(Code::CannotWrite, folder, "is not a folder");
  std::string path = (fs::path(folder) / (name + ".rules")).lexically_normal().string();
  if (fs::exists(path, error)) {
    return diags.error_at(Code::CannotWrite, path, "exists already; nothing was written");
  }
  if (!support::write_file(path, scaffold(name), diags)) return false;
  support::print("{}\nnext:\n  collage-rules check {}\n  collage-rules test --mutate {}\n  collagec MODEL -r {}\n",
                 path, path, path, path);
  return true;
}

}  // namespace collage::rules_tool
