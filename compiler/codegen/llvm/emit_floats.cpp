// SPDX-License-Identifier: Apache-2.0
// Whole numbers, and conversions from and to f16 and bf16. For what a processor has no instruction LLVM would call a
// function of its runtime library, or of the C library; here it is arithmetic, whose results are those of the
// instructions.
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/llvm/emitter.h"

namespace collage::codegen {

// FRound (to nearest, ties to even), FFloor, FCeil. Without the instruction: a sum with 2^23 (f64: 2^52) has no room
// for a fraction, so that
//
//     near = |v| + 2^23 - 2^23;   floor: near - 1 where it is above v;   ceil: near + 1 where it is below
//
// with the sign of v, so that -0.5 becomes -0. Numbers from 2^23 on are whole; they and NaN stay as they are.
llvm::Value* Emitter::to_whole(Op how, llvm::Value* v) {
  if (isa_.has_rounding) {
    const auto instruction = how == Op::FRound   ? llvm::Intrinsic::roundeven
                             : how == Op::FFloor ? llvm::Intrinsic::floor
                                                 : llvm::Intrinsic::ceil;
    return b_.CreateUnaryIntrinsic(instruction, v);
  }
  const bool is_f64 = v->getType()->getScalarType()->isDoubleTy();
  llvm::Value* whole = llvm::ConstantFP::get(v->getType(), is_f64 ? 0x1p52 : 0x1p23);
  llvm::Value* one = llvm::ConstantFP::get(v->getType(), 1);
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  llvm::Value* near = b_.CreateFSub(b_.CreateFAdd(magnitude, whole), whole);
  near = b_.CreateCopySign(near, v);
  if (how == Op::FFloor) near = b_.CreateSelect(b_.CreateFCmpOGT(near, v), b_.CreateFSub(near, one), near);
  if (how == Op::FCeil) near = b_.CreateSelect(b_.CreateFCmpOLT(near, v), b_.CreateFAdd(near, one), near);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, whole), b_.CreateCopySign(near, v), v);
}

// The bits of f16 or bf16 => f32
llvm::Value* Emitter::widen(llvm::Value* bits, Element from) {
  const int lanes = lanes_of(bits);
  llvm::Type* floats = vector_of(b_.getFloatTy(), lanes);
  if (from == Element::F16) {
    if (!isa_.has_f16) return widen_f16(bits);
    return b_.CreateFPExt(b_.CreateBitCast(bits, vector_of(b_.getHalfTy(), lanes)), floats);
  }
  llvm::Value* words = b_.CreateZExt(bits, vector_of(b_.getInt32Ty(), lanes));
  return b_.CreateBitCast(b_.CreateShl(words, 16), floats);
}

// Exponent and fraction are moved to where f32 has them, and the exponent is corrected by a product, which also makes
// numbers of denormals. Infinities and NaN get the largest exponent; a NaN becomes a quiet one.
llvm::Value* Emitter::widen_f16(llvm::Value* bits) {
  llvm::Type* type = vector_of(b_.getInt32Ty(), lanes_of(bits));
  llvm::Type* floats = vector_of(b_.getFloatTy(), lanes_of(bits));
  const auto number = [&](uint32_t n) { return llvm::ConstantInt::get(type, n); };
  llvm::Value* words = b_.CreateZExt(bits, type);
  llvm::Value* magnitude = b_.CreateAnd(words, number(0x7fff));
  llvm::Value* moved = b_.CreateShl(magnitude, 13);
  llvm::Value* finite = b_.CreateFMul(b_.CreateBitCast(moved, floats), llvm::ConstantFP::get(floats, 0x1p112));
  llvm::Value* infinite = b_.CreateOr(moved, number(0x7f800000));
  llvm::Value* quiet = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(0x7c00)), number(0x400000), number(0));
  llvm::Value* wide = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(0x7c00)), b_.CreateOr(infinite, quiet),
                                      b_.CreateBitCast(finite, type));
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(words, number(0x8000)), 16);
  return b_.CreateBitCast(b_.CreateOr(wide, sign), floats);
}

