// SPDX-License-Identifier: Apache-2.0
// Headers that most files include, compiled once for many targets (CollageLibrary.cmake). Only what never changes
// belongs here: no header of this project.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
