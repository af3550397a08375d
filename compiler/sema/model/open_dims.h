// SPDX-License-Identifier: Apache-2.0
// Open dimensions of a model text: which its inputs have, and the text with sizes in their place.
//
//     model @m(%x: f32[batch, 3]) -> (%y: f32[batch, 3])   and batch = 8   =>   %x: f32[8, 3], %y: f32[8, 3]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph/open_shape.h"
#include "compiler/syntax/model_ast.h"

namespace collage::sema {

std::vector<ir::OpenInput> open_inputs(const syntax::ModelAst& ast);

/// Puts sizes in place of the names in every type of the model; names without a size stay.
void set_sizes(const std::map<std::string, int64_t>& sizes, syntax::ModelAst& ast);

}  // namespace collage::sema
