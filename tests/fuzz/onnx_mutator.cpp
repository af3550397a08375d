// SPDX-License-Identifier: Apache-2.0
// Mutates ONNX models as what they are, so that most of them still parse: libFuzzer's own mutations of bytes rarely get
// past the protobuf reader.
//
//   a field anywhere in the model  =>  another number, a name or an operator from elsewhere, a copy of a message of the
//                                      same type, an element more or less, elements in another order, or nothing
//
// One mutation in eight is of the bytes. Linked in the preset `fuzz` only.
#include <google/protobuf/descriptor.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/ops/op_def.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace collage::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class OnnxMutator {
 public:
  OnnxMutator(onnx::ModelProto& model, unsigned seed) : model_(model), random_(seed) { gather(model_, 0); }

  /// One to four changes.
  void run() {
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      Message& message = *messages_[below(messages_.size())];
      const auto* descriptor = message.GetDescriptor();
      if (descriptor->field_count() == 0) continue;
      std::vector<const FieldDescriptor*> fields;
      message.GetReflection()->ListFields(message, &fields);
      // Mostly what is there already.
      const FieldDescriptor* field = fields.empty() || below(4) == 0
                                         ? descriptor->field(static_cast<int>(below(descriptor->field_count())))
                                         : fields[below(fields.size())];
      change(message, *field);
      // Pointers into what was removed are gone.
      messages_.clear();
      names_.clear();
      gather(model_, 0);
    }
  }

 private:
  static constexpr int kMostDepth = 40;

  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void gather(Message& message, int depth) {
    messages_.push_back(&message);
    if (depth > kMostDepth) return;
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          gather(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                      : *reflection.MutableMessage(&message, field),
                 depth + 1);
        } else if (field->type() == FieldDescriptor::TYPE_STRING) {
          names_.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                                : reflection.GetString(message, field));
        }
      }
    }
  }

  void change(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    if (!field.is_repeated()) {
      if (below(6) == 0) return reflection.ClearField(&message, &field);
      return set(message, field, -1);
    }
    const int count = reflection.FieldSize(message, &field);
    switch (below(count == 0 ? 1 : 5)) {
      case 0: return append(message, field);
      case 1: return reflection.RemoveLast(&message, &field);
      case 2: {
        const auto a = static_cast<int>(below(count)), b = static_cast<int>(below(count));
        return reflection.SwapElements(&message, &field, a, b);
      }
      case 3: {
        reflection.SwapElements(&message, &field, static_cast<int>(below(count)), count - 1);
        return reflection.RemoveLast(&message, &field);
      }
      default: return set(message, field, static_cast<int>(below(count)));
    }
  }

  void append(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: return reflection.AddInt32(&message, &field, number());
      case FieldDescriptor::CPPTYPE_INT64: return reflection.AddInt64(&message, &field, number());
      case FieldDescriptor::CPPTYPE_UINT64: return reflection.AddUInt64(&message, &field, number());
      case FieldDescriptor::CPPTYPE_FLOAT: return reflection.AddFloat(&message, &field, real());
      case FieldDescriptor::CPPTYPE_DOUBLE: return reflection.AddDouble(&message, &field, real());
      case FieldDescriptor::CPPTYPE_STRING: return reflection.AddString(&message, &field, text(""));
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const std::unique_ptr<Message> copy = copy_of_one(field.message_type());
        Message* added = reflection.AddMessage(&message, &field);
        if (copy != nullptr) added->CopyFrom(*copy);
        return;
      }
      default: return;
    }
  }

  /// Element `i`, or the field itself if `i` is negative.
  void set(Message& message, const FieldDescriptor& field, int i) {
    const Reflection& reflection = *message.GetReflection();
    const bool one = i < 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return one ? reflection.SetInt32(&message, &field, number())
                   : reflection.SetRepeatedInt32(&message, &field, i, number());
      case FieldDescriptor::CPPTYPE_INT64:
        return one ? reflection.SetInt64(&message, &field, number())
                   : reflection.SetRepeatedInt64(&message, &field, i, number());
      case FieldDescriptor::CPPTYPE_UINT64:
        return one ? reflection.SetUInt64(&message, &field, number())
                   : reflection.SetRepeatedUInt64(&message, &field, i, number());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return one ? reflection.SetFloat(&message, &field, real())
                   : reflection.SetRepeatedFloat(&message, &field, i, real());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return one ? reflection.SetDouble(&message, &field, real())
                   : reflection.SetRepeatedDouble(&message, &field, i, real());
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* values = field.enum_type();
        const auto* value = values->value(static_cast<int>(below(values->value_count())));
        return one ? reflection.SetEnum(&message, &field, value)
                   : reflection.SetRepeatedEnum(&message, &field, i, value);
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string old =
            one ? reflection.GetString(message, &field) : reflection.GetRepeatedString(message, &field, i);
        const std::string fresh = field.name() == "op_type" && below(2) == 0 ? some_op() : text(old);
        return one ? reflection.SetString(&message, &field, fresh)
                   : reflection.SetRepeatedString(&message, &field, i, fresh);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const std::unique_ptr<Message> copy = copy_of_one(field.message_type());
        Message* target =
            one ? reflection.MutableMessage(&message, &field) : reflection.MutableRepeatedMessage(&message, &field, i);
        if (copy != nullptr) target->CopyFrom(*copy);
        return;
      }
      default: return;
    }
  }

  /// A copy of a message of this type, of which the model has one. Made before the field is changed: that may end
  /// others.
  std::unique_ptr<Message> copy_of_one(const google::protobuf::Descriptor* type) {
    std::vector<const Message*> alike;
    for (const Message* message : messages_) {
      if (message->GetDescriptor() == type) alike.push_back(message);
    }
    if (alike.empty()) return nullptr;
    const Message& from = *alike[below(alike.size())];
    std::unique_ptr<Message> copy(from.New());
    copy->CopyFrom(from);
    return copy;
  }

  int32_t number() {
    static constexpr int32_t kSpecial[] = {0,  1,  -1, 2,   3,    4,     7,         8,        10,
                                           11, 16, 64, 255, 1000, 65536, INT32_MAX, INT32_MIN};
    if (below(2) == 0) return kSpecial[below(std::size(kSpecial))];
    return below(2) == 0 ? static_cast<int32_t>(below(30)) : static_cast<int32_t>(random_());
  }

  float real() {
    static constexpr float kSpecial[] = {0, -0.0F, 1, -1, 0.5F, 1e-5F, 1e30F, -1e30F, 1e-42F, 3};
    return below(8) == 0 ? std::numeric_limits<float>::quiet_NaN() : kSpecial[below(std::size(kSpecial))];
  }

  std::string some_op() {
    static const std::vector<std::string> ops = ir::op_names();
    return ops.empty() ? "Relu" : ops[below(ops.size())];
  }

  std::string text(const std::string& old) {
    if (below(2) == 0 && !names_.empty()) return names_[below(names_.size())];
    std::string fresh = old;
    fresh.resize(old.size() + 16);
    fresh.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(fresh.data()), old.size(), fresh.size()));
    return fresh;
  }

  onnx::ModelProto& model_;
  std::mt19937 random_;
  std::vector<Message*> messages_;
  std::vector<std::string> names_;
};

}  // namespace
}  // namespace collage::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  onnx::ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  collage::fuzz::OnnxMutator(model, seed).run();
  std::string bytes;
  model.SerializePartialToString(&bytes);
  if (bytes.empty() || bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
