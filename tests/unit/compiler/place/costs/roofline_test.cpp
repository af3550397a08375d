// SPDX-License-Identifier: Apache-2.0
// Rooflines fitted to what is known, and the bounds that follow.
#include "compiler/place/costs/roofline.h"

#include <gtest/gtest.h>

#include <random>

namespace collage::place {
namespace {

using runtime::Duration;

Observation taking(double seconds, double operations, double bytes) {
  return {{operations, bytes}, Duration::seconds(seconds)};
}

TEST(Roofline, FindsLaunchRateAndBandwidth) {
  std::vector<Observation> known;
  for (double operations : {1e6, 5e6, 2e7}) {
    for (double bytes : {1e4, 1e6}) known.push_back(taking(5e-6 + operations / 1e11 + bytes / 1e10, operations, bytes));
  }
  const Roofline fitted(known);
  EXPECT_NEAR(fitted.seconds({1e7, 1e5}), 5e-6 + 1e7 / 1e11 + 1e5 / 1e10, 1e-9);
  // No error, so nearly the prediction itself.
  EXPECT_LE(fitted.bound({1e7, 1e5}, 1).seconds(), fitted.seconds({1e7, 1e5}));
  EXPECT_GT(fitted.bound({1e7, 1e5}, 1).seconds(), 0.9 * fitted.seconds({1e7, 1e5}));
}

TEST(Roofline, NothingIsKnown) {
  const Roofline fitted({});
  EXPECT_FALSE(fitted.is_known());
  EXPECT_EQ(fitted.bound({1e6, 1e6}, 1), Duration());
  EXPECT_FALSE(Roofline({taking(0, 1e6, 1e6)}).is_known());
}

TEST(Roofline, FewObservationsNeedMoreCaution) {
  std::vector<Observation> known;
  Duration before;
  for (int n = 1; n <= 16; n *= 2) {
    while (known.size() < static_cast<size_t>(n)) known.push_back(taking(1e-4, 1e7, 1e5));
    const Duration bound = Roofline(known).bound({1e7, 1e5}, 4);
    EXPECT_GT(bound, before) << n;
    before = bound;
  }
  EXPECT_LT(before, Duration::seconds(1e-4));
}

TEST(Roofline, WhatIsSmallerThanAllKnownMayTakeLess) {
  // Two that take the same look like a launch and nothing else.
  const Roofline fitted({taking(1e-3, 1e8, 1e6), taking(1e-3, 1.1e8, 1.1e6)});
  EXPECT_LE(fitted.bound({1e6, 1e4}, 0), Duration::seconds(1e-5)) << "in proportion";
  EXPECT_GT(fitted.bound({1.05e8, 1.05e6}, 0), Duration::seconds(9e-4));
}

TEST(Roofline, ExpectsWhatVerySimilarOnesTake) {
  std::vector<Observation> known;
  for (double operations : {1e6, 1e7, 1e8}) known.push_back(taking(operations / 1e11, operations, operations / 50));
  known.push_back(taking(2 * 3e7 / 1e11, 3e7, 6e5));  // slower than the others
  const Roofline fitted(known);
  const double near = fitted.expected({3.1e7, 6e5}).seconds() / fitted.seconds({3.1e7, 6e5});
  const double far = fitted.expected({5e6, 1e5}).seconds() / fitted.seconds({5e6, 1e5});
  EXPECT_GT(near, 1.2);
  EXPECT_NEAR(far, 1, 0.1);
  EXPECT_GE(fitted.expected({5e6, 1e5}), fitted.bound({5e6, 1e5}, 1));
}

TEST(Roofline, TheErrorOfTheFitIsItsSlack) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> size(1e6, 1e8), factor(0.8, 1.4);
  std::vector<Observation> known;
  for (int i = 0; i < 40; ++i) {
    const double operations = size(random);
    known.push_back(taking(factor(random) * (1e-5 + operations / 1e11), operations, operations / 50));
  }
  const Roofline fitted(known);
  for (const Observation& one : known) EXPECT_LE(fitted.bound(one.features, 0), one.cost);
}

}  // namespace
}  // namespace collage::place
