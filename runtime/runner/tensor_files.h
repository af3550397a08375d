// SPDX-License-Identifier: Apache-2.0
// Tensors that the user names on the command line, by the kind of their file.
#pragma once

#include <optional>
#include <string>

#include "runtime/runner/model_ports.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

/// Reads .npy, a file of the request's formats or a picture (.png, .jpg, .pgm, …), which is brought to `wanted` and
/// multiplied by the request's scale; a tensor that the request has read already is taken from there. `random` gives
/// uniform values in [-1, 1) of the wanted type (integers: 0). Otherwise dtype must be the wanted one and the shape
/// too, except that the leading dimension may count a batch where the model's is 1. `option` names the place in
/// messages.
std::optional<runtime::Tensor> read_tensor_file(const std::string& path, const RunRequest& request,
                                                const TensorKind& wanted, const std::string& option,
                                                support::Diagnostics& diags);

/// Whether a file of this name holds a tensor with a shape of its own: no picture, and not `random`.
bool is_tensor_file(const std::string& path, const TensorFormats& formats);

/// As read: no dtype or shape is asked for.
std::optional<runtime::Tensor> read_any_tensor(const std::string& path, const TensorFormats& formats,
                                               const std::string& option, support::Diagnostics& diags);

/// Checks what can be checked before there is a tensor to write: the kind of file, and whether its folder exists.
bool can_write_tensor_file(const std::string& path, const TensorFormats& formats, const std::string& name,
                           support::Diagnostics& diags);

/// Writes .npy or one of the formats.
bool write_tensor_file(const std::string& path, const TensorFormats& formats, const std::string& name,
                       const runtime::Tensor& tensor, support::Diagnostics& diags);

/// Uniform in [-1, 1); integers and bools are 0. The same for the same seed.
runtime::Tensor random_tensor(const TensorKind& kind, uint64_t seed);

}  // namespace collage::runner
