// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/cluster.h"

#include "runtime/support/check.h"

namespace collage::ir {

int Cluster::host_count() const {
  int count = 0;
  for (const HostDecl& alike : hosts) count += alike.count;
  return count;
}

const HostDecl& Cluster::host(int number) const {
  int first = 0;
  for (const HostDecl& alike : hosts) {
    if (number < first + alike.count) return alike;
    first += alike.count;
  }
  COLLAGE_CHECK(false, "a host beyond the cluster");
  return hosts.back();
}

}  // namespace collage::ir
