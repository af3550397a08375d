// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/checks/families.h"

namespace collage::lint {

std::vector<std::vector<int>> families_of(const ir::Backend& backend) {
  std::vector<std::vector<int>> families;
  for (size_t i = 0; i < backend.rules.size(); ++i) {
    if (i == 0 || backend.rules[i].family != backend.rules[i - 1].family) families.emplace_back();
    families.back().push_back(static_cast<int>(i));
  }
  return families;
}

bool has_one_plain_kernel(const ir::Rule& rule) {
  if (rule.kernels.size() != 1 || !rule.needs.empty()) return false;
  const ir::Kernel& kernel = rule.kernels[0];
  return kernel.name.empty() && kernel.needs.empty() && kernel.clauses.empty() && kernel.knobs.empty();
}

}  // namespace collage::lint
