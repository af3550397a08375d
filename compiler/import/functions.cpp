// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

#include "compiler/import/names.h"
#include "compiler/import/own_names.h"

namespace collage::import {
namespace {

using Attributes = std::map<std::string, onnx::AttributeProto, std::less<>>;

// Field numbers that the installed headers of ONNX may not know yet: they came with IR versions 9 and 10.
constexpr int kNodeOverload = 8;
constexpr int kFunctionOverload = 13;
constexpr int kFunctionDefaults = 11;

/// Returns the contents of each occurrence of a field, a string or a message as bytes, whether or not the installed
/// headers know it.
std::vector<std::string> field_bytes(const google::protobuf::Message& message, int number) {
  const auto& reflection = *message.GetReflection();
  std::vector<std::string> found;
  if (const auto* field = message.GetDescriptor()->FindFieldByNumber(number)) {
    if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i)
        found.push_back(reflection.GetRepeatedMessage(message, field, i).SerializeAsString());
    } else if (reflection.HasField(message, field)) {
      found.push_back(reflection.GetString(message, field));
    }
    return found;
  }
  const auto& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    bool is_wanted = field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (is_wanted) found.push_back(field.length_delimited());
  }
  return found;
}

std::string overload_of(const google::protobuf::Message& message, int number) {
  std::vector<std::string> found = field_bytes(message, number);
  return found.empty() ? "" : found.back();
}

/// The function's attributes in this call: what the call gives, else the default.
std::optional<Attributes> attributes_of(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                                        const std::string& place, support::Diagnostics& diags) {
  Attributes attributes;
  std::vector<std::string> known(function.attribute().begin(), function.attribute().end());
  for (const std::string& bytes : field_bytes(function, kFunctionDefaults)) {
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(bytes)) {
      return diags.error_at(support::Code::BadModel, place, "a default of function `{}` is damaged", function.name());
    }
    known.push_back(attribute.name());
    attributes[attribute.name()] = attribute;
  }
  for (const auto& attribute : call.attribute()) {
    if (std::find(known.begin(), known.end(), attribute.name()) == known.end()) {
      return diags
          .error_at(support::Code::BadAttribute, place, "function `{}` has no attribute `{}`", function.name(),
                    attribute.name())
          .did_you_mean(support::closest(attribute.name(), known));
    }
    attributes[attribute.name()] = attribute;
  }
  return attributes;
}

void give_attributes(onnx::NodeProto& node, const Attributes& attributes);

void give_attributes(onnx::GraphProto& graph, const Attributes& attributes) {
  for (auto& node : *graph.mutable_node()) give_attributes(node, attributes);
}

/// alpha = @k  =>  alpha = 0.5. An attribute that refers to one without a value is left out.
void give_attributes(onnx::NodeProto& node, const Attributes& attributes) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> given;
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.ref_attr_name().empty()) {
      if (attribute.has_g()) give_attributes(*attribute.mutable_g(), attributes);
      for (auto& graph : *attribute.mutable_graphs()) give_attributes(graph, attributes);
      *given.Add() = attribute;
      continue;
    }
    auto found = attributes.find(attribute.ref_attr_name());
    if (found == attributes.end()) continue;
    onnx::AttributeProto& copy = *given.Add();
    copy = found->second;
    copy.set_name(attribute.name());
  }
  node.mutable_attribute()->Swap(&given);
}

NameSet names_read_in(const onnx::FunctionProto& function) {
  NameSet read(function.output().begin(), function.output().end());
  for (const auto& node : function.node()) {
    NameSet inner = names_read(node);
    read.insert(inner.begin(), inner.end());
  }
  return read;
}

