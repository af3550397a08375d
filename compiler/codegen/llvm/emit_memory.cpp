// SPDX-License-Identifier: Apache-2.0
// Loads and stores of elements, which become the nest's number type or come from it.
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/llvm/emitter.h"

namespace collage::codegen {

llvm::Type* Emitter::element_type(Element element, int lanes) {
  switch (element) {
    case Element::F32: return vector_of(b_.getFloatTy(), lanes);
    case Element::F64: return vector_of(b_.getDoubleTy(), lanes);
    default: return vector_of(b_.getIntNTy(static_cast<unsigned>(8 * runtime::size_of(element))), lanes);
  }
}

// The constant part is a separate step, so that neighbours share the rest and it becomes a displacement.
llvm::Value* Emitter::address(int64_t buffer, const Expr& index) {
  llvm::Value* base = pointers_[static_cast<size_t>(buffer)];
  llvm::Type* one = element_type(element_of(buffer), 1);
  if (is_int_const(index)) {
    if (index->imm == 0) return base;
    return b_.CreateConstInBoundsGEP1_64(one, base, static_cast<uint64_t>(index->imm));
  }
  if (index->op == Op::Add && is_int_const(index->args[1])) {
    llvm::Value* whole = b_.CreateInBoundsGEP(one, base, value(index->args[0]));
    return b_.CreateConstInBoundsGEP1_64(one, whole, static_cast<uint64_t>(index->args[1]->imm));
  }
  return b_.CreateInBoundsGEP(one, base, value(index));
}

llvm::Value* Emitter::emit_load(const ExprNode& e) {
  return load_elements(e, element_of(e.imm), address(e.imm, e.args[0]));
}

llvm::Value* Emitter::load_elements(const ExprNode& e, Element element, llvm::Value* from) {
  llvm::Type* type = element_type(element, e.lanes);
  if (e.args.size() == 1) {
    return to_number(annotate(b_.CreateAlignedLoad(type, from, align_of(element)), e.imm), element);
  }
  if (is_byte(element) && !nest_.has_floats() && isa_.lanes != 16) return load_bytes_singly(e, element, from);
  llvm::Value* none = llvm::Constant::getNullValue(type);
  return to_number(annotate(b_.CreateMaskedLoad(type, from, align_of(element), arg(e, 1), none), e.imm), element);
}

// Small integers become floats by way of signed words, for which there are instructions.
llvm::Value* Emitter::to_number(llvm::Value* v, Element from) {
  if (from == nest_.number()) return v;
  llvm::Type* type = number_type(lanes_of(v));
  if (runtime::is_narrow_float(from)) return b_.CreateFPCast(widen(v, from), type);
  if (runtime::is_float(from)) {
    if (nest_.has_floats()) return b_.CreateFPCast(v, type);
    return b_.CreateFPToSI(v, type);
  }
  if (!nest_.has_floats()) return b_.CreateIntCast(v, type, !is_unsigned(from));
  if (runtime::size_of(from) < 4) v = b_.CreateIntCast(v, vector_of(b_.getInt32Ty(), lanes_of(v)), !is_unsigned(from));
  return b_.CreateSIToFP(v, type);
}

llvm::Value* Emitter::element(llvm::Type* type, const ExprNode& e) {
  return b_.CreateInBoundsGEP(type, pointers_[static_cast<size_t>(e.imm)], arg(e, 0));
}

llvm::Value* Emitter::emit_load_int(const ExprNode& e) {
  llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * e.width));
  llvm::Value* loaded = annotate(b_.CreateAlignedLoad(type, element(type, e), llvm::Align(4)), e.imm);
  return b_.CreateSExt(loaded, b_.getInt64Ty());
}

llvm::Value* Emitter::emit_load_as(const ExprNode& e) {
  if (is_byte(e.element) && nest_.number() == Element::F32) {
    return b_.CreateSIToFP(b_.CreateBitCast(emit_load_byte(e), bits_type(e.lanes)), number_type(e.lanes));
  }
  return load_elements(e, e.element, element(element_type(e.element, 1), e));
}

