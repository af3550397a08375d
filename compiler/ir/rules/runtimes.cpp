// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/runtimes.h"

namespace collage::ir {
namespace {

struct LoweringWord {
  std::string_view word;
  LoweringKind kind;
  RuntimeKind runtime;  ///< whose rules may say it
};

template <typename Kind>
Kind device_kind(size_t index) {
  return static_cast<Kind>(static_cast<int>(Kind::FirstDevice) + static_cast<int>(index));
}

struct DeviceWord {
  std::string_view word;
  bool computes;
  std::string_view attribute;
};

std::vector<DeviceWord> device_words() {
  return {
#define COLLAGE_DEVICE(row, factory, computes, attribute) {#row, computes, attribute},
#include "runtime/devices/device_list.def"
#undef COLLAGE_DEVICE
  };
}

std::vector<RuntimeWord> make_runtimes() {
  std::vector<RuntimeWord> rows = {
#define RUNTIME(Id, word, takes) {#word, RuntimeKind::Id, takes},
#include "compiler/ir/rules/runtimes.def"
  };
  std::vector<DeviceWord> devices = device_words();
  for (size_t i = 0; i < devices.size(); ++i)
    rows.push_back({devices[i].word, device_kind<RuntimeKind>(i), "", devices[i].computes, devices[i].attribute});
  return rows;
}

/// Sorted by kind, so that a kind is an index.
std::vector<LoweringWord> make_lowerings() {
  std::vector<LoweringWord> rows = {
#define RUNTIME(Id, word, takes) {#word, LoweringKind::Id, RuntimeKind::Id},
#define LOWERING(Id, word, Runtime) {#word, LoweringKind::Id, RuntimeKind::Runtime},
#include "compiler/ir/rules/runtimes.def"
  };
  std::vector<DeviceWord> devices = device_words();
  for (size_t i = 0; i < devices.size(); ++i)
    rows.push_back({devices[i].word, device_kind<LoweringKind>(i), device_kind<RuntimeKind>(i)});
  return rows;
}

const std::vector<LoweringWord>& lowerings() {
  static const std::vector<LoweringWord> kRows = make_lowerings();
  return kRows;
}

}  // namespace

const std::vector<RuntimeWord>& runtimes() {
  static const std::vector<RuntimeWord> kRows = make_runtimes();
  return kRows;
}

const RuntimeWord* find_runtime(std::string_view word) {
  for (const RuntimeWord& row : runtimes()) {
    if (row.word == word) return &row;
  }
  return nullptr;
}

std::string list_of_runtimes() {
  std::vector<RuntimeWord> listed = runtimes();
  std::erase_if(listed, [](const RuntimeWord& row) { return !row.computes; });
  std::string text;
  for (size_t i = 0; i < listed.size(); ++i) {
    text += i == 0 ? "" : i + 1 == listed.size() ? " or " : ", ";
    text += "`runtime " + std::string(listed[i].word);
    text += listed[i].takes.empty() ? "`" : " \"" + std::string(listed[i].takes) + "\"`";
  }
  return text;
}

std::vector<std::string_view> lowering_words() {
  std::vector<std::string_view> words;
  for (const LoweringWord& row : lowerings()) words.push_back(row.word);
  return words;
}

std::optional<LoweringKind> find_lowering(std::string_view word) {
  for (const LoweringWord& row : lowerings()) {
    if (row.word == word) return row.kind;
  }
  return std::nullopt;
}

std::string_view name_of(RuntimeKind kind) {
  return runtimes()[static_cast<size_t>(kind)].word;
}

bool reads_attribute(RuntimeKind kind, std::string_view name) {
  return !name.empty() && runtimes()[static_cast<size_t>(kind)].attribute == name;
}

std::string_view name_of(LoweringKind kind) {
  return lowerings()[static_cast<size_t>(kind)].word;
}

bool is_device(RuntimeKind kind) {
  return kind >= RuntimeKind::FirstDevice;
}

bool is_device(LoweringKind kind) {
  return kind >= LoweringKind::FirstDevice;
}

LoweringKind default_lowering(RuntimeKind runtime) {
  return *find_lowering(name_of(runtime));
}

bool runs(RuntimeKind runtime, LoweringKind kind) {
  return lowerings()[static_cast<size_t>(kind)].runtime == runtime;
}

}  // namespace collage::ir
