// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/arenas.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/exec/program.h"
#include "runtime/plan/arena_stays.h"

namespace collage::runtime {

Arenas::Arenas(const Program& program) : program_(program), of_space_(program.plan().spaces.size()) {}

/// Arenas that still fit. A device knows what else it holds, as kept values; the host holds constants beside them.
size_t Arenas::room(int space) const {
  const MemorySpace& memory = program_.plan().spaces[static_cast<size_t>(space)];
  if (const Device* device = program_.device_of_space(space)) {
    const MemoryInfo info = device->memory();
    return arenas_that_fit(info.capacity, info.used, memory.arena_bytes);
  }
  const size_t arenas = of_space_[static_cast<size_t>(space)].size() * memory.arena_bytes;
  return arenas_that_fit(memory.capacity, memory.constant_bytes + arenas, memory.arena_bytes);
}

Result<Arena*> Arenas::take(int space, ArenaUse use) {
  const MemorySpace& memory = program_.plan().spaces[static_cast<size_t>(space)];
  std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<Arena>>& arenas = of_space_[static_cast<size_t>(space)];
  const size_t left = use == ArenaUse::InTurn ? room(space) : SIZE_MAX;
  if (left == 0) {
    Arena* least = nullptr;
    for (const auto& arena : arenas) {
      if (arena->is_in_turn && (least == nullptr || arena->users < least->users)) least = arena.get();
    }
    if (least != nullptr) {
      least->line.reserve(least->users + 1);
      ++least->users;
      return least;
    }
  }
  auto made = std::make_unique<Arena>();
  made->is_in_turn = left != SIZE_MAX;
  made->line.reserve(1);
  arenas.reserve(arenas.size() + 1);
  if (Device* device = program_.device_of_space(space)) {
    Result<DeviceAddress> address = device->allocate(memory.arena_bytes);
    for (int r = 0; r < program_.retries() && !address && !device->is_lost(); ++r) {
      address = device->allocate(memory.arena_bytes);
    }
    if (!address) return Status::error("`" + memory.name + "`: " + address.message());
    made->address = *address;
  } else {
    made->host = Tensor(DType::U8, {static_cast<int64_t>(memory.arena_bytes)});
  }
  arenas.push_back(std::move(made));
  return arenas.back().get();
}

void Arenas::give_back(int space, Arena* arena) {
  std::lock_guard lock(mutex_);
  if (--arena->users > 0) return;
  if (Device* device = program_.device_of_space(space)) (void)device->free(arena->address);
  std::erase_if(of_space_[static_cast<size_t>(space)], [&](const auto& one) { return one.get() == arena; });
}

bool Arenas::are_shared() const {
  std::lock_guard lock(mutex_);
  return std::any_of(of_space_.begin(), of_space_.end(), [](const auto& arenas) {
    return std::any_of(arenas.begin(), arenas.end(), [](const auto& arena) { return arena->users > 1; });
  });
}

void ArenaTurns::add(int space, Arena& arena) {
  if (!arena.is_in_turn) return;
  while (places_.size() <= static_cast<size_t>(space)) places_.push_back(std::make_unique<Own>());
  at(space).arena = &arena;
}

void ArenaTurns::set(ArenaPlace& place, ArenaPlace::State state, std::vector<EventRef> last) {
  place.state = state;
  ++place.version;
  place.last = std::move(last);
}

void ArenaTurns::begin() {
  if (is_begun_ || places_.empty()) return;
  std::lock_guard lock(all_.mutex_);
  for (const auto& own : places_) {
    if (own->arena == nullptr) continue;
    set(own->place, ArenaPlace::State::Waiting);
    own->arena->line.push_back(&own->place);  // there is a place for each user
  }
  is_begun_ = true;
}

void ArenaTurns::enter(int space) {
  Own& own = at(space);
  if (own.place.state != ArenaPlace::State::Waiting) return;
  std::vector<ArenaPlace*>& line = own.arena->line;
  std::unique_lock lock(all_.mutex_);
  while (line.front() != &own.place) {
    ArenaPlace* ahead = line.front();
    const uint64_t version = ahead->version;
    const auto is_changed = [&] { return line.front() != ahead || ahead->version != version; };
    if (ahead->state == ArenaPlace::State::Left) {
      const std::vector<EventRef> last = ahead->last;
      lock.unlock();
      const bool has_left = std::all_of(last.begin(), last.end(), [](const EventRef& event) { return event->wait(); });
      lock.lock();
      if (has_left && !is_changed()) {
        line.erase(line.begin());
        all_.changed_.notify_all();
        continue;
      }
    }
    all_.changed_.wait(lock, is_changed);
  }
  set(own.place, ArenaPlace::State::Inside);
}

bool ArenaTurns::try_enter(std::span<const int> spaces) {
  const auto waits = [&](int space) { return at(space).place.state == ArenaPlace::State::Waiting; };
  if (std::none_of(spaces.begin(), spaces.end(), waits)) return true;
  std::lock_guard lock(all_.mutex_);
  for (int space : spaces) {
    if (!waits(space)) continue;
    for (const ArenaPlace* ahead : at(space).arena->line) {
      if (ahead == &at(space).place) break;
      const bool has_left = ahead->state == ArenaPlace::State::Left &&
                            std::all_of(ahead->last.begin(), ahead->last.end(),
                                        [](const EventRef& event) { return event->is_reached() && event->wait(); });
      if (!has_left) return false;
    }
  }
  for (int space : spaces) {
    if (!waits(space)) continue;
    std::vector<ArenaPlace*>& line = at(space).arena->line;
    line.erase(line.begin(), std::find(line.begin(), line.end(), &at(space).place));
    set(at(space).place, ArenaPlace::State::Inside);
  }
  all_.changed_.notify_all();
  return true;
}

void ArenaTurns::leave(int space, std::vector<EventRef> last) {
  std::lock_guard lock(all_.mutex_);
  set(at(space).place, ArenaPlace::State::Left, std::move(last));
  all_.changed_.notify_all();
}

/// The place is still at the head of the line: no run passes one that has a failure.
void ArenaTurns::return_to(int space) {
  if (at(space).place.state != ArenaPlace::State::Left) return;
  std::lock_guard lock(all_.mutex_);
  set(at(space).place, ArenaPlace::State::Inside);
  all_.changed_.notify_all();
}

void ArenaTurns::end() {
  if (!is_begun_) return;
  std::lock_guard lock(all_.mutex_);
  for (const auto& own : places_) {
    if (own->arena == nullptr) continue;
    std::erase(own->arena->line, &own->place);
    set(own->place, ArenaPlace::State::Waiting);
  }
  is_begun_ = false;
  all_.changed_.notify_all();
}

}  // namespace collage::runtime
