// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/model/open_dims.h"

#include <algorithm>

namespace collage::sema {
namespace {

/// Visits every type of a model.
class SizeSetter {
 public:
  explicit SizeSetter(const std::map<std::string, int64_t>& sizes) : sizes_(sizes) {}

  void set(syntax::TypeAst& type) const {
    for (syntax::DimAst& dim : type.dims) {
      if (!dim.is_open()) continue;
      if (auto size = sizes_.find(dim.symbol.text); size != sizes_.end()) dim = {size->second, {}};
    }
  }

  void operator()(syntax::OpAst& op) const {
    for (std::optional<syntax::TypeAst>& type : op.types) {
      if (type) set(*type);
    }
    for (syntax::AttrAst& attr : op.attrs) {
      if (auto* dense = std::get_if<syntax::DenseAst>(&attr.value)) set(dense->type);
    }
  }
  void operator()(syntax::ConstAst& constant) const {
    std::visit([this](auto& form) { set(form.type); }, constant.form);
  }
  void operator()(syntax::ConvertAst& convert) const {
    if (convert.type) set(*convert.type);
  }
  void operator()(syntax::PartitionAst& partition) const {
    for (syntax::BodyStatement& statement : partition.body) std::visit(*this, statement);
  }

 private:
  const std::map<std::string, int64_t>& sizes_;
};

}  // namespace

std::vector<ir::OpenInput> open_inputs(const syntax::ModelAst& ast) {
  std::vector<ir::OpenInput> inputs;
  for (const syntax::PortAst& port : ast.inputs) {
    ir::OpenInput input{port.name.text, std::vector<ir::OpenDim>()};
    for (const syntax::DimAst& dim : port.type.dims) {
      // A negative size is a mistake, which is reported where the type is read.
      input.dims->push_back({dim.is_open() ? -1 : std::max<int64_t>(dim.size, 0), dim.symbol.text});
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

void set_sizes(const std::map<std::string, int64_t>& sizes, syntax::ModelAst& ast) {
  const SizeSetter setter(sizes);
  for (syntax::PortAst& port : ast.inputs) setter.set(port.type);
  for (syntax::PortAst& port : ast.outputs) setter.set(port.type);
  for (syntax::Statement& statement : ast.statements) std::visit(setter, statement);
}

}  // namespace collage::sema
