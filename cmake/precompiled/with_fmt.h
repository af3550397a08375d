// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "standard.h"