// Expects that integers do not come from floats.
llvm::Value* Emitter::from_number(llvm::Value* v, Element to) {
  if (to == nest_.number()) return v;
  llvm::Type* type = element_type(to, lanes_of(v));
  if (runtime::is_narrow_float(to)) return narrow(v, to);
  if (!runtime::is_float(to)) return b_.CreateIntCast(v, type, true);
  return nest_.has_floats() ? b_.CreateFPCast(v, type) : b_.CreateSIToFP(v, type);
}

// The bits of f16 or bf16 => f32
llvm::Value* Emitter::widen(llvm::Value* bits, Element from) {
  const int lanes = lanes_of(bits);
  if (from == Element::F16) {
    return b_.CreateFPExt(b_.CreateBitCast(bits, vector_of(b_.getHalfTy(), lanes)), vector_of(b_.getFloatTy(), lanes));
  }
  llvm::Value* words = b_.CreateZExt(bits, vector_of(b_.getInt32Ty(), lanes));
  return b_.CreateBitCast(b_.CreateShl(words, 16), vector_of(b_.getFloatTy(), lanes));
}

// f32 => the bits of f16 or bf16, to nearest, ties to even. For bf16 in integers:
//
//     (bits + 0x7fff + lowest bit that is kept) >> 16; a NaN is made a quiet one instead
llvm::Value* Emitter::narrow(llvm::Value* v, Element to) {
  const int lanes = lanes_of(v);
  llvm::Type* halves = vector_of(b_.getInt16Ty(), lanes);
  if (to == Element::F16) return b_.CreateBitCast(b_.CreateFPTrunc(v, vector_of(b_.getHalfTy(), lanes)), halves);
  auto constant = [&](uint32_t number) {
    llvm::Value* seen = hidden(b_.getInt32(number));
    return lanes == 1 ? seen : b_.CreateVectorSplat(static_cast<unsigned>(lanes), seen);
  };
  llvm::Value* words = b_.CreateBitCast(v, vector_of(b_.getInt32Ty(), lanes));
  llvm::Value* lowest = b_.CreateAnd(b_.CreateLShr(words, 16), constant(1));
  llvm::Value* rounded = b_.CreateAdd(b_.CreateAdd(words, constant(0x7fff)), lowest);
  llvm::Value* quiet = b_.CreateOr(words, constant(0x400000));
  llvm::Value* kept = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded);
  llvm::Value* shifted = b_.CreateAShr(kept, 16);
  if (lanes == 1 || lanes == 16) return b_.CreateTrunc(shifted, halves);
  // As narrow_to_bytes: no shuffle, and nothing saturates.
  llvm::Value* low = lanes == 4 ? shifted : part_of(shifted, 0, 4);
  llvm::Value* high = lanes == 4 ? shifted : part_of(shifted, 4, 4);
  return part_of(hidden(b_.CreateIntrinsic(llvm::Intrinsic::x86_sse2_packssdw_128, {}, {low, high})), 0, lanes);
}

// A value out of range is converted as 0; then the bounds take its place. The empty asm hides them, since vectors of
// them would lie in .rodata.
llvm::Value* Emitter::to_element(const Stmt& s) {
  llvm::Value* v = value(s.b);
  llvm::Type* type = element_type(s.element, s.b->lanes);
  if (!s.d) return from_number(v, s.element);
  llvm::Value* limit = value(s.d);
  llvm::Value* zero = llvm::Constant::getNullValue(v->getType());
  llvm::Value* is_high = b_.CreateFCmpOGE(v, limit);
  // Not a negation, whose sign bits would lie there, too.
  llvm::Value* is_low = b_.CreateFCmpOGE(b_.CreateFSub(zero, v), limit);
  llvm::Value* is_number = b_.CreateFCmpORD(v, v);
  llvm::Value* is_inside = b_.CreateAnd(is_number, b_.CreateNot(b_.CreateOr(is_high, is_low)));
  llvm::Value* converted = b_.CreateFPToSI(b_.CreateSelect(is_inside, v, zero), type);
  auto* one = llvm::cast<llvm::IntegerType>(type->getScalarType());
  const unsigned bits = one->getBitWidth();
  auto bound = [&](const llvm::APInt& n) {
    llvm::Value* seen = hidden(llvm::ConstantInt::get(one, n));
    return s.b->lanes == 1 ? seen : b_.CreateVectorSplat(static_cast<unsigned>(s.b->lanes), seen);
  };
  converted = b_.CreateSelect(is_high, bound(llvm::APInt::getSignedMaxValue(bits)), converted);
  return b_.CreateSelect(is_low, bound(llvm::APInt::getSignedMinValue(bits)), converted);
}

