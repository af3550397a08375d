// SPDX-License-Identifier: Apache-2.0
// Functions that a model defines itself (`ModelProto.functions`): found by what a node calls, and unfolded into nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/import/emitter.h"
#include "compiler/import/proto.h"

namespace collage::import {

/// `ai.onnx` is another way to write the standard's domain, which has no name.
std::string domain_of(const std::string& written);

class FunctionTable {
 public:
  /// Keeps references into `model`. Reports a function that is defined twice or has names that are not UTF-8.
  bool add(const onnx::ModelProto& model, const std::string& file, support::Diagnostics& diags);

  /// Returns the function that the node calls, or null.
  const onnx::FunctionProto* find(const onnx::NodeProto& call) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  ///< domain, name, overload
  std::map<Key, const onnx::FunctionProto*> functions_;
};

/// The nodes that compute a call: operands and results have the names that the call gives them, all other values names
/// that are new in the model, attributes that refer to the function's have their values.
///
///     scaled(x) {k} = {t = Mul(x, x), y = LeakyRelu(t) {alpha = @k}},  z = scaled(a) {k = 0.5}
///       =>  z/t = Mul(a, a), z = LeakyRelu(z/t) {alpha = 0.5}
///
/// Returns nullopt, after an error at `place`, if the call does not fit the function.
std::optional<std::vector<onnx::NodeProto>> unfold_call(const onnx::NodeProto& call,
                                                        const onnx::FunctionProto& function, const std::string& place,
                                                        Emitter& emitter);

}  // namespace collage::import
