// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: how often each n-gram of a pool occurs in a row of numbers.
#include <algorithm>
#include <map>
#include <vector>

#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

/// From the n-grams of the lengths that are counted to their column in the result. `ngram_counts[n - 1]` is where those
/// of length n start in the pool; the columns are those of the pool's n-grams, in order.
std::map<Ints, int64_t> columns_of_ngrams(const AttrMap& attrs) {
  const Ints pool = attrs.get_ints("pool_int64s"), starts = attrs.get_ints("ngram_counts");
  const Ints columns = attrs.get_ints("ngram_indexes");
  const int64_t least = attrs.get_int("min_gram_length", 1), most = attrs.get_int("max_gram_length", 1);
  std::map<Ints, int64_t> found;
  size_t ngram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1;
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    for (int64_t at = starts[i]; at + length <= end && ngram < columns.size(); at += length, ++ngram) {
      if (length < least || length > most) continue;
      found.emplace(Ints(pool.begin() + at, pool.begin() + at + length), columns[ngram]);
    }
  }
  return found;
}

/// Counts the n-grams of one row whose elements lie 1 to `most_skipped` + 1 places apart. Single numbers have no
/// distance and count once.
void count_ngrams(const Ints& row, const std::map<Ints, int64_t>& columns, const AttrMap& attrs, float* counts) {
  const int64_t least = attrs.get_int("min_gram_length", 1), most = attrs.get_int("max_gram_length", 1);
  const auto size = static_cast<int64_t>(row.size());
  for (int64_t distance = 1; distance <= attrs.get_int("max_skip_count", 0) + 1; ++distance) {
    for (int64_t start = 0; start < size; ++start) {
      Ints ngram;
      for (int64_t at = start; at < size && static_cast<int64_t>(ngram.size()) < most; at += distance) {
        ngram.push_back(row[static_cast<size_t>(at)]);
        const auto length = static_cast<int64_t>(ngram.size());
        if (length < least || (length == 1 && distance > 1)) continue;
        auto column = columns.find(ngram);
        if (column != columns.end()) counts[column->second] += 1;
      }
    }
  }
}

}  // namespace

Status kernel_TfIdfVectorizer(const KernelArgs& args) {
  const std::map<Ints, int64_t> columns = columns_of_ngrams(args.attrs);
  const Shape& shape = args.inputs[0].shape;
  const int64_t width = args.outputs[0].shape.back();
  const int64_t rows = shape.size() == 2 ? shape[0] : 1, row_size = args.inputs[0].count() / std::max<int64_t>(1, rows);
  const std::string mode = args.attrs.get_string("mode", "TF");
  const Floats weights = args.attrs.get_floats("weights");
  auto y = args.outputs[0].as<float>();
  std::fill(y.begin(), y.end(), 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    Ints row;
    for (int64_t i = 0; i < row_size; ++i) row.push_back(element_as_int(args.inputs[0], r * row_size + i));
    float* counts = y.data() + r * width;
    count_ngrams(row, columns, args.attrs, counts);
    for (size_t i = 0; mode != "TF" && i < static_cast<size_t>(width); ++i) {
      if (mode == "IDF") counts[i] = counts[i] > 0 ? 1.0F : 0.0F;
      if (!weights.empty()) counts[i] *= static_cast<float>(weights[i]);
    }
  }
  return Status::ok();
}

}  // namespace collage::runtime
