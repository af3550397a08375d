// SPDX-License-Identifier: Apache-2.0
// Loads and stores of elements, which become the nest's number type or come from it.
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

// A value out of range is converted as 0; then the bounds take its place.
llvm::Value* Emitter::to_element(const Stmt& s) {
  llvm::Value* v = value(s.b);
  llvm::Type* type = element_type(s.element, s.b->lanes);
  if (!s.d) return from_number(v, s.element);
  llvm::Value* limit = value(s.d);
  llvm::Value* zero = llvm::Constant::getNullValue(v->getType());
  llvm::Value* is_high = b_.CreateFCmpOGE(v, limit);
  llvm::Value* is_low = b_.CreateFCmpOGE(b_.CreateFNeg(v), limit);
  llvm::Value* is_number = b_.CreateFCmpORD(v, v);
  llvm::Value* is_inside = b_.CreateAnd(is_number, b_.CreateNot(b_.CreateOr(is_high, is_low)));
  llvm::Value* converted = b_.CreateFPToSI(b_.CreateSelect(is_inside, v, zero), type);
  const unsigned bits = type->getScalarSizeInBits();
  const auto bound = [&](const llvm::APInt& n) { return llvm::ConstantInt::get(type, n); };
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
  llvm::Value* none = llvm::Constant::getNullValue(type);
  llvm::Value* loaded = nullptr;
  if (e.args.size() == 1) {
    loaded = annotate(b_.CreateAlignedLoad(type, from, llvm::Align(1)), e.imm);
  } else if (isa_.lanes != 16) {
    loaded = load_bytes_singly(e, Element::U8, from);
  } else {
    loaded = annotate(b_.CreateMaskedLoad(type, from, llvm::Align(1), arg(e, 1), none), e.imm);
  }
  return b_.CreateICmpNE(loaded, llvm::Constant::getNullValue(loaded->getType()));
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
