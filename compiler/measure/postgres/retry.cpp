// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/postgres/retry.h"

#include <algorithm>
#include <thread>

namespace collage::measure::postgres {
namespace {

constexpr int kMostCuts = 10, kMostMakings = 2;
constexpr std::chrono::milliseconds kFirstRest{50}, kLongestRest{1000};

}  // namespace

void Retry::begin() {
  failed_.reset();
  cuts_ = makings_ = 0;
  end_.reset();
  pause_ = kFirstRest;
}

bool Retry::prepare(const std::string& message) {
  const Failure failure = server_.failure();
  if (!failed_) failed_ = Clock::now();
  switch (failure) {
    case Failure::Lasting: return false;
    case Failure::Lost: return ++cuts_ <= kMostCuts && reconnect(message);
    case Failure::Conflict:
    case Failure::Busy: return pause(failure);
    case Failure::ReadOnly: return options_.writes && is_standby() && pause(failure) && reconnect(message);
    case Failure::TablesGone: return options_.make_tables && ++makings_ <= kMostMakings && options_.make_tables();
  }
  return false;
}

bool Retry::reconnect(const std::string& message) {
  // Something answers for a server that does not.
  const double since = std::chrono::duration<double>(Clock::now() - *failed_).count();
  const double patience = server_.patience(options_.patience);
  if (cuts_ > 1 && since >= std::max(patience, server_.silence())) {
    options_.verdict->give_up(message);
    return false;
  }
  const runtime::Status again = server_.reconnect(patience);
  if (again) return true;
  why_lost_ = again.message();
  if (server_.is_away()) options_.verdict->give_up(again.message());
  return false;
}

bool Retry::pause(Failure failure) {
  if (is_given_up(failure)) return false;
  const auto now = Clock::now();
  const std::chrono::duration<double> patience(server_.patience(options_.patience));
  if (!end_) end_ = now + std::chrono::duration_cast<Clock::duration>(patience);
  if (now >= *end_) {
    is_given_up(failure) = true;
    return false;
  }
  std::this_thread::sleep_for(std::min<Clock::duration>(pause_, *end_ - now));
  pause_ = std::min(2 * pause_, kLongestRest);
  return true;
}

bool Retry::is_standby() {
  const auto found = server_.execute("SELECT pg_is_in_recovery()");
  return found && (*found)->size() == 1 && (*found)->text(0, 0) == "t";
}

}  // namespace collage::measure::postgres
