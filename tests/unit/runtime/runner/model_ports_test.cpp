// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/model_ports.h"

#include <gtest/gtest.h>

namespace collage::runner {
namespace {

TEST(ModelPorts, AnOutputThatIsAnInputHasItsNameToo) {
  ModelPorts ports{"m", {{"x", {}}, {"a", {}}}, {{"x.1", {}}, {"a.1", {}}, {"a", {}}, {"b.1", {}}}};
  add_aliases(ports);
  EXPECT_TRUE(is_called(ports.outputs[0], "x"));
  EXPECT_TRUE(is_called(ports.outputs[0], "x.1"));
  EXPECT_FALSE(is_called(ports.outputs[1], "a"));  // another output has this name
  EXPECT_FALSE(is_called(ports.outputs[3], "b"));
}

TEST(ModelPorts, ControlCharactersMayBeGivenAsTheyAreOrAsTheyAreShown) {
  const Port port{"a\\x0ab", {}};
  EXPECT_TRUE(is_called(port, "a\nb"));
  EXPECT_TRUE(is_called(port, "a\\x0ab"));
  EXPECT_FALSE(is_called(port, "a\tb"));
}

}  // namespace
}  // namespace collage::runner