// f32 => the bits of f16 or bf16, to nearest, ties to even. Expects that f16 does not come from f64.
llvm::Value* Emitter::narrow(llvm::Value* v, Element to) {
  if (to == Element::BF16) return to_bf16(v);
  if (!isa_.has_f16) return to_f16(v);
  const int lanes = lanes_of(v);
  return b_.CreateBitCast(b_.CreateFPTrunc(v, vector_of(b_.getHalfTy(), lanes)), vector_of(b_.getInt16Ty(), lanes));
}

// By magnitude:
//
//     NaN                    0x7e00, and the upper bits of its fraction
//     from 2^16 on           infinity
//     from 2^-14 on          (bits - (112 << 23) + 0xfff + lowest bit that is kept) >> 13, which may become infinity
//     below                  the sum with 1/2 has the denormal's fraction as its lowest bits, rounded
llvm::Value* Emitter::to_f16(llvm::Value* v) {
  llvm::Type* type = vector_of(b_.getInt32Ty(), lanes_of(v));
  llvm::Type* floats = v->getType();
  const auto number = [&](uint32_t n) { return llvm::ConstantInt::get(type, n); };
  llvm::Value* words = b_.CreateBitCast(v, type);
  llvm::Value* magnitude = b_.CreateAnd(words, number(0x7fffffff));
  llvm::Value* nan = b_.CreateOr(b_.CreateAnd(b_.CreateLShr(words, 13), number(0x3ff)), number(0x7e00));
  llvm::Value* lowest = b_.CreateAnd(b_.CreateLShr(words, 13), number(1));
  llvm::Value* rounded = b_.CreateAdd(b_.CreateSub(magnitude, number((112U << 23) - 0xfff)), lowest);
  llvm::Value* half = llvm::ConstantFP::get(floats, 0.5);
  llvm::Value* sum = b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(magnitude, floats), half), type);
  llvm::Value* small = b_.CreateSub(sum, b_.CreateBitCast(half, type));
  const auto below = [&](uint32_t bound) { return b_.CreateICmpULT(magnitude, number(bound)); };
  llvm::Value* finite = b_.CreateSelect(below(113U << 23), small, b_.CreateLShr(rounded, 13));
  llvm::Value* numeric = b_.CreateSelect(below(143U << 23), finite, number(0x7c00));
  llvm::Value* kept = b_.CreateSelect(b_.CreateFCmpUNO(v, v), nan, numeric);
  llvm::Value* sign = b_.CreateAnd(b_.CreateLShr(words, 16), number(0x8000));
  return b_.CreateTrunc(b_.CreateOr(kept, sign), vector_of(b_.getInt16Ty(), lanes_of(v)));
}

// (bits + 0x7fff + lowest bit that is kept) >> 16; a NaN is made a quiet one instead
llvm::Value* Emitter::to_bf16(llvm::Value* v) {
  llvm::Type* type = vector_of(b_.getInt32Ty(), lanes_of(v));
  const auto number = [&](uint32_t n) { return llvm::ConstantInt::get(type, n); };
  llvm::Value* words = b_.CreateBitCast(v, type);
  llvm::Value* lowest = b_.CreateAnd(b_.CreateLShr(words, 16), number(1));
  llvm::Value* rounded = b_.CreateAdd(b_.CreateAdd(words, number(0x7fff)), lowest);
  llvm::Value* quiet = b_.CreateOr(words, number(0x400000));
  return low_halves(b_.CreateAShr(b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded), 16));
}

// The low halves of words that hold 16-bit numbers. As in narrow_to_bytes: packing instructions for narrow vectors, and
// nothing saturates.
llvm::Value* Emitter::low_halves(llvm::Value* words) {
  const int lanes = lanes_of(words);
  if (lanes == 1 || lanes == 16) return b_.CreateTrunc(words, vector_of(b_.getInt16Ty(), lanes));
  llvm::Value* low = lanes == 4 ? words : part_of(words, 0, 4);
  llvm::Value* high = lanes == 4 ? words : part_of(words, 4, 4);
  return part_of(b_.CreateIntrinsic(llvm::Intrinsic::x86_sse2_packssdw_128, {}, {low, high}), 0, lanes);
}

}  // namespace collage::codegen