llvm::Value* Emitter::emit_load_mask(const ExprNode& e) {
  if (e.lanes == 1) {
    llvm::Value* byte =
        annotate(b_.CreateAlignedLoad(b_.getInt8Ty(), element(b_.getInt8Ty(), e), llvm::Align(1)), e.imm);
    return b_.CreateICmpNE(byte, b_.getInt8(0));
  }
  llvm::Type* type = bytes_type(e.lanes);
  llvm::Value* from = element(b_.getInt8Ty(), e);
  // Without mask registers a mask is a vector of words: bytes become words first, or LLVM needs constants for it.
  if (isa_.lanes != 16) {
    llvm::Value* words = nullptr;
    if (e.args.size() == 1) {
      llvm::Value* loaded = annotate(b_.CreateAlignedLoad(type, from, llvm::Align(1)), e.imm);
      words = hidden(b_.CreateZExt(loaded, bits_type(e.lanes)));
    } else {
      words = load_bytes_singly(e, Element::U8, from);
    }
    return b_.CreateICmpNE(words, llvm::Constant::getNullValue(words->getType()));
  }
  llvm::Value* none = llvm::Constant::getNullValue(type);
  llvm::Value* loaded = nullptr;
  if (e.args.size() == 1) {
    loaded = annotate(b_.CreateAlignedLoad(type, from, llvm::Align(1)), e.imm);
  } else {
    loaded = annotate(b_.CreateMaskedLoad(type, from, llvm::Align(1), arg(e, 1), none), e.imm);
  }
  return b_.CreateICmpNE(loaded, none);
}

llvm::Value* Emitter::emit_splat(const ExprNode& e) {
  llvm::Value* one = arg(e, 0);
  const auto lanes = static_cast<unsigned>(e.lanes);
  if (e.type != Type::Mask || e.lanes == 1 || isa_.lanes == 16) return b_.CreateVectorSplat(lanes, one);
  llvm::Value* words = b_.CreateVectorSplat(lanes, hidden(b_.CreateSExt(one, bits_type())));
  return b_.CreateICmpNE(words, llvm::Constant::getNullValue(words->getType()));
}

llvm::Value* Emitter::emit_gather(const ExprNode& e) {
  llvm::Value* offsets = b_.CreateBitCast(arg(e, 1), bits_type(e.lanes));
  const Element element = element_of(e.imm);
  llvm::Type* type = element_type(element, e.lanes);
  llvm::Value* from = b_.CreateInBoundsGEP(type->getScalarType(), address(e.imm, e.args[0]), offsets);
  llvm::Value* mask = e.args.size() > 2 ? arg(e, 2) : nullptr;
  llvm::Value* none = llvm::Constant::getNullValue(type);
  return to_number(annotate(b_.CreateMaskedGather(type, from, align_of(element), mask, none), e.imm), element);
}

void Emitter::store_elements(const Stmt& s, llvm::Value* v, llvm::Value* to, Element element) {
  if (!s.c) {
    annotate(b_.CreateAlignedStore(v, to, align_of(element)), s.buffer);
  } else {
    annotate(b_.CreateMaskedStore(v, to, align_of(element), value(s.c)), s.buffer);
  }
}

}  // namespace collage::codegen
