// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace collage::sema {

/// Whether anything computes with a model. Never: its random and splat constants may be larger than any memory.
enum class Elements { Needed, Never };

}  // namespace collage::sema
