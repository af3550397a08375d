// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention, the core of every attention operator, in the form that rules match:
//
//     s = Mul(MatMul(q, Transpose(k)), scale)        softcap:  softcap * Tanh(s / softcap)
//     p = Softmax(Where(allowed, Add(s, bias), -inf))
//     y = MatMul(p, v)                                where a query may attend no key at all:  0
#pragma once

#include <optional>

#include "compiler/import/compositions/composition.h"

namespace collage::import {

/// What `Attend::scores` asks for.
enum class Scores { Products, Capped, Masked, Probabilities };

struct Attend {
  ir::ValueId q;  ///< [batch, heads, queries, size]
  ir::ValueId k;  ///< [batch, kv heads, keys, size]; or, if `keys_last`, [batch, kv heads, size, keys]
  ir::ValueId v;  ///< [batch, kv heads, keys, value size]
  bool keys_last = false;
  double scale = 1;
  double softcap = 0;                          ///< 0: none
  ir::ValueId allowed;                         ///< bool, broadcasts to the scores: which keys a query may attend
  ir::ValueId bias;                            ///< of q's type, broadcasts to the scores
  bool may_allow_none = true;                  ///< false: every query is known to attend some key
  std::optional<ir::DType> softmax_type = {};  ///< q's if it is not given
  std::optional<size_t> result = {};           ///< which result of the node y is
  std::optional<size_t> scores_result = {};    ///< which result the scores are, if they are wanted
  Scores scores = Scores::Products;
};

/// The scale that the node states, else 1 / sqrt(size of a head).
double scale_of(Composition& c, int64_t size);

/// Returns y: [batch, heads, queries, value size].
ir::ValueId attend(Composition& c, const Attend& a);

/// Whether queries, keys and values have four dimensions that multiply; reports if they do not.
bool has_fitting_shapes(Composition& c, const Attend& a);
/// MatMul(q, k) * scale, with k as [batch, heads, size, keys].
ir::ValueId scaled_products(Composition& c, ir::ValueId q, ir::ValueId k, double scale);
/// The dtype that `softmax_precision` names; `otherwise` where it is left out. Returns nullopt after an error.
std::optional<ir::DType> softmax_precision(Composition& c, ir::DType otherwise);

/// Gives each group of query heads its copy of the key or value head.
/// [batch, kv heads, a, b]  =>  [batch, heads, a, b]
ir::ValueId repeat_heads(Composition& c, ir::ValueId x, int64_t heads);

/// [batch, length, heads * size]  =>  [batch, heads, length, size]
ir::ValueId split_heads(Composition& c, ir::ValueId x, int64_t heads);
/// [batch, length, heads * size]  =>  [batch, heads, size, length]
ir::ValueId split_heads_keys_last(Composition& c, ir::ValueId x, int64_t heads);
/// [batch, heads, length, size]  =>  result `i` of shape [batch, length, heads * size]
void join_heads(Composition& c, size_t i, ir::ValueId x);

/// x[…, n]  =>  x[…, keys], with `value` for keys that a mask or a bias does not reach.
ir::ValueId pad_keys(Composition& c, ir::ValueId x, int64_t keys, double value);

/// A buffer of keys or values, [batch, heads, capacity, size]: `fresh` stands from row `starts` on, before it is what
/// `past` has. Rows behind keep what `past` has there; what stands in rows that neither has is open. `starts`:
/// i64[batch, 1, 1, 1], or one number for all sequences, at most capacity - length of `fresh`.
///
///     past a b c d, fresh x y, starts 1, capacity 4  =>  a x y d
///     past a b, fresh x y, starts 2, capacity 4      =>  a b x y
ir::ValueId append(Composition& c, ir::ValueId past, ir::ValueId fresh, ir::ValueId starts, int64_t capacity);

/// Both, where both are given; one, or neither.
ir::ValueId both(Composition& c, ir::ValueId a, ir::ValueId b);

/// Which keys j a query i may attend: `i + offset - left <= j <= i + offset + right`, without the bound that is not
/// given. `offset` is a number for all, or i64[batch, 1, 1, 1].
struct Window {
  std::optional<int64_t> left;
  std::optional<int64_t> right;
};
/// bool[queries, keys], or [batch, 1, queries, keys]; invalid if nothing is bounded.
ir::ValueId window(Composition& c, const Window& bounds, int64_t queries, int64_t keys, int64_t offset,
                   ir::ValueId offset_by_batch);

/// bool[batch, 1, 1, keys]: the first `count[b]` keys. `count`: [batch] or [batch, 1].
ir::ValueId first_keys(Composition& c, ir::ValueId count, int64_t keys);

}  // namespace collage::import
