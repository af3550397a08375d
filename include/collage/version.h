// SPDX-License-Identifier: Apache-2.0
// The version of Collage: the one place, read by CMake too.
#pragma once

#define COLLAGE_VERSION "0.1.0"
