// SPDX-License-Identifier: Apache-2.0
// Bytes: 32-bit patterns in registers, and products of them.
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

#include "compiler/codegen/llvm/emitter.h"

namespace collage::codegen {

llvm::Value* Emitter::emit_load_byte(const ExprNode& e) {
  llvm::Type* type = e.lanes == 1 ? static_cast<llvm::Type*>(b_.getInt8Ty()) : bytes_type(e.lanes);
  llvm::Value* from = element(b_.getInt8Ty(), e);
  llvm::Value* loaded = nullptr;
  if (e.args.size() == 1) {
    loaded = annotate(b_.CreateAlignedLoad(type, from, llvm::Align(1)), e.imm);
  } else if (e.lanes != 16) {
    return from_bits(load_bytes_singly(e, e.element, from), e.lanes);
  } else {
    llvm::Value* none = llvm::Constant::getNullValue(type);
    loaded = annotate(b_.CreateMaskedLoad(type, from, llvm::Align(1), arg(e, 1), none), e.imm);
  }
  llvm::Value* wide =
      e.element == Element::I8 ? b_.CreateSExt(loaded, bits_type(e.lanes)) : b_.CreateZExt(loaded, bits_type(e.lanes));
  return from_bits(wide, e.lanes);
}

// Lanes that the mask excludes read the buffer's first byte: no branches.
llvm::Value* Emitter::load_bytes_singly(const ExprNode& e, Element stored, llvm::Value* from) {
  llvm::Value* mask = arg(e, 1);
  llvm::Value* none = llvm::Constant::getNullValue(bits_type(e.lanes));
  llvm::Value* wide = none;
  for (int lane = 0; lane < e.lanes; ++lane) {
    llvm::Value* own = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), from, static_cast<uint64_t>(lane));
    llvm::Value* is_read = b_.CreateExtractElement(mask, static_cast<uint64_t>(lane));
    llvm::Value* at = b_.CreateSelect(is_read, own, pointers_[static_cast<size_t>(e.imm)]);
    llvm::Value* byte = annotate(b_.CreateAlignedLoad(b_.getInt8Ty(), at, llvm::Align(1)), e.imm);
    llvm::Value* word = stored == Element::I8 ? b_.CreateSExt(byte, bits_type()) : b_.CreateZExt(byte, bits_type());
    wide = b_.CreateInsertElement(wide, word, static_cast<uint64_t>(lane));
  }
  return b_.CreateSelect(mask, wide, none);
}

llvm::Value* Emitter::part_of(llvm::Value* v, int first, int lanes) {
  std::vector<int> picked(static_cast<size_t>(lanes));
  std::iota(picked.begin(), picked.end(), first);
  return b_.CreateShuffleVector(v, picked);
}

// Bytes of patterns in their range. The packing instructions of narrow vectors saturate, which changes nothing.
llvm::Value* Emitter::narrow_to_bytes(llvm::Value* words, int lanes, Element element) {
  if (lanes == 1) return b_.CreateTrunc(words, b_.getInt8Ty());
  if (lanes == 16) return b_.CreateTrunc(words, bytes_type(lanes));
  llvm::Value* low = lanes == 4 ? words : part_of(words, 0, 4);
  llvm::Value* high = lanes == 4 ? words : part_of(words, 4, 4);
  llvm::Value* pairs = b_.CreateIntrinsic(llvm::Intrinsic::x86_sse2_packssdw_128, {}, {low, high});
  const auto pack =
      element == Element::I8 ? llvm::Intrinsic::x86_sse2_packsswb_128 : llvm::Intrinsic::x86_sse2_packuswb_128;
  return part_of(b_.CreateIntrinsic(pack, {}, {pairs, pairs}), 0, lanes);
}

llvm::Type* Emitter::halves_type(int lanes) {
  return llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes));
}

// Without the instruction: products of the even and of the odd bytes, as words, whose pairs are summed in 32 bits. No
// step saturates.
llvm::Value* Emitter::emit_dot4(const ExprNode& e) {
  llvm::Value* sum = bits(e, 0);
  llvm::Value* a = bits(e, 1);
  llvm::Value* b = bits(e, 2);
  if (isa_.has_vnni && e.lanes >= 8) {
    const auto dot =
        e.lanes == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
    return from_bits(b_.CreateIntrinsic(dot, {}, {sum, a, b}), e.lanes);
  }
  llvm::Type* halves = halves_type(e.lanes);
  llvm::Value* a_even = b_.CreateBitCast(b_.CreateAnd(a, bits(e, 3)), halves);
  llvm::Value* a_odd = b_.CreateLShr(b_.CreateBitCast(a, halves), uint64_t{8});
  llvm::Value* b_halves = b_.CreateBitCast(b, halves);
  llvm::Value* b_even = b_.CreateAShr(b_.CreateShl(b_halves, uint64_t{8}), uint64_t{8});
  llvm::Value* b_odd = b_.CreateAShr(b_halves, uint64_t{8});
  const auto multiply = e.lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                        : e.lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                       : llvm::Intrinsic::x86_sse2_pmadd_wd;
  llvm::Value* evens = b_.CreateIntrinsic(multiply, {}, {a_even, b_even});
  llvm::Value* odds = b_.CreateIntrinsic(multiply, {}, {a_odd, b_odd});
  return from_bits(b_.CreateAdd(sum, b_.CreateAdd(evens, odds)), e.lanes);
}

llvm::Value* Emitter::emit_round_scaled(const ExprNode& e) {
  llvm::Type* type = element_type(Element::F64, e.lanes);
  llvm::Value* product = b_.CreateFMul(b_.CreateSIToFP(bits(e, 0), type), b_.CreateFPExt(arg(e, 1), type));
  return b_.CreateFPTrunc(to_whole(Op::FRound, product), number_type(e.lanes));
}

// The first bytes of numbers.
llvm::Value* Emitter::first_bytes(llvm::Value* numbers, int count) {
  const int bytes = lanes_of(numbers) * static_cast<int>(nest_.number_bytes());
  llvm::Value* all = b_.CreateBitCast(numbers, bytes_type(bytes));
  if (bytes == count) return all;
  std::vector<int> first(static_cast<size_t>(count));
  std::iota(first.begin(), first.end(), 0);
  return b_.CreateShuffleVector(all, first);
}

}  // namespace collage::codegen
