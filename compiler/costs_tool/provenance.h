// SPDX-License-Identifier: Apache-2.0
// Where a measured cost comes from, read out of the texts that are its key (measure/environment.h,
// measure/candidate_text.h).
#pragma once

#include <string>

#include "compiler/measure/cost_database.h"

namespace collage::costs_tool {

struct Provenance {
  std::string backend;    ///< `onednn`
  std::string what;       ///< `Conv, Relu -> f32[1, 64, 56, 56]`
  std::string program;    ///< that answered it, of `cost exec`; what follows is then empty
  std::string processor;  ///< its name, without the list of features
  std::string build;      ///< versions of Collage, LLVM and the libraries
  std::string threads;
};

Provenance provenance_of(const measure::CostRow& row);

/// `2026-11-23 17:04`, in UTC; `-` where it is not known.
std::string date_text(int64_t date);

/// Returns `good`, `disturbed`, `failed`, or `refused`, which compilers do not use.
std::string state_of(const measure::CostRow& row);

}  // namespace collage::costs_tool
