// SPDX-License-Identifier: Apache-2.0
// Which specialisation of a package a run takes: by the shapes of the files that are given for its inputs.
#pragma once

#include <optional>

#include "runtime/plan/shape_table.h"
#include "runtime/runner/model_ports.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

/// The first where no file has a shape of its own: pictures and random inputs take any. With labels the first dimension
/// of a file counts runs, and is 1 in each. What is read is kept in the request. Returns nullopt after an error: a file
/// that cannot be read, shapes that no specialisation takes.
std::optional<runtime::ShapeChoice> choose_shape(RunRequest& request, const runtime::ShapeTable& table,
                                                 support::Diagnostics& diags);

/// Ports of the specialisation as the caller sees them: with the rows that are given and kept.
ModelPorts ports_of_choice(ModelPorts ports, const runtime::ShapeChoice& choice);

/// `batch=8, batch 5 padded`, or the specialisation alone.
std::string print(const runtime::ShapeChoice& choice, const runtime::ShapeTable& table);

}  // namespace collage::runner
