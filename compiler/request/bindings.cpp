// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/bindings.h"

#include <algorithm>
#include <set>

#include "runtime/core/text.h"
#include "runtime/runner/tensor_files.h"

namespace collage::request {

std::string add_bindings(const std::string& text, const std::string& option, std::vector<ir::ShapeBinding>& bindings) {
  for (size_t begin = 0; begin <= text.size();) {
    // A comma may be part of a name: an entry ends before a comma only where it has its sizes.
    size_t end = text.find(',', begin);
    while (end < text.size() && text.substr(begin, end - begin).find('=') == std::string::npos) {
      end = text.find(',', end + 1);
    }
    const std::string entry = text.substr(begin, std::min(end, text.size()) - begin);
    const size_t equals = entry.rfind('=');
    if (equals == std::string::npos || equals == 0) return fmt::format("`{}` is not NAME=DIMS", entry);
    const std::string name = entry.substr(0, equals);
    std::optional<std::vector<ir::SizeRange>> sizes = ir::parse_sizes(entry.substr(equals + 1));
    if (!sizes) return fmt::format("`{}` is no shape: want 1x3x224x224, 8 or 1..512", entry.substr(equals + 1));
    std::erase_if(bindings, [&](const ir::ShapeBinding& binding) { return binding.name == name; });
    bindings.push_back({name, std::move(*sizes), option + " " + name});
    if (end >= text.size()) break;
    begin = end + 1;
  }
  return "";
}

std::string add_buckets(const std::string& text, std::vector<std::vector<ir::ShapeBinding>>& buckets) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return fmt::format("`{}` is not NAME=N,N…", text);
  const std::string name = text.substr(0, equals);
  if (buckets.empty()) buckets.emplace_back();
  const std::vector<ir::ShapeBinding>& known = buckets.front();
  if (std::any_of(known.begin(), known.end(), [&](const ir::ShapeBinding& one) { return one.name == name; })) {
    return fmt::format("`{}` has sizes already", name);
  }
  std::set<std::string> seen;
  std::vector<std::vector<ir::ShapeBinding>> combined;
  for (const std::vector<ir::ShapeBinding>& bucket : buckets) {
    for (const std::string& entry : runtime::split(text.substr(equals + 1), ',')) {
      std::optional<std::vector<ir::SizeRange>> sizes = ir::parse_sizes(entry);
      if (!sizes || sizes->empty()) return fmt::format("`{}` is no size", entry);
      if (&bucket == &buckets.front() && !seen.insert(ir::to_string(*sizes)).second) {
        return fmt::format("`{}` is given twice", entry);
      }
      combined.push_back(bucket);
      combined.back().push_back({name, std::move(*sizes), "--buckets " + name});
    }
  }
  buckets = std::move(combined);
  return "";
}

std::string to_string(const ir::ShapeBinding& binding) {
  return binding.name + "=" + ir::to_string(binding.sizes);
}

std::optional<std::map<std::string, ir::Tensor>> read_given(const runner::RunRequest& request,
                                                            const std::vector<ir::OpenInput>& inputs,
                                                            support::Diagnostics& diags) {
  std::map<std::string, ir::Tensor> given;
  const auto is_input = [&inputs](const std::string& name) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const ir::OpenInput& input) { return input.name == name; });
  };
  for (const runner::NamedFile& entry : request.inputs) {
    const runner::NamedFile file = runner::named_by(entry, is_input);
    const bool is_only = file.name.empty() && inputs.size() == 1;
    const std::string name = is_only ? inputs.front().name : file.name;
    if (!is_input(name) || !runner::is_tensor_file(file.file, request.formats)) continue;
    std::optional<ir::Tensor> tensor = runner::read_any_tensor(file.file, request.formats, "--input " + name, diags);
    if (!tensor) return std::nullopt;
    given.insert_or_assign(name, std::move(*tensor));
  }
  return given;
}

std::vector<ir::ShapeBinding> bindings_of(const std::map<std::string, ir::Tensor>& given, bool has_labels) {
  std::vector<ir::ShapeBinding> bindings;
  for (const auto& [name, tensor] : given) {
    ir::ShapeBinding binding{name, {}, "--input " + name, true, has_labels};
    for (int64_t dim : tensor.shape()) binding.sizes.push_back({dim, dim});
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace collage::request
