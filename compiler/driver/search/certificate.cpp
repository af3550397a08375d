// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/search/certificate.h"

#include "compiler/certificate/certificate_file.h"
#include "compiler/support/write_file.h"

namespace collage::driver {

bool write_certificate(const std::string& path, const SearchInput& input, const place::Solution& solution,
                       support::Diagnostics& diags) {
  certificate::Names names;
  names.model = input.graph.name;
  for (ir::NodeId node : input.graph.node_ids()) names.nodes.push_back(input.graph.node_name(node));
  for (ir::ValueId value : input.built.values) names.values.push_back(input.graph.value(value).name);
  place::Problem problem = input.built.problem;
  for (place::Owner& owner : problem.owners) {
    for (const place::MemoryLimit& limit : input.limits) {
      if (limit.instance == owner.instance) owner.memory = static_cast<int64_t>(limit.bytes);
    }
  }
  return support::write_file(path, certificate::to_json(names, problem, solution), diags);
}

}  // namespace collage::driver
