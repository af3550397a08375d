// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/foreign_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "runtime/io/file_bytes.h"

namespace collage::request {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

/// What is looked at: of a file its beginning.
struct Look {
  fs::path path;
  std::string bytes;
  uint64_t size = 0;
  bool is_folder = false;

  bool begins(std::string_view with) const { return bytes.starts_with(with); }
  bool holds(std::string_view text) const { return bytes.find(text) != std::string::npos; }
  bool has_beside(const char* name) const {
    std::error_code error;
    return fs::exists((is_folder ? path : path.parent_path()) / name, error);
  }
};

bool is_zip(const Look& look) {
  return look.begins("PK\x03\x04"sv);
}

/// A pickle of protocol 2 to 5. torch.save wrote one, with a number of its own first, before it wrote zip files.
bool is_pickle(const Look& look) {
  return look.bytes.size() > 2 && look.bytes[0] == '\x80' && look.bytes[1] >= 2 && look.bytes[1] <= 5;
}

/// As torch.save writes it: an entry `NAME/data.pkl`, which is not compressed, comes first.
bool is_torch(const Look& look) {
  return (is_zip(look) && look.holds("data.pkl")) || (is_pickle(look) && look.holds("torch"));
}

bool is_torch_script(const Look& look) {
  return is_torch(look) && (look.holds("__torch__") || look.holds("constants.pkl"));
}

bool is_exported_program(const Look& look) {
  return is_zip(look) && (look.holds("serialized_exported_program.json") || look.holds("archive_format"));
}

bool is_torch_module(const Look& look) {
  return is_torch(look) && look.holds("torch.nn.modules");
}

bool is_keras_zip(const Look& look) {
  return is_zip(look) && (look.holds("model.weights.h5") || (look.holds("metadata.json") && look.holds("config.json")));
}

bool is_hdf5(const Look& look) {
  return look.begins("\x89HDF\r\n\x1a\n"sv);
}

bool is_saved_model_folder(const Look& look) {
  return look.is_folder && (look.has_beside("saved_model.pb") || look.has_beside("saved_model.pbtxt"));
}

/// Field 1 of the message, saved_model_schema_version, is 1; of an ONNX model, ir_version, it is 3 or more.
bool is_saved_model_file(const Look& look) {
  return look.path.filename() == "saved_model.pb" && look.begins("\x08\x01"sv);
}

bool is_tflite(const Look& look) {
  return std::string_view(look.bytes).substr(std::min<size_t>(look.bytes.size(), 4)).starts_with("TFL3");
}

/// The length of a JSON header in eight bytes, then the header.
bool is_safetensors(const Look& look) {
  constexpr size_t kLength = 8;
  if (look.bytes.size() <= kLength || look.bytes[kLength] != '{') return false;
  uint64_t length = 0;
  for (size_t i = kLength; i-- > 0;) length = length << 8U | static_cast<unsigned char>(look.bytes[i]);
  return length <= look.size - kLength;
}

/// A folder as Hugging Face's libraries write it, or weights in one.
bool is_hugging_face(const Look& look) {
  if (!look.is_folder) return is_safetensors(look) && look.has_beside("config.json");
  if (!look.has_beside("config.json")) return false;
  constexpr const char* kWeights[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                      "pytorch_model.bin.index.json"};
  return std::any_of(std::begin(kWeights), std::end(kWeights), [&](const char* name) { return look.has_beside(name); });
}

bool is_gguf(const Look& look) {
  return look.begins("GGUF");
}

/// ir_version, then another field of onnx.ModelProto.
bool is_misnamed_onnx(const Look& look) {
  constexpr std::string_view kNext = "\x12\x1a\x22\x2a\x32\x3a\x42"sv;
  const bool is_onnx = look.bytes.size() > 2 && look.bytes[0] == '\x08' && look.bytes[1] >= 3 && look.bytes[1] < 32 &&
                       kNext.find(look.bytes[2]) != std::string_view::npos;
  return is_onnx && look.path.extension() != ".onnx";
}

struct ForeignKind {
  bool (*is_it)(const Look&);
  std::string_view what;  ///< with its verb
  /// `{in}`: the path; `{out}`: the same with the ending of ONNX; `{folder}`: the folder, or that of the file.
  std::string_view command;
  std::string_view remark;
};

constexpr std::string_view kShape = "in place of 1, 3, 224, 224 stands the shape of its input";
constexpr std::string_view kWeightsAlone =
    "in place of MODULE and NET stands the class of the network, in place of 1, 3, 224, 224 the shape of its input";
constexpr std::string_view kTf2onnx = "the converter comes with `pip install tf2onnx tensorflow`";
constexpr std::string_view kOptimum =
    "it writes model.onnx there; the converter comes with `pip install optimum[onnx]`";

/// The first that holds counts.
constexpr ForeignKind kForeignKinds[] = {
    {is_exported_program, "is a program that torch.export wrote",
     "python3 -c \"import torch; torch.onnx.export(torch.export.load('{in}'), (), '{out}', dynamo=True)\"", ""},
    {is_torch_script, "is a TorchScript model",
     "python3 -c \"import torch; torch.onnx.export(torch.jit.load('{in}'), torch.zeros(1, 3, 224, 224), '{out}', "
     "dynamo=False)\"",
     kShape},
    {is_torch_module, "is a PyTorch module",
     "python3 -c \"import torch; torch.onnx.export(torch.load('{in}', weights_only=False).eval(), "
     "torch.zeros(1, 3, 224, 224), '{out}')\"",
     kShape},
    {is_torch, "holds weights of PyTorch, without their network",
     "python3 -c \"import torch; from MODULE import NET; net = NET(); net.load_state_dict(torch.load('{in}')); "
     "torch.onnx.export(net.eval(), torch.zeros(1, 3, 224, 224), '{out}')\"",
     kWeightsAlone},
    {is_pickle, "is a Python pickle",
     "python3 -c \"import pickle, torch; torch.onnx.export(pickle.load(open('{in}', 'rb')).eval(), "
     "torch.zeros(1, 3, 224, 224), '{out}')\"",
     "this is for a pickled torch.nn.Module"},
    {is_keras_zip, "is a Keras model",
     "python3 -c \"import tensorflow as tf, tf2onnx; tf2onnx.convert.from_keras(tf.keras.models.load_model('{in}'), "
     "output_path='{out}')\"",
     kTf2onnx},
    {is_hdf5, "is an HDF5 file, as Keras writes models",
     "python3 -c \"import tensorflow as tf, tf2onnx; tf2onnx.convert.from_keras(tf.keras.models.load_model('{in}'), "
     "output_path='{out}')\"",
     kTf2onnx},
    {is_saved_model_folder, "is a TensorFlow SavedModel",
     "python3 -m tf2onnx.convert --saved-model {in} --output {out}", kTf2onnx},
    {is_saved_model_file, "is a part of a TensorFlow SavedModel",
     "python3 -m tf2onnx.convert --saved-model {folder} --output {out}", kTf2onnx},
    {is_tflite, "is a TensorFlow Lite model", "python3 -m tf2onnx.convert --tflite {in} --output {out}", kTf2onnx},
    {is_hugging_face, "is a model as Hugging Face's libraries keep it",
     "optimum-cli export onnx --model {folder} {folder}/onnx", kOptimum},
    {is_safetensors, "holds weights as safetensors, without their network",
     "python3 -c \"import torch, safetensors.torch as s; from MODULE import NET; net = NET(); "
     "net.load_state_dict(s.load_file('{in}')); torch.onnx.export(net.eval(), torch.zeros(1, 3, 224, 224), '{out}')\"",
     kWeightsAlone},
    {is_gguf, "is a GGUF file of llama.cpp, whose weights are in formats that ONNX does not have",
     "optimum-cli export onnx --model NAME onnx", "NAME is the model on Hugging Face that the file was made of"},
    {is_misnamed_onnx, "is an ONNX model by its content, and not by its name", "cp {in} {out}", ""},
};

/// Whether a path can stand in a command and in a string of Python as it is.
bool is_plain(const std::string& path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           "/._-+=@,"sv.find(c) != std::string_view::npos;
  });
}

