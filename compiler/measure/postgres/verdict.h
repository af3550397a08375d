// SPDX-License-Identifier: Apache-2.0
// What the connections of a program to one server share, so that a server that hangs is waited for once: who has waited
// for it in vain says so, and the others ask it nothing more.
//
//     costs:  ── ask ──────────────────────────────────── fails at once ──
//     fleet:        ── ask ── silence, connects again ── give_up ──
//
// Used by one thread.
#pragma once

#include <optional>
#include <string>

namespace collage::measure::postgres {

class Verdict {
 public:
  /// The first reason counts.
  void give_up(const std::string& why) {
    if (!why_lost_) why_lost_ = why;
  }
  /// Why the server is lost; null: it is not lost.
  const std::optional<std::string>& why_lost() const { return why_lost_; }

 private:
  std::optional<std::string> why_lost_;
};

}  // namespace collage::measure::postgres
