// SPDX-License-Identifier: Apache-2.0
// What a build without libpq says of addresses.
#include "compiler/measure/postgres/connection.h"
#include "runtime/core/built_without.h"

namespace collage::measure::postgres {

#if !COLLAGE_HAS_POSTGRESQL
runtime::Result<std::unique_ptr<Connection>> Connection::open(const std::string&, double) {
  return runtime::Status::error(runtime::built_without("PostgreSQL", "POSTGRESQL"));
}
#endif

}  // namespace collage::measure::postgres
