// SPDX-License-Identifier: Apache-2.0
// What the backends of rule files are on this machine: `collagec backends`, and the same question of C and Python.
#pragma once

#include <string>
#include <vector>

#include "compiler/request/activate.h"

namespace collage::request {

enum class BackendKind {
  Real,    ///< runs on this machine
  Absent,  ///< does not, for a reason
  Model,   ///< of a chip: its results are computed on the host, its times are what its rule file says
};

struct BackendInfo {
  std::string name;
  BackendKind kind = BackendKind::Real;
  std::string runs_by;  ///< `generated code`, `oneDNN 2.6.3`, `plug-in vendor.so`, `device null`
  std::string reason;   ///< why it is absent
  size_t rules = 0;
  std::string file;  ///< that declares it
};

/// `real`, `absent`, `model of a chip`
std::string_view name_of(BackendKind kind);

/// Returns all backends of the rules, in the order of registration. Plug-ins are loaded where `permission` lets them.
std::vector<BackendInfo> list_backends(const ir::RuleSet& rules, const CodePermission& permission,
                                       support::Diagnostics& diags);

}  // namespace collage::request
