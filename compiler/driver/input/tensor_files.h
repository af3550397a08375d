// SPDX-License-Identifier: Apache-2.0
// Tensors that the user names on the command line, by the kind of their file.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// Reads .npy, .pb (TensorProto) or a picture (.png, .jpg, .pgm, …), which is brought to `wanted` and multiplied by
/// `scale`. `random` gives uniform values in [-1, 1) of the wanted type (integers: 0). Otherwise dtype must be the
/// wanted one and the shape too, except that the leading dimension may count a batch where the model's is 1. `option`
/// names the place in messages.
std::optional<ir::Tensor> read_tensor_file(const std::string& path, const ir::TensorType& wanted, double scale,
                                           const std::string& option, support::Diagnostics& diags);

/// As read: no dtype or shape is asked for.
std::optional<ir::Tensor> read_any_tensor(const std::string& path, const std::string& option,
                                          support::Diagnostics& diags);

/// Checks what can be checked before there is a tensor to write: the kind of file, and whether its folder exists.
bool can_write_tensor_file(const std::string& path, const std::string& name, support::Diagnostics& diags);

/// Writes .npy or .pb.
bool write_tensor_file(const std::string& path, const std::string& name, const ir::Tensor& tensor,
                       support::Diagnostics& diags);

/// Uniform in [-1, 1); integers and bools are 0. The same for the same seed.
ir::Tensor random_tensor(const ir::TensorType& type, uint64_t seed);

}  // namespace collage::driver
