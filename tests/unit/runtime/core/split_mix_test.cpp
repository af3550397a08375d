// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/split_mix.h"

#include <gtest/gtest.h>

namespace collage::runtime {
namespace {

TEST(SplitMix, HasTheBitsOfThePublishedGenerator) {
  // The first outputs of the authors' C code for the seed 1234567.
  SplitMix numbers(1234567);
  for (uint64_t number : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
                          16408922859458223821u}) {
    EXPECT_EQ(numbers.next(), number);
  }
}

TEST(SplitMix, NumbersHavePlaces) {
  SplitMix numbers(7);
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(numbers.next(), split_mix(7, i));
}

TEST(SplitMix, DrawsStayInTheirRanges) {
  SplitMix numbers(3);
  size_t seen = 0;
  for (int i = 0; i < 200; ++i) {
    const size_t drawn = numbers.below(5);
    ASSERT_LT(drawn, 5u);
    seen |= size_t{1} << drawn;
    const double fraction = numbers.fraction();
    EXPECT_TRUE(fraction >= 0 && fraction < 1);
  }
  EXPECT_EQ(seen, 31u);
  EXPECT_LT(fraction_of(~uint64_t{0}), 1);
}

}  // namespace
}  // namespace collage::runtime
