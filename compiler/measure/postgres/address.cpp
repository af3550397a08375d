// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "compiler/measure/postgres/connection.h"

namespace collage::measure::postgres {
namespace {

/// `host=/tmp/x&password=secret&port=5433` => `?host=/tmp/x&port=5433`
std::string shown_query(std::string_view query) {
  constexpr std::array<std::string_view, 4> kShown = {"dbname", "host", "port", "user"};
  std::string shown;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (std::find(kShown.begin(), kShown.end(), one.substr(0, one.find('='))) == kShown.end()) continue;
    shown += shown.empty() ? '?' : '&';
    shown += one;
  }
  return shown;
}

}  // namespace

bool Connection::is_address(std::string_view name) {
  return name.starts_with("postgresql://") || name.starts_with("postgres://");
}

bool Connection::is_other_address(std::string_view name) {
  if (is_address(name)) return false;
  return name.find("://") != std::string_view::npos || name.starts_with("password=") ||
         name.find(" password=") != std::string_view::npos;
}

std::string Connection::shown(std::string_view address) {
  if (is_other_address(address)) return "…";
  if (!is_address(address)) return std::string(address);
  const size_t begin = address.find("://") + 3;
  std::string shown(address.substr(0, begin));
  std::string_view rest = address.substr(begin);
  if (const size_t end = rest.rfind('@'); end != std::string_view::npos) {
    // With a `/` or `?` in it, it is not certain where the password begins.
    const std::string_view who = rest.substr(0, end);
    const bool is_plain = who.find_first_of("/?") == std::string_view::npos;
    shown += is_plain ? who.substr(0, who.find(':')) : "…";
    shown += '@';
    rest.remove_prefix(end + 1);
  }
  const size_t query = rest.find('?');
  shown += rest.substr(0, query);
  if (query != std::string_view::npos) shown += shown_query(rest.substr(query + 1));
  return shown;
}

}  // namespace collage::measure::postgres
