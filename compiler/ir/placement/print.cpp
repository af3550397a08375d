// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/placement/print.h"

#include <fmt/format.h>

#include <charconv>

#include "compiler/ir/graph/print_parts.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"
#include "runtime/support/written_name.h"

namespace collage::ir {
namespace {

/// The shortest decimal that reads back as this float: the text is read as a double and then rounded.
std::string float_text(float value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  double back = 0;
  if (error == std::errc() && std::from_chars(buffer, end, back).ec == std::errc() &&
      static_cast<float>(back) == value) {
    return runtime::format_double(back);
  }
  return runtime::format_double(value);
}

std::string element_text(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::F32) return float_text(tensor.as<float>()[static_cast<size_t>(i)]);
  if (is_float(tensor.dtype())) return runtime::format_double(element_as_double(tensor.view(), i));
  return runtime::integer_text(tensor.view(), i);
}

constexpr std::string_view kLeftOut = "[…]";

/// `dense f32[2] [1.0, 2.0]`
std::string dense_text(const Tensor& tensor, int64_t most) {
  std::string text = fmt::format("dense {} [", to_string(TensorType{tensor.dtype(), tensor.shape()}));
  int64_t count = tensor.count();
  if (count > most) return text.substr(0, text.size() - 1).append(kLeftOut);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += element_text(tensor, i);
  }
  return text + "]";
}

std::string constant_text(const Constant& constant, int64_t most) {
  std::string type = to_string(TensorType{constant.data.dtype(), constant.data.shape()});
  switch (constant.form) {
    case Constant::Form::Literal: break;
    case Constant::Form::Splat: {
      std::string value = constant.data.dtype() == DType::F32 ? float_text(static_cast<float>(constant.splat))
                          : is_float(constant.data.dtype())   ? runtime::format_double(constant.splat)
                                                              : std::to_string(static_cast<int64_t>(constant.splat));
      return fmt::format("splat {} : {}", value, type);
    }
    case Constant::Form::Random: {
      bool has_fractions = is_float(constant.data.dtype());
      bool is_usual = has_fractions && constant.low == Constant().low && constant.high == Constant().high;
      auto bound = [=](double value) {
        return has_fractions ? runtime::format_double(value) : std::to_string(static_cast<int64_t>(value));
      };
      std::string range = is_usual ? "" : fmt::format("in [{}, {}] ", bound(constant.low), bound(constant.high));
      return fmt::format("random seed {} {}: {}", constant.seed, range, type);
    }
    case Constant::Form::File: {
      std::string key = constant.key.empty() ? "" : quoted(constant.key) + " ";
      return fmt::format("file {} {}: {}", quoted(constant.file), key, type);
    }
  }
  if (constant.data.count() == 1 && constant.data.shape().empty()) return element_text(constant.data, 0) + " : " + type;
  return dense_text(constant.data, most);
}

std::string ports_text(const Graph& graph, const std::vector<ValueId>& ports) {
  std::string text;
  for (ValueId id : ports) {
    if (!text.empty()) text += ", ";
    text += sigil_name('%', graph.value(id).name) + ": " + to_string(graph.value(id).type);
  }
  return fmt::format("({})", text);
}

std::string attrs_text(const AttrMap& attrs, int64_t most) {
  std::string text;
  for (const auto& [name, value] : attrs) {
    if (!text.empty()) text += ", ";
    const auto* tensor = std::get_if<Tensor>(&value);
    text += name + " = " + (tensor != nullptr ? dense_text(*tensor, most) : to_string(value));
  }
  return text.empty() ? "" : fmt::format(" {{{}}}", text);
}

}  // namespace

std::string quoted(std::string_view text) {
  return support::quoted(text);
}

std::string sigil_name(char sigil, std::string_view name) {
  return sigil + support::written_name(name);
}

std::string print_header(const Graph& graph) {
  return fmt::format("model {}{} -> {} {{\n", sigil_name('@', graph.name), ports_text(graph, graph.inputs()),
                     ports_text(graph, graph.outputs()));
}

std::string print_constants(const Graph& graph, int64_t most) {
  std::string text;
  for (ValueId id : graph.value_ids()) {
    const Value& value = graph.value(id);
    if (value.constant)
      text += fmt::format("  {} = const {}\n", sigil_name('%', value.name), constant_text(*value.constant, most));
  }
  return text;
}

std::string print_node(const Graph& graph, NodeId id, std::string_view indent, const NameOf& result_name,
                       const NameOf& operand_name, int64_t most) {
  const Node& node = graph.node(id);
  std::string results;
  std::string types;
  for (ValueId output : node.outputs) {
    if (!results.empty()) {
      results += ", ";
      types += ", ";
    }
    results += output.is_valid() ? sigil_name('%', result_name(output)) : "_";
    types += output.is_valid() ? to_string(graph.value(output).type) : "_";
  }
  std::string operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i > 0) operands += ", ";
    operands += node.inputs[i].is_valid() ? sigil_name('%', operand_name(node.inputs[i])) : "_";
  }
  std::string pin;
  if (node.pin) {
    pin = " on " + node.pin->device;
    if (node.pin->instance >= 0) pin += fmt::format("[{}]", node.pin->instance);
  }
  return fmt::format("{}{} = {}({}){} : {}{}\n", indent, results, node.op->name, operands, attrs_text(node.attrs, most),
                     types, pin);
}

int64_t most_printed(Elements elements) {
  constexpr int64_t kFew = 16;
  return elements == Elements::All ? INT64_MAX : kFew;
}

std::string note_on_elements(std::string_view text) {
  if (text.find(kLeftOut) == std::string_view::npos) return "";
  return "// Elements are left out where […] stands: `-o FILE` writes a model with all of them.\n";
}

std::string print(const Graph& graph, Elements elements) {
  const int64_t most = most_printed(elements);
  NameOf name_of_value = [&](ValueId id) { return graph.value(id).name; };
  std::string text = print_header(graph) + print_constants(graph, most);
  for (NodeId id : graph.node_ids()) text += print_node(graph, id, "  ", name_of_value, name_of_value, most);
  text += "}\n";
  return elements == Elements::All ? text : note_on_elements(text) + text;
}

}  // namespace collage::ir
