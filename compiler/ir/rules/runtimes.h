// SPDX-License-Identifier: Apache-2.0
// The words that rule files write after `runtime` and `lower`: rows of runtimes.def, and every device kind of
// runtime/devices/device_list.def. Adding a device kind changes this table and no other list in the compiler.
//
//     runtime host_jit         => RuntimeKind::HostJit, lowered by LoweringKind::HostJit, Inline or C
//     runtime library "onednn" => RuntimeKind::Library
//     runtime sim              => a device kind: is_device(kind), name_of(kind) == "sim"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collage::ir {

/// What runs the partitions of a backend. Values from FirstDevice on are device kinds, in the order of
/// device_list.def.
enum class RuntimeKind : int {
#define RUNTIME(Id, word, takes) Id,
#include "compiler/ir/rules/runtimes.def"
  FirstDevice
};

/// What runs one match. Values from FirstDevice on are device kinds, as in RuntimeKind.
enum class LoweringKind : int {
#define RUNTIME(Id, word, takes) Id,
#define LOWERING(Id, word, Runtime) Id,
#include "compiler/ir/rules/runtimes.def"
  FirstDevice
};

/// One word after `runtime`.
struct RuntimeWord {
  std::string_view word;
  RuntimeKind kind;
  std::string_view takes;           ///< `name` in `runtime library "name"`; empty: the word stands alone
  bool computes = true;             ///< false: a device that refuses all launches
  std::string_view attribute = "";  ///< of the backend, which the device itself reads; empty: none
};

/// All words after `runtime`: the rows of runtimes.def, then the device kinds.
const std::vector<RuntimeWord>& runtimes();
/// Returns null if there is no such word.
const RuntimeWord* find_runtime(std::string_view word);
/// Those that compute: "`runtime host_jit`, `runtime library \"name\"`, … or `runtime sim`"
std::string list_of_runtimes();

/// All words after `lower`.
std::vector<std::string_view> lowering_words();
std::optional<LoweringKind> find_lowering(std::string_view word);

/// `host_jit`, `sim`
std::string_view name_of(RuntimeKind kind);
/// Returns whether what runs the partitions reads the backend's attribute of this name, as `realtime` of simulated
/// ones.
bool reads_attribute(RuntimeKind kind, std::string_view name);
/// `host_jit`, `inline`, `sim`
std::string_view name_of(LoweringKind kind);

/// True where partitions run on devices that the backend declares; false where they run in host memory.
bool is_device(RuntimeKind kind);
bool is_device(LoweringKind kind);

/// The kind of a rule that names none.
LoweringKind default_lowering(RuntimeKind runtime);
/// True if a rule of a backend with this runtime may say `lower KIND`.
bool runs(RuntimeKind runtime, LoweringKind kind);

}  // namespace collage::ir
