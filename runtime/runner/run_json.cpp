// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/run_json.h"

namespace collage::runner {

nlohmann::ordered_json result_json(const RunResult& result, const ModelPorts& model) {
  nlohmann::ordered_json json;
  json["runs"] = result.classes.size();
  json["outputs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const runtime::Tensor& output = result.outputs[i];
    nlohmann::ordered_json row = {
        {"name", model.outputs[i].name}, {"dtype", std::string(name_of(output.dtype()))}, {"shape", output.shape()}};
    if (are_scores(output)) row["class"] = argmax(output);
    json["outputs"].push_back(std::move(row));
  }
  for (const ExpectedRow& row : result.expected) {
    json["expected"].push_back({{"output", row.output}, {"difference", row.difference}});
  }
  if (result.right) json["accuracy"] = {{"right", *result.right}, {"of", result.classes.size()}};
  return json;
}

}  // namespace collage::runner
