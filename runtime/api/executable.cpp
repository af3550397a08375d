// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/executable.h"

namespace collage::runtime {
namespace {

std::unique_ptr<const NamedPort> port_of(const Plan& plan, const PlanPort& port) {
  const Buffer& buffer = plan.buffers[static_cast<size_t>(port.buffer)];
  return std::make_unique<const NamedPort>(port.name, buffer.tensor.dtype, buffer.tensor.shape);
}

}  // namespace

NamedPort::NamedPort(std::string name, DType dtype, Shape shape)
    : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {
  port_ = {name_.c_str(), static_cast<int32_t>(dtype_), static_cast<int32_t>(shape_.size()), shape_.data(),
           static_cast<size_t>(element_count(shape_)) * size_of(dtype_)};
}

CompiledModel::CompiledModel(Plan compiled, std::shared_ptr<const Code> machine_code, CompiledThreads host_threads,
                             std::string placed_text)
    : plan(std::move(compiled)), code(std::move(machine_code)), threads(host_threads), placed(std::move(placed_text)) {
  for (const PlanPort& port : plan.inputs) inputs.push_back(port_of(plan, port));
  for (const PlanPort& port : plan.outputs) outputs.push_back(port_of(plan, port));
}

CompiledModel::CompiledModel(std::vector<HostPart> host_parts, CompiledThreads host_threads, std::string placed_text)
    : CompiledModel(host_parts.front().plan, host_parts.front().code, host_threads, std::move(placed_text)) {
  parts = std::move(host_parts);
}

/// The work of other hosts is not counted.
int CompiledModel::run_threads() const {
  return threads.are_asked || !parts.empty() ? threads.count : usual_threads(plan, threads.count);
}

Status CompiledModel::save(const std::string& path) const {
  const auto packed = [&](const Plan& one, const std::shared_ptr<const Code>& its_code) {
    return Package{one, its_code, threads.count, placed, "", threads.are_asked};
  };
  if (parts.empty()) return write_package(path, packed(plan, code));
  std::vector<Package> packages;
  for (const HostPart& part : parts) packages.push_back(packed(part.plan, part.code));
  return write_cluster_package(path, packages);
}

Result<std::shared_ptr<Recovery>> CompiledModel::recovery(int host_threads) const {
  std::lock_guard lock(mutex_);
  std::weak_ptr<Recovery>& known = loaded_[host_threads];
  if (std::shared_ptr<Recovery> recovery = known.lock(); recovery != nullptr) return recovery;
  Result<std::shared_ptr<Recovery>> recovery =
      parts.empty() ? Recovery::open(plan, code, host_threads, {},
                                     std::make_shared<PlanMover>(plan, code, host_threads, LoadOptions()))
                    : open_local_hosts(parts, host_threads, {});
  if (recovery) known = *recovery;
  return recovery;
}

std::vector<std::string> ShapedModel::names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < set_.count(); ++i) names.push_back(shapes().name_of(i));
  return names;
}

Result<std::shared_ptr<const CompiledModel>> ShapedModel::specialisation(size_t index) const {
  if (index >= read_.size()) return Status::error("there is no such specialisation");
  std::lock_guard lock(mutex_);
  if (read_[index] == nullptr) {
    Result<Package> package = set_.load(index);
    if (!package) return package.status();
    read_[index] = std::make_shared<const CompiledModel>(std::move(package->plan), std::move(package->code),
                                                         CompiledThreads{package->threads, package->has_own_threads},
                                                         std::move(package->placed));
  }
  return read_[index];
}

Status ShapedModel::save(const std::string& path) const {
  std::vector<Package> packages;
  for (size_t i = 0; i < set_.count(); ++i) {
    Result<Package> package = set_.load(i);
    if (!package) return package.status();
    packages.push_back(std::move(*package));
  }
  return write_packages(path, packages, shapes());
}

}  // namespace collage::runtime
