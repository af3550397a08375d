// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer, of numbers.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

using runtime::Ints;

constexpr int64_t kMostColumns = int64_t{1} << 24;
constexpr int64_t kMostLength = 1 << 10;

/// Requires that the pool's sections begin in order and hold whole n-grams, each of which has a column.
bool check_pool(InferContext& ctx, const Ints& columns) {
  const Ints pool = ctx.attrs().ints_of("pool_int64s"), starts = ctx.attrs().ints_of("ngram_counts");
  if (pool.empty()) return ctx.attr_error("pool_int64s", "`pool_int64s` is empty; strings are not supported");
  size_t ngrams = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    int64_t length = static_cast<int64_t>(i) + 1;
    if (starts[i] < 0 || end < starts[i] || end > static_cast<int64_t>(pool.size()) ||
        (end - starts[i]) % length != 0) {
      return ctx.attr_error("ngram_counts",
                            fmt::format("from {} to {} the pool holds no whole {}-grams", starts[i], end, length));
    }
    ngrams += static_cast<size_t>((end - starts[i]) / length);
  }
  if (ngrams == columns.size()) return true;
  return ctx.attr_error("ngram_indexes", fmt::format("{} columns for {} n-grams", columns.size(), ngrams));
}

bool infer_tfidf(InferContext& ctx) {
  if (!require_type(ctx, 0, TypeClass::Integer) || !require_rank(ctx, 0, 1, 2) ||
      !require_one_of(ctx, "mode", {"TF", "IDF", "TFIDF"})) {
    return false;
  }
  for (const char* attr : {"min_gram_length", "max_gram_length", "max_skip_count"}) {
    int64_t least = std::string_view(attr) == "max_skip_count" ? 0 : 1;
    int64_t value = ctx.attrs().written().get_int(attr, least);
    if (value < least || value > kMostLength) {
      return ctx.attr_error(attr,
                            fmt::format("`{}` must be between {} and {}, found {}", attr, least, kMostLength, value));
    }
  }
  const Ints columns = ctx.attrs().ints_of("ngram_indexes");
  if (!check_pool(ctx, columns)) return false;
  const auto [least, most] = std::minmax_element(columns.begin(), columns.end());
  if (columns.empty() || *least < 0 || *most >= kMostColumns) {
    return ctx.attr_error("ngram_indexes", "`ngram_indexes` has a column that is out of range");
  }
  const size_t weights = ctx.attrs().written().get_floats("weights").size();
  if (weights != 0 && weights != static_cast<size_t>(*most) + 1) {
    return ctx.attr_error("weights", fmt::format("{} weights for {} columns", weights, *most + 1));
  }
  Shape shape(ctx.input(0).shape.begin(), ctx.input(0).shape.end() - 1);
  shape.push_back(*most + 1);
  ctx.set_output(0, {DType::F32, std::move(shape)});
  return true;
}

/// A look-up for each element, distance and length.
Work tfidf_work(const WorkArgs& args) {
  const auto lengths = static_cast<double>(args.attrs.int_of("max_gram_length"));
  const auto distances = static_cast<double>(args.attrs.int_of("max_skip_count") + 1);
  return {0, 20 * lengths * distances * static_cast<double>(runtime::element_count(args.inputs[0].shape))};
}

}  // namespace

OpDef define_TfIdfVectorizer() {
  return {
      .attrs = {{"max_gram_length", AttrKind::Int, Required},
                {"max_skip_count", AttrKind::Int, Required},
                {"min_gram_length", AttrKind::Int, Required},
                {"mode", AttrKind::String, Required},
                {"ngram_counts", AttrKind::Ints, Required},
                {"ngram_indexes", AttrKind::Ints, Required},
                {"pool_int64s", AttrKind::Ints, Absent},
                {"weights", AttrKind::Floats, Absent}},
      .kind = FusionKind::Opaque,
      .infer = infer_tfidf,
      .work = tfidf_work,
      .doc =
          "how often the n-grams of a pool occur: %y = TfIdfVectorizer(%x) {max_gram_length = 1, max_skip_count = 0, "
          "min_gram_length = 1, mode = \"TF\", ngram_counts = [0], ngram_indexes = [0], pool_int64s = [2]}"};
}

}  // namespace collage::ir::ops