/// Chooses the name that each value of the function has in the model. `read`: names that the function reads.
std::optional<NewNames> names_in_model(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                                       const NameSet& read, const std::string& place, Emitter& emitter) {
  NewNames names;
  auto define = [&](const std::string& name, const std::string& new_name) -> bool {
    if (names.emplace(name, new_name).second) return true;
    return emitter.diags().error_at(support::Code::Redefinition, place, "function `{}` defines `{}` twice",
                                    function.name(), name);
  };
  for (int i = 0; i < function.input_size(); ++i) {
    if (!define(function.input(i), i < call.input_size() ? call.input(i) : "")) return std::nullopt;
  }
  std::map<std::string, std::string, std::less<>> results;
  for (int i = 0; i < call.output_size(); ++i) {
    if (!call.output(i).empty()) results.emplace(function.output(i), call.output(i));
  }
  for (const auto& node : function.node()) {
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      auto result = results.find(output);
      std::string new_name = result != results.end()
                                 ? result->second
                                 : emitter.take_name(label_of(call) + "/" + output, read.contains(output));
      if (!define(output, new_name)) return std::nullopt;
    }
  }
  return names;
}

}  // namespace

std::string domain_of(const std::string& written) {
  return written == "ai.onnx" ? "" : written;
}

bool FunctionTable::add(const onnx::ModelProto& model, const std::string& file, support::Diagnostics& diags) {
  for (const auto& function : model.functions()) {
    std::string place = fmt::format("{}: function '{}'", file, function.name());
    if (!check_names(function, place, diags)) return false;
    Key key{domain_of(function.domain()), function.name(), overload_of(function, kFunctionOverload)};
    if (functions_.emplace(key, &function).second) continue;
    return diags.error_at(support::Code::Redefinition, place, "it is defined twice");
  }
  return true;
}

const onnx::FunctionProto* FunctionTable::find(const onnx::NodeProto& call) const {
  if (functions_.empty()) return nullptr;
  auto it = functions_.find({domain_of(call.domain()), call.op_type(), overload_of(call, kNodeOverload)});
  return it == functions_.end() ? nullptr : it->second;
}

std::optional<std::vector<onnx::NodeProto>> unfold_call(const onnx::NodeProto& call,
                                                        const onnx::FunctionProto& function, const std::string& place,
                                                        Emitter& emitter) {
  support::Diagnostics& diags = emitter.diags();
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    return diags.error_at(support::Code::BadModel, place,
                          "function `{}` has {} operands and {} results, found {} and {}", function.name(),
                          function.input_size(), function.output_size(), call.input_size(), call.output_size());
  }
  std::optional<Attributes> attributes = attributes_of(call, function, place, diags);
  if (!attributes) return std::nullopt;
  const NameSet read = names_read_in(function);
  std::optional<NewNames> names = names_in_model(call, function, read, place, emitter);
  if (!names) return std::nullopt;
  const auto own_name = [&](const std::string& name) {
    for (;;) {
      std::string own = emitter.take_name(label_of(call) + "/" + name, read.contains(name));
      if (!names->contains(own)) return own;
    }
  };
  std::vector<onnx::NodeProto> nodes(function.node().begin(), function.node().end());
  for (onnx::NodeProto& node : nodes) {
    node.set_name(label_of(call) + "/" + label_of(node));
    // A name in a body must hide neither an operand of the call nor a value beside it.
    rename_bodies(node, own_name);
    for (const std::string& input : node.input()) {
      if (input.empty() || names->contains(input)) continue;
      return diags.error_at(support::Code::UndefinedValue, place, "function `{}` reads `{}`, which it does not define",
                            function.name(), input);
    }
    rename_operands(node, *names);
    for (std::string& output : *node.mutable_output()) rename(output, *names);
    give_attributes(node, *attributes);
  }
  // A result that is an operand, or that the call takes twice.
  for (int i = 0; i < call.output_size(); ++i) {
    auto value = names->find(function.output(i));
    if (call.output(i).empty() || (value != names->end() && value->second == call.output(i))) continue;
    if (value == names->end()) {
      return diags.error_at(support::Code::UndefinedValue, place, "function `{}` gives `{}`, which it does not define",
                            function.name(), function.output(i));
    }
    onnx::NodeProto& copy = nodes.emplace_back();
    copy.set_op_type("Identity");
    copy.set_name(label_of(call));
    copy.add_input(value->second);
    copy.add_output(call.output(i));
  }
  return nodes;
}

}  // namespace collage::import
