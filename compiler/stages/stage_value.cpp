// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/stage_value.h"

#include <fmt/format.h>

#include "runtime/package/content_hash.h"

namespace collage::stages {

using runtime::Result;
using runtime::Status;

StageValue value_of(ir::Tensor tensor) {
  return {.tensor = std::move(tensor)};
}

StageValue constant_of(ir::Tensor tensor) {
  StageValue value = value_of(std::move(tensor));
  value.is_constant = true;
  const ir::Tensor& elements = value.tensor;
  value.digest = runtime::content_hash({reinterpret_cast<const char*>(elements.data()), elements.bytes()}, 1);
  return value;
}

StageValue sequence_of(std::vector<ir::Tensor> tensors) {
  return {.kind = StageValue::Kind::Sequence, .sequence = std::move(tensors)};
}

std::string key_of(const StageValue& value) {
  if (!value.is_tensor()) return "none";
  return ir::to_string(value.type()) + (value.is_constant ? "=" + value.digest : "");
}

const StageValue* Scope::find(const std::string& name, Status* status) const {
  if (auto value = values_.find(name); value != values_.end()) return &value->second;
  if (auto known = initializers_.find(name); known != initializers_.end()) return &known->second;
  Result<const ir::Tensor*> initializer = file_.initializer(graph_, name);
  if (!initializer) {
    if (status != nullptr) *status = initializer.status();
    return nullptr;
  }
  if (*initializer != nullptr) {
    StageValue value = value_of(**initializer);
    value.is_constant = true;
    return &initializers_.emplace(name, std::move(value)).first->second;
  }
  return outer_ != nullptr ? outer_->find(name, status) : nullptr;
}

Result<StageValue> Scope::get(const std::string& name) const {
  Status status = Status::ok();
  const StageValue* value = find(name, &status);
  if (!status) return status;
  if (value == nullptr) return Status::error(fmt::format("`{}` is not defined", name));
  return *value;
}

}  // namespace collage::stages
