// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/random_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace collage::testing {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// Uniform in [low, high].
  int between(int low, int high) { return low + static_cast<int>(engine_() % static_cast<uint64_t>(high - low + 1)); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(between(0, static_cast<int>(items.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

const std::vector<std::string> kUnary = {"Relu", "Sigmoid", "Neg", "Tanh"};
const std::vector<std::string> kBinary = {"Add", "Mul", "Sub"};

/// Values are f32[1, 4, 4, 4]; a Split makes two halves that at once meet again in a Concat, swapped, or feed a Concat
/// later.
std::string random_model(Random& random, int max_nodes) {
  int nodes = random.between(1, max_nodes);
  std::vector<std::string> wholes = {"x"};
  if (random.chance(40)) wholes.push_back("z");
  std::vector<std::string> halves;
  std::string inputs = wholes.size() == 2 ? "%x: f32[1, 4, 4, 4], %z: f32[1, 4, 4, 4]" : "%x: f32[1, 4, 4, 4]";
  std::string body = "  %w1 = const random seed 1 : f32[4, 4, 1, 1]\n  %w3 = const random seed 2 : f32[4, 4, 3, 3]\n";
  auto recent = [&](const std::vector<std::string>& values) {
    size_t window = random.chance(70) ? std::min<size_t>(3, values.size()) : values.size();
    return values[values.size() - 1 - static_cast<size_t>(random.between(0, static_cast<int>(window) - 1))];
  };
  std::vector<std::string> made;
  for (int i = 0; i < nodes; ++i) {
    std::string name = fmt::format("v{}", i);
    int kind = random.between(1, 100);
    if (kind <= 40) {
      body += fmt::format("  %{} = {}(%{})\n", name, random.pick(kUnary), recent(wholes));
    } else if (kind <= 70) {
      body += fmt::format("  %{} = {}(%{}, %{})\n", name, random.pick(kBinary), recent(wholes), recent(wholes));
    } else if (kind <= 80) {
      body += fmt::format("  %{} = Conv(%{}, %w1)\n", name, recent(wholes));
    } else if (kind <= 86) {
      body += fmt::format("  %{} = Conv(%{}, %w3) {{pads = [1, 1, 1, 1]}}\n", name, recent(wholes));
    } else if (kind <= 93 || halves.size() < 2) {
      body += fmt::format("  %{0}, %{0}b = Split(%{1}) {{axis = 1}} : f32[1, 2, 4, 4], f32[1, 2, 4, 4]\n", name,
                          recent(wholes));
      halves.push_back(name);
      halves.push_back(name + "b");
      made.push_back(name);
      made.push_back(name + "b");
      continue;
    } else {
      body += fmt::format("  %{} = Concat(%{}, %{}) {{axis = 1}}\n", name, random.pick(halves), random.pick(halves));
    }
    wholes.push_back(name);
    made.push_back(name);
  }
  auto typed = [&](const std::string& value) {
    bool is_half = std::find(halves.begin(), halves.end(), value) != halves.end();
    return fmt::format("%{}: f32[1, {}, 4, 4]", value, is_half ? 2 : 4);
  };
  std::string outputs = typed(made.back());
  for (const std::string& value : made) {
    if (value != made.back() && random.chance(20)) outputs += ", " + typed(value);
  }
  return fmt::format("model @random({}) -> ({}) {{\n{}}}\n", inputs, outputs, body);
}

std::string random_pattern(Random& random) {
  std::string unary = random.pick(kUnary), other = random.pick(kUnary), binary = random.pick(kBinary);
  switch (random.between(0, 9)) {
    case 0: return fmt::format("y = {}(x)", unary);
    case 1: return fmt::format("y = {}(x, z)", binary);
    case 2: return "y = Conv(x, w: const)";
    case 3: return fmt::format("y = {}?(c = Conv(x, w: const))", unary);
    case 4: return fmt::format("y = {}({}(x))", unary, other);
    case 5: return fmt::format("y = {}({}(x), z)", binary, unary);
    case 6: return fmt::format("y = ({} | {})(x)", unary, binary == "Add" ? "Abs" : other == unary ? "Exp" : other);
    case 7: return fmt::format("y = {}?({}(x, z))", unary, binary);
    case 8: return fmt::format("y = {}({}(x), {}(z))", binary, unary, other);
    default: return fmt::format("y = {0}(x, {1}(x))", binary, unary);
  }
}

/// `stores`: some boundaries are f64. It doubles the formats, of which brute force bears few.
std::string random_backend(Random& random, const std::string& name, const std::vector<std::string>& others,
                           bool stores) {
  std::string text = fmt::format("backend {} version 1 {{\n  device {} count {} {{\n", name, name,
                                 !stores && random.chance(20) ? 2 : 1);
  text += fmt::format("    link host bandwidth {} MB/s latency {} ns\n", random.between(1, 40) * 100,
                      random.between(0, 8) * 50);
  for (const std::string& other : others) {
    if (random.chance(40))
      text += fmt::format("    link {} bandwidth {} MB/s latency {} ns\n", other, random.between(1, 40) * 200,
                          random.between(0, 4) * 50);
  }
  text += "  }\n  runtime sim\n";
  // f64 holds every f32: what is cast on the way comes back as it was.
  if (random.chance(30)) text += stores && random.chance(30) ? "  format NHWC f64\n" : "  format NHWC\n";
  int rules = random.between(1, 5);
  for (int i = 0; i < rules; ++i) {
    const std::string pattern = random_pattern(random);
    std::string format;
    if (stores && random.chance(50))
      format = random.chance(50) ? "    format x: f64\n" : "    format x: plain, y: f64\n";
    text += fmt::format("  rule r{} {{\n    match {}\n{}    cost {} ns\n    lower \"r{}\"(x)\n  }}\n", i, pattern,
                        format, random.between(1, 60) * 10, i);
  }
  const std::vector<std::string> joins = {"none", "chain", "any", "any", "kinds"};
  text += fmt::format(
      "  partition {{\n    join {}\n    limit depth {}, exits {}, ops {}, taps {}\n    launch {} ns\n    coalesce {}\n "
      " }}\n",
      random.pick(joins), random.between(1, 5), random.between(1, 3), random.between(2, 5),
      random.chance(50) ? "yes" : "no", random.between(0, 20) * 10, random.chance(50) ? "yes" : "no");
  if (random.chance(15)) text += fmt::format("  max partitions {}\n", random.between(1, 2));
  return text + "}\n";
}

}  // namespace

RandomCase random_case(uint64_t seed, int max_nodes) {
  Random random(seed);
  RandomCase result;
  result.model = random_model(random, max_nodes);
  result.rules = "rules 1\n";
  std::vector<std::string> names = {"a", "b", "c"};
  const bool stores = random.chance(15);
  names.resize(stores ? 1 : static_cast<size_t>(random.between(1, 3)));
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> others(names.begin(), names.begin() + static_cast<int64_t>(i));
    result.rules += random_backend(random, names[i], others, stores);
  }
  return result;
}

}  // namespace collage::testing
