// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/faults/fault_injector.h"

#include "runtime/core/split_mix.h"
#include "runtime/devices/faults/faulty_device.h"

namespace collage::runtime {
namespace {

uint64_t mixed(uint64_t value) {
  return split_mix(value, 0);
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0;
  for (char letter : text) hash = mixed(hash ^ static_cast<unsigned char>(letter));
  return hash;
}

std::string told(FaultKind kind, const std::string& which, const FaultRule& rule, const std::string& space) {
  const std::string by = ": injected fault `" + rule.text + "`";
  switch (kind) {
    case FaultKind::Fail: return which + " failed" + by;
    case FaultKind::Flip: return which + " changed a bit" + by;
    case FaultKind::Timeout: return which + " timed out after " + human(rule.patience) + by;
    case FaultKind::Lose: return space + " is lost" + by;
    case FaultKind::OutOfMemory: return which + " found no memory" + by;
  }
  return which;
}

}  // namespace

FaultState::FaultState(std::string space, const FaultSpec& spec) : space_(std::move(space)), seed_(spec.seed) {
  for (const FaultRule& rule : spec.rules) {
    if (rule.is_of(space_)) rules_.push_back(rule);
  }
}

std::optional<InjectedFault> FaultState::next(FaultCommand command) {
  std::lock_guard lock(mutex_);
  const size_t ordinal = ++count_of(command);
  if (counts_.is_lost) return InjectedFault{FaultKind::Lose, {}, 0, loss_};
  for (size_t r = 0; r < rules_.size(); ++r) {
    const FaultRule& rule = rules_[r];
    if (rule.command != command || !applies(rule, r, ordinal)) continue;
    const std::string which = std::string(name_of(command)) + " " + std::to_string(ordinal) + " of " + space_;
    InjectedFault fault{rule.kind, rule.patience, mixed(seed_ ^ mixed(ordinal)), told(rule.kind, which, rule, space_)};
    ++counts_.faults;
    if (rule.kind == FaultKind::Lose) {
      counts_.is_lost = true;
      loss_ = fault.message;
    }
    return fault;
  }
  return std::nullopt;
}

/// Each command draws by its own number, so that threads that take turns differently draw the same.
bool FaultState::applies(const FaultRule& rule, size_t rule_index, size_t ordinal) const {
  switch (rule.when) {
    case FaultRule::When::At: return ordinal == static_cast<size_t>(rule.number);
    case FaultRule::When::After: return ordinal > static_cast<size_t>(rule.number);
    case FaultRule::When::Share: break;
  }
  const uint64_t drawn = mixed(mixed(mixed(seed_ ^ hash_of(space_)) ^ rule_index) ^ ordinal);
  constexpr int kDigits = 53;
  return static_cast<double>(drawn >> (64 - kDigits)) < rule.share * static_cast<double>(uint64_t{1} << kDigits);
}

size_t& FaultState::count_of(FaultCommand command) {
  if (command == FaultCommand::Copy) return counts_.copies;
  return command == FaultCommand::Launch ? counts_.launches : counts_.allocations;
}

bool FaultState::is_lost() const {
  std::lock_guard lock(mutex_);
  return counts_.is_lost;
}

DeviceCounts FaultState::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

std::unique_ptr<Device> FaultInjector::wrap(std::unique_ptr<Device> device) {
  std::shared_ptr<FaultState> state = state_of(device->space());
  return std::make_unique<FaultyDevice>(std::move(device), std::move(state));
}

DeviceCounts FaultInjector::counts(const std::string& space) {
  return state_of(space)->counts();
}

std::vector<std::string> FaultInjector::lost() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> spaces;
  for (const auto& [space, state] : states_) {
    if (state->is_lost()) spaces.push_back(space);
  }
  return spaces;
}

std::shared_ptr<FaultState> FaultInjector::state_of(const std::string& space) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<FaultState>& state = states_[space];
  if (state == nullptr) state = std::make_shared<FaultState>(space, spec_);
  return state;
}

}  // namespace collage::runtime
