// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/backends_json.h"

#include <nlohmann/json.hpp>

#include "compiler/report/json_text.h"

namespace collage::report {

std::string to_json(const std::vector<request::BackendInfo>& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const request::BackendInfo& one : list) {
    json.push_back({{"name", one.name}, {"kind", name_of(one.kind)}, {"runs_by", one.runs_by}});
    if (!one.reason.empty()) json.back()["reason"] = one.reason;
    json.back()["rules"] = one.rules;
    json.back()["file"] = one.file;
  }
  return printed(json);
}

}  // namespace collage::report
