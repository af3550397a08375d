// SPDX-License-Identifier: Apache-2.0
// Runs LLVM's code generator (no middle end: the nests are final) and links the object to one block. Small code model,
// position-independent.
#include "compiler/codegen/llvm/object_code.h"

#include <fmt/format.h>
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <mutex>
#include <new>

#include "compiler/codegen/llvm/detect_isa.h"
#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/link_code.h"
#include "compiler/codegen/llvm/llvm_headers.h"
#include "runtime/support/check.h"

namespace collage::codegen {
namespace {

using runtime::Result;
using runtime::Status;

constexpr llvm::Reloc::Model kRelocation = llvm::Reloc::PIC_;
constexpr llvm::CodeModel::Model kCodeModel = llvm::CodeModel::Small;
constexpr llvm::CodeGenOptLevel kLevel = llvm::CodeGenOptLevel::Default;

/// COLLAGE_EMITTER is a digest of the sources of this folder and of the nests: a new emitter does not take over the
/// code of an old one.
std::string identity_of(const Isa& isa) {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);  // of the library that is loaded
  return fmt::format(
      "{} cpu {} features {} lanes {} registers {} fma {}\nllvm {}.{}.{} model {} {} level {}\nemitter {}\n",
      isa.triple, isa.cpu, isa.features, isa.lanes, isa.registers, isa.has_fma, major, minor, patch,
      static_cast<int>(kRelocation), static_cast<int>(kCodeModel), static_cast<int>(kLevel), COLLAGE_EMITTER);
}

class LlvmAssembler : public Assembler {
 public:
  LlvmAssembler(Isa isa, std::unique_ptr<llvm::TargetMachine> machine)
      : isa_(std::move(isa)), identity_(identity_of(isa_)), machine_(std::move(machine)) {}

  const Isa& isa() const override { return isa_; }

  const std::string& identity() const override { return identity_; }
  size_t compiled() const override { return compiled_; }

  Result<ObjectCode> assemble(const Nest& nest, const std::string& symbol, bool keep_text) override {
    ++compiled_;
    llvm::LLVMContext context;
    llvm::Module module("kernels", context);
    module.setTargetTriple(isa_.triple);
    module.setDataLayout(machine_->createDataLayout());
    emit(nest, symbol, isa_, module);
    std::string broken;
    llvm::raw_string_ostream broken_stream(broken);
    COLLAGE_CHECK(!llvm::verifyModule(module, &broken_stream), "{}", broken);
    std::string llvm_text;
    std::string asm_text;
    if (keep_text) {
      llvm::raw_string_ostream stream(llvm_text);
      module.print(stream, nullptr);
      llvm::SmallVector<char, 0> text;
      if (!generate(*llvm::CloneModule(module), llvm::CodeGenFileType::AssemblyFile, text)) return cannot_write();
      asm_text.assign(text.begin(), text.end());
    }
    llvm::SmallVector<char, 0> object;
    if (!generate(module, llvm::CodeGenFileType::ObjectFile, object)) return cannot_write();
    Result<ObjectCode> code = link_code({{object.data(), object.size()}, "kernels"}, symbol);
    if (!code) return code;
    code->llvm_text = std::move(llvm_text);
    code->asm_text = std::move(asm_text);
    return code;
  }

 private:
  static Status cannot_write() { return Status::error("LLVM cannot write code for this target"); }

  bool generate(llvm::Module& module, llvm::CodeGenFileType kind, llvm::SmallVector<char, 0>& out) {
    llvm::raw_svector_ostream stream(out);
    llvm::legacy::PassManager passes;
    // Must be first: without target information, passes assume a target without vectors.
    passes.add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
    passes.add(llvm::createEarlyCSEPass());
    if (machine_->addPassesToEmitFile(passes, stream, nullptr, kind)) return false;
    passes.run(module);
    return true;
  }

  Isa isa_;
  std::string identity_;
  size_t compiled_ = 0;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// LLVM ends the process where it has no memory.
void throw_where_llvm_would_abort() {
  static std::once_flag once;
  std::call_once(
      once, [] { llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); }); });
}

}  // namespace

Result<std::unique_ptr<Assembler>> Assembler::create(const std::string& cpu, bool runs_here) {
  throw_where_llvm_would_abort();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  Isa isa = detect_isa(cpu, runs_here);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(isa.triple, error);
  if (target == nullptr) return Status::error(error);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      isa.triple, isa.cpu, isa.features, llvm::TargetOptions(), kRelocation, kCodeModel, kLevel, true));
  if (machine == nullptr) return Status::error("LLVM has no code generator for " + isa.triple);
  return std::unique_ptr<Assembler>(std::make_unique<LlvmAssembler>(std::move(isa), std::move(machine)));
}

}  // namespace collage::codegen
