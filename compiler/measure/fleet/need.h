// SPDX-License-Identifier: Apache-2.0
// What a worker must have for a job: the environment of its cost without what the job itself says.
//
//     cpu … / collage 0.9 … / threads 4 / numerics f32 / onednn version 1 …
//     =>   cpu … / collage 0.9 … / onednn version 1 …
#pragma once

#include <string>

namespace collage::measure::fleet {

std::string need_of(const std::string& environment);

}  // namespace collage::measure::fleet
