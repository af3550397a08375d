// SPDX-License-Identifier: Apache-2.0
// Several hosts that run one model together, as a rule file declares them. grammar/rules.md gives the meanings.
//
//     cluster lab {
//       host count 2 { memory 16 GiB  devices npu 2  link lan bandwidth 10 GB/s latency 5 us duplex }
//       host         { memory 64 GiB                 link lan bandwidth 10 GB/s latency 5 us duplex }
//     }
//
//     =>  memories `host`, `host[1]`, `host[2]`; npu[0], npu[1] stand at `host`, npu[2], npu[3] at `host[1]`
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/link.h"
#include "runtime/support/span.h"

namespace collage::ir {

/// `devices npu 2`: each of these hosts has so many.
struct HostDevices {
  std::string device;  ///< its declared name
  int count = 0;
  support::Span span;
};

/// Hosts that are alike.
struct HostDecl {
  int count = 1;
  std::optional<double> memory_bytes;  ///< of each; absent: no limit
  std::vector<HostDevices> devices;
  std::vector<Link> links;  ///< of each; `host`: to every other host of the cluster
  support::Span span;
};

struct Cluster {
  std::string name;
  std::vector<HostDecl> hosts;  ///< numbered through, in their order
  support::Span span;

  int host_count() const;
  /// The declaration of a host by its number.
  const HostDecl& host(int number) const;
};

}  // namespace collage::ir
