// SPDX-License-Identifier: Apache-2.0
// Plain layouts: the order of a tensor's logical dimensions in memory, outermost first.
//
// A layout is named by letters. Logical dimensions have the letters of ONNX: rank 3 `NCW`, rank 4 `NCHW`, rank 5
// `NCDHW`. `NHWC` therefore is the permutation [0, 2, 3, 1] of a rank-4 tensor. `plain` is the logical order itself,
// for every rank; `NCHW` and its kin are spelled `plain` after canonicalisation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/tensor.h"

namespace collage::runtime {

inline constexpr std::string_view kPlainLayout = "plain";

/// Memory dimension -> logical dimension; nullopt if `layout` does not exist for this rank.
std::optional<std::vector<int>> layout_permutation(std::string_view layout, size_t rank);

/// True if some rank has this layout.
bool is_known_layout(std::string_view layout);

/// All that a rule may say, for messages.
std::vector<std::string> layout_names();

/// `NCHW` -> `plain`; others unchanged.
std::string canonical_layout(std::string_view layout);

/// The elements of this shape stand in the layout as they stand in the plain one: only dimensions of extent 1 change
/// places. Expects a layout that exists for the rank.
bool lies_plainly(std::string_view layout, const Shape& shape);

/// A layout that depends on the rank, as that rank has it: `channels_last` -> `NWC`, `NHWC` or `NDHWC`. Others as
/// `canonical_layout` has them.
inline constexpr std::string_view kChannelsLast = "channels_last";
std::string layout_of_rank(std::string_view layout, size_t rank);

/// Copies elements from one layout to another. `from` and `to` carry the *logical* shape. Layouts must exist for the
/// rank.
void reorder(const TensorView& from, std::string_view from_layout, const TensorView& to, std::string_view to_layout);

}  // namespace collage::runtime
