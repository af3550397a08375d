// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compiler/search/certificate.h"

namespace collage::search {
namespace {

/// A certificate of a placement that costs 3 ns, with an owner in this memory.
std::string proven(int64_t nanoseconds, const std::string& instance, std::optional<int64_t> memory) {
  const auto ns = [](int64_t count) { return place::Cost::of(1000 * count, place::Cost::Unit::Seconds); };
  certificate::CertificateFile file;
  file.problem.owners = {{"lib", instance, {}, {}, memory}};
  file.solution.cost = file.solution.bound = ns(3);
  file.proof.order = {0};
  file.proof.bound = ns(nanoseconds);
  return to_string(file);
}

TEST(CertificateText, SaysWhatALimitOfAHostSupposes) {
  EXPECT_EQ(proven(3, "host", std::nullopt), "proven: 3 ns, which is the cost");
  EXPECT_EQ(proven(3, "npu[0]", 4096), "proven: 3 ns, which is the cost");
  EXPECT_EQ(proven(3, "host[1]", 4096), "proven: 3 ns, which is the cost, where no code on a host works in place");
  EXPECT_EQ(proven(2, "host", 4096),
            "proven: 2 ns, gap 50 %, where no code on a host works in place; the search claims 3 ns");
}

}  // namespace
}  // namespace collage::search
