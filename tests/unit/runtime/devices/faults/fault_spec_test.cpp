// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/faults/fault_spec.h"

#include <gtest/gtest.h>

namespace collage::runtime {
namespace {

FaultSpec parsed(std::string_view text) {
  auto spec = parse_fault_spec(text);
  if (const auto* error = std::get_if<FaultSpecError>(&spec)) {
    ADD_FAILURE() << text << ": " << error->message;
    return {};
  }
  return std::get<FaultSpec>(spec);
}

TEST(FaultSpec, ReadsEveryKindOfFault) {
  const FaultSpec spec = parsed(
      "# comment\n"
      "seed 7\n"
      "npu[0]: lose after 3 launches   # comment\n"
      "npu: flip 0.25 of copies, fail 1% of launches\n\n"
      "*: out-of-memory at allocation 1; dsp[12]: timeout 5 ms at launch 4, timeout at copy 1; npu: timeout 0.5 of "
      "copies");
  EXPECT_EQ(spec.seed, 7u);
  ASSERT_EQ(spec.rules.size(), 7u);
  const auto is = [&](size_t r, const char* device, FaultKind kind, FaultCommand command, FaultRule::When when) {
    return spec.rules[r].device == device && spec.rules[r].kind == kind && spec.rules[r].command == command &&
           spec.rules[r].when == when;
  };
  using When = FaultRule::When;
  EXPECT_TRUE(is(0, "npu[0]", FaultKind::Lose, FaultCommand::Launch, When::After));
  EXPECT_EQ(spec.rules[0].number, 3);
  EXPECT_EQ(spec.rules[0].text, "npu[0]: lose after 3 launches");
  EXPECT_TRUE(is(1, "npu", FaultKind::Flip, FaultCommand::Copy, When::Share));
  EXPECT_EQ(spec.rules[1].share, 0.25);
  EXPECT_TRUE(is(2, "npu", FaultKind::Fail, FaultCommand::Launch, When::Share));
  EXPECT_EQ(spec.rules[2].share, 0.01);
  EXPECT_EQ(spec.rules[2].text, "npu: fail 1% of launches");
  EXPECT_TRUE(is(3, "*", FaultKind::OutOfMemory, FaultCommand::Allocation, When::At));
  EXPECT_TRUE(is(4, "dsp[12]", FaultKind::Timeout, FaultCommand::Launch, When::At));
  EXPECT_EQ(spec.rules[4].patience, Duration::seconds(5e-3));
  EXPECT_EQ(spec.rules[4].number, 4);
  EXPECT_TRUE(is(5, "dsp[12]", FaultKind::Timeout, FaultCommand::Copy, When::At));
  EXPECT_TRUE(is(6, "npu", FaultKind::Timeout, FaultCommand::Copy, When::Share));
  EXPECT_EQ(spec.rules[6].share, 0.5);
  EXPECT_TRUE(parsed("").rules.empty());
  EXPECT_TRUE(parsed(" ;\n;").rules.empty());
}

TEST(FaultSpec, PointsAtWhatIsWrong) {
  const auto expect = [](std::string_view text, std::string_view at, std::string_view message) {
    const auto spec = parse_fault_spec(text);
    const auto* error = std::get_if<FaultSpecError>(&spec);
    ASSERT_NE(error, nullptr) << text;
    EXPECT_EQ(text.substr(error->begin, error->end - error->begin), at) << text;
    EXPECT_EQ(error->message, message) << text;
  };
  expect("npu: explode at copy 1", "explode", "`explode` is no fault: want fail, flip, timeout, lose or out-of-memory");
  expect("npu fail at copy 1", "fail", "want `:` after the device");
  expect("npu[x]: fail at copy 1", "npu[x]", "`npu[x]` is no device: want `npu[0]`, `npu` or `*`");
  expect("host: fail at copy 1", "host", "`host` is no device: faults are those of devices");
  expect("npu: flip at launch 1", "launch", "`launch` cannot go wrong in this way: `flip` is of copies");
  expect("npu: fail 0.1 of allocations", "allocations",
         "`allocations` cannot go wrong in this way: `fail` is of copies and launches");
  expect("npu: fail at copy 0", "0", "`0` is no number: want which one, counted from 1");
  expect("npu: fail 2 of copies", "2", "`2` is no share: want 0 to 1");
  expect("npu: fail sometimes", "sometimes", "`sometimes` is none of `at`, `after` and a share such as 0.01");
  expect("npu: fail at kernel 3", "kernel", "`kernel` is no command: want copies, launches or allocations");
  expect("npu: timeout 1 s 0.1 of copies; npu: timeout 20 s at copy 1", "20", "`20` is too long: at most 10 s");
  expect("npu:", "", "want a fault");
  expect("npu: fail at copy 1 npu: fail at copy 2", "npu", "want `;` or a new line");
  expect("seed x", "x", "`x` is no number: want a seed");
}

}  // namespace
}  // namespace collage::runtime
