// SPDX-License-Identifier: Apache-2.0
// How the caller has to react to the failure of a statement.
#pragma once

#include <string_view>

namespace collage::measure::postgres {

enum class Failure {
  Lasting,     ///< the statement, or what this user may do: the same fails again
  Lost,        ///< the connection: to connect again
  Conflict,    ///< with another transaction: the whole transaction again, at once
  Busy,        ///< the server, or a lock: the same again, after a while
  ReadOnly,    ///< the server only reads; another one may write by now: to connect again, after a while
  TablesGone,  ///< the tables were dropped, and perhaps made anew: to make them, and to forget what was in them
};

/// Classifies an SQLSTATE (failures.def). An empty one is not from the server: libpq cannot reach it.
Failure failure_of(std::string_view state);

}  // namespace collage::measure::postgres
