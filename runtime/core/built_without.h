// SPDX-License-Identifier: Apache-2.0
// The message of an optional component (cmake/Dependencies.cmake) that a build lacks.
#pragma once

#include <string>
#include <string_view>

namespace collage::runtime {

/// ("PostgreSQL", "POSTGRESQL") => `Collage was built without PostgreSQL (CMake option COLLAGE_WITH_POSTGRESQL)`.
std::string built_without(std::string_view component, std::string_view option);

}  // namespace collage::runtime
