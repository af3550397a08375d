// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/dump_model.h"

#include <fmt/format.h>

#include "runtime/core/attributes.h"
#include "runtime/core/joined.h"

namespace collage::syntax {
namespace {

class Dumper {
 public:
  explicit Dumper(const support::SourceManager& sources) : sources_(sources) {}

  std::string take(const ModelAst& ast) {
    line(fmt::format("model @{}", ast.name.text), ast.name.span);
    ++depth_;
    for (const PortAst& port : ast.inputs)
      line(fmt::format("input %{} {}", port.name.text, type(port.type)), port.name.span);
    for (const Statement& statement : ast.statements) std::visit(*this, statement);
    for (const PortAst& port : ast.outputs)
      line(fmt::format("output %{} {}", port.name.text, type(port.type)), port.name.span);
    return std::move(text_);
  }

  void operator()(const OpAst& op) {
    std::string text = fmt::format("op {} ({}) -> {}", op.op.text, names(op.operands), names(op.results));
    if (op.pin) text += " on " + instance(*op.pin);
    if (op.partition) text += " in @" + op.partition->text;
    line(text, op.op.span);
    ++depth_;
    for (const AttrAst& attr : op.attrs)
      line(fmt::format("attribute {} = {}", attr.name.text, value(attr)), attr.name.span);
    for (const auto& written : op.types) {
      if (written) line("type " + type(*written), written->span);
    }
    --depth_;
  }

  void operator()(const ConstAst& constant) {
    std::string form = std::visit([this](const auto& f) { return this->form(f); }, constant.form);
    line(fmt::format("const {} -> {}", form, names(constant.results)), span_of(constant.results));
  }

  void operator()(const ConvertAst& convert) {
    line(fmt::format("convert %{} to {} -> {}", convert.source.text, format(convert.to), names(convert.results)),
         convert.keyword);
  }

  void operator()(const PartitionAst& partition) {
    const std::string where = runtime::joined(partition.instances, " + ", instance);
    std::string split = partition.split
                            ? fmt::format(" split %{} along {}", partition.split->node.text, partition.split->axis.text)
                            : "";
    line(fmt::format("partition @{} on {}({}){} ({}) -> {}", partition.name.text, partition.backend.text, where, split,
                     names(partition.inputs), names(partition.results)),
         partition.name.span);
    ++depth_;
    for (const BodyStatement& statement : partition.body) std::visit(*this, statement);
    --depth_;
  }

 private:
  void line(std::string_view what, const support::Span& span) {
    text_ += std::string(static_cast<size_t>(2 * depth_), ' ');
    text_ += what;
    if (span.is_valid()) {
      support::LineColumn at = sources_.position(span.file, span.begin);
      text_ += fmt::format(" at {}:{}", at.line, at.column);
    }
    text_ += '\n';
  }

  static support::Span span_of(const std::vector<Name>& names) {
    return names.empty() ? support::Span{} : names.front().span;
  }

  static std::string names(const std::vector<Name>& list) {
    return runtime::joined(list, ", ", [](const Name& name) { return name.is_absent() ? "_" : "%" + name.text; });
  }

  static std::string type(const TypeAst& ast) {
    const std::string dims = runtime::joined(
        ast.dims, ", ", [](const DimAst& dim) { return dim.is_open() ? dim.symbol.text : std::to_string(dim.size); });
    return ast.dtype.text + "[" + dims + "]";
  }

  static std::string instance(const InstanceAst& ast) {
    return ast.index ? fmt::format("{}[{}]", ast.device.text, *ast.index) : ast.device.text;
  }

  static std::string format(const FormatAst& ast) {
    std::string text = instance(ast.space);
    for (const FormatPart& part : ast.layout) {
      text += " " + (part.word.empty() ? runtime::format_double(part.number) : part.word);
    }
    return text;
  }

  static std::string scalar(const Scalar& ast) {
    if (const bool* flag = std::get_if<bool>(&ast.value)) return *flag ? "true" : "false";
    if (const int64_t* number = std::get_if<int64_t>(&ast.value)) return std::to_string(*number);
    if (const uint64_t* number = std::get_if<uint64_t>(&ast.value)) return std::to_string(*number);
    if (const double* number = std::get_if<double>(&ast.value)) return runtime::format_double(*number);
    return runtime::to_string(runtime::AttrValue(std::get<std::string>(ast.value)));
  }

  static std::string value(const AttrAst& attr) {
    if (const Scalar* one = std::get_if<Scalar>(&attr.value)) return scalar(*one);
    const auto* list = std::get_if<std::vector<Scalar>>(&attr.value);
    if (list == nullptr) return form(std::get<DenseAst>(attr.value));
    return "[" + runtime::joined(*list, ", ", scalar) + "]";
  }

  static std::string form(const DenseAst& ast) {
    return fmt::format("dense {} of {} elements", type(ast.type), ast.elements.size());
  }
  static std::string form(const SplatAst& ast) { return fmt::format("splat {} {}", scalar(ast.value), type(ast.type)); }
  static std::string form(const RandomAst& ast) {
    std::string range = ast.range ? fmt::format(" in [{}, {}]", scalar(ast.range->low), scalar(ast.range->high)) : "";
    return fmt::format("random {}{} {}", scalar(ast.seed), range, type(ast.type));
  }
  static std::string form(const FileAst& ast) {
    return fmt::format("file {}{} {}", scalar(ast.path), ast.key ? " " + scalar(*ast.key) : "", type(ast.type));
  }

  const support::SourceManager& sources_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string dump(const ModelAst& ast, const support::SourceManager& sources) {
  return Dumper(sources).take(ast);
}

}  // namespace collage::syntax