/// Reads much only of archives and pickles: of all others the first bytes say what they are.
Look look_at(const std::string& path) {
  constexpr size_t kFirstBytes = 16;
  constexpr size_t kLooksAt = size_t{1} << 18;
  Look look;
  look.path = path;
  std::error_code error;
  look.is_folder = fs::is_directory(path, error);
  if (look.is_folder) {
    if (!look.path.has_filename()) look.path = look.path.parent_path();  // `saved/`
    return look;
  }
  look.bytes = runtime::beginning_of_file(path, kFirstBytes);
  if (is_zip(look) || is_pickle(look)) look.bytes = runtime::beginning_of_file(path, kLooksAt);
  const uintmax_t size = fs::file_size(path, error);
  look.size = error ? look.bytes.size() : size;
  return look;
}

}  // namespace

std::optional<ForeignModel> find_foreign_model(const std::string& path) {
  const Look look = look_at(path);
  const auto kind = std::find_if(std::begin(kForeignKinds), std::end(kForeignKinds),
                                 [&](const ForeignKind& one) { return one.is_it(look); });
  if (kind == std::end(kForeignKinds)) return std::nullopt;
  const fs::path holder = look.is_folder ? look.path : look.path.parent_path();
  fs::path out = look.is_folder ? look.path : fs::path(look.path).replace_extension();
  out += look.path.extension() == ".onnx" ? ".exported.onnx" : ".onnx";
  const bool plain = is_plain(path);
  const std::string command =
      fmt::format(fmt::runtime(kind->command), fmt::arg("in", plain ? look.path.string() : "FILE"),
                  fmt::arg("out", plain ? out.string() : "model.onnx"),
                  fmt::arg("folder", !plain           ? "FOLDER"
                                     : holder.empty() ? "."
                                                      : holder.string()));
  return ForeignModel{std::string(kind->what), command, std::string(kind->remark)};
}

bool report_foreign_model(const std::string& path, const ForeignModel& model, support::Diagnostics& diags) {
  support::Diagnostic error =
      diags.error_at(support::Code::CannotRead, path, "{}; models are .onnx or .ir files", model.what);
  error.note("the way to ONNX: {}", model.command);
  if (!model.remark.empty()) error.note("{}", model.remark);
  return false;
}

}  // namespace collage::request
