// SPDX-License-Identifier: Apache-2.0
// An entry is where the kernel begins, and the bytes: `code 0\n<machine code and constants>`
#include "compiler/codegen/llvm/cached_assembler.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace collage::codegen {
namespace {

using runtime::Result;

constexpr std::string_view kCode = "code ";

std::string to_entry(const ObjectCode& code) {
  std::string entry = fmt::format("{}{}\n", kCode, code.entry);
  return entry.append(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
}

/// Returns nullopt for an entry of another form.
std::optional<ObjectCode> from_entry(std::string_view entry) {
  const size_t end = entry.find('\n');
  if (!entry.starts_with(kCode) || end == std::string_view::npos) return std::nullopt;
  ObjectCode code;
  const auto [stop, error] = std::from_chars(entry.data() + kCode.size(), entry.data() + end, code.entry);
  if (error != std::errc() || stop != entry.data() + end) return std::nullopt;
  const std::string_view text = entry.substr(end + 1);
  if (code.entry >= text.size()) return std::nullopt;
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  code.bytes.assign(bytes, bytes + text.size());
  return code;
}

class CachedAssembler : public Assembler {
 public:
  CachedAssembler(std::unique_ptr<Assembler> assembler, support::FileCache& cache)
      : assembler_(std::move(assembler)), cache_(cache) {}

  const Isa& isa() const override { return assembler_->isa(); }
  const std::string& identity() const override { return assembler_->identity(); }
  size_t compiled() const override { return assembler_->compiled(); }
  size_t found() const override { return found_; }

  Result<ObjectCode> assemble(const Nest& nest, const std::string& symbol, bool keep_text) override {
    if (keep_text) return assembler_->assemble(nest, symbol, keep_text);
    const std::string key = identity() + to_string(nest);
    if (const std::optional<std::string> entry = cache_.find(key)) {
      if (std::optional<ObjectCode> known = from_entry(*entry)) {
        ++found_;
        return std::move(*known);
      }
    }
    Result<ObjectCode> made = assembler_->assemble(nest, symbol, keep_text);
    if (made) cache_.keep(key, to_entry(*made));
    return made;
  }

 private:
  std::unique_ptr<Assembler> assembler_;
  support::FileCache& cache_;
  size_t found_ = 0;
};

}  // namespace

std::unique_ptr<Assembler> cached(std::unique_ptr<Assembler> assembler, support::FileCache& cache) {
  return std::make_unique<CachedAssembler>(std::move(assembler), cache);
}

}  // namespace collage::codegen
