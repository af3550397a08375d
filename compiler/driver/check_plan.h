// SPDX-License-Identifier: Apache-2.0
// `collage-check-plan MODEL RULES… CERTIFICATE`: what a certificate is about. Model and rules are compared with what it
// was made from by their hashes, the problem is made again from them with the options that it states and compared with
// its own, and plan and bound are judged (certificate/check_certificate.h). No search takes part.
#pragma once

#include <string>
#include <vector>

#include "compiler/certificate/certificate_file.h"
#include "compiler/driver/command.h"

namespace collage::driver {

struct PlanCheck {
  enum class Verdict { Proven, NotProven, Refused };
  Verdict verdict = Verdict::Refused;
  std::string text;         ///< what was found, and what is taken on trust
  std::string diagnostics;  ///< why it is refused
};

struct PlanCheckOptions {
  bool allows_code = false;     ///< plug-ins of rule files are loaded; otherwise their backends are absent
  bool allows_outside = false;  ///< model and rules may lead to any file
};

/// `rules`: files and folders; empty: those of this installation.
PlanCheck check_plan(const std::string& model, const std::vector<std::string>& rules, const std::string& certificate,
                     const PlanCheckOptions& options = {});

/// What the problem of a command is made from, for its certificate.
certificate::About about(const Command& command, bool is_measured);

}  // namespace collage::driver
