// SPDX-License-Identifier: Apache-2.0
// Index arithmetic, and operations on vectors.
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

#include "compiler/codegen/llvm/emitter.h"
#include "runtime/support/check.h"

namespace collage::codegen {

llvm::Value* Emitter::value(const Expr& e) {
  if (e->op == Op::IntConst) return b_.getInt64(static_cast<uint64_t>(e->imm));
  if (e->op == Op::Var) {
    auto slot = static_cast<size_t>(e->imm);
    if (slots_[slot] != nullptr) return b_.CreateLoad(slots_[slot]->getAllocatedType(), slots_[slot]);
    COLLAGE_CHECK(values_[slot] != nullptr, "variable {} is used before its definition", nest_.variables()[slot].name);
    return values_[slot];
  }
  auto found = memo_.find(e.get());
  if (found != memo_.end()) return found->second;
  llvm::Value* result = compute(*e);
  memo_.emplace(e.get(), result);
  return result;
}

llvm::Value* Emitter::compute(const ExprNode& e) {
  switch (e.op) {
    case Op::IntConst:
    case Op::Var: break;
    case Op::Add: return b_.CreateNSWAdd(arg(e, 0), arg(e, 1));
    case Op::Sub: return b_.CreateNSWSub(arg(e, 0), arg(e, 1));
    case Op::Mul: return b_.CreateNSWMul(arg(e, 0), arg(e, 1));
    case Op::Div: return b_.CreateUDiv(arg(e, 0), arg(e, 1));
    case Op::Rem: return b_.CreateURem(arg(e, 0), arg(e, 1));
    case Op::Min: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, arg(e, 0), arg(e, 1));
    case Op::Max: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, arg(e, 0), arg(e, 1));
    case Op::Less: return b_.CreateICmpSLT(arg(e, 0), arg(e, 1));
    case Op::And: return b_.CreateAnd(arg(e, 0), arg(e, 1));
    case Op::Load: return emit_load(e);
    case Op::Gather: return emit_gather(e);
    case Op::Splat: return b_.CreateVectorSplat(static_cast<unsigned>(e.lanes), arg(e, 0));
    case Op::FAdd: return sum_of(arg(e, 0), arg(e, 1));
    case Op::FSub: return nest_.has_floats() ? b_.CreateFSub(arg(e, 0), arg(e, 1)) : b_.CreateSub(arg(e, 0), arg(e, 1));
    case Op::FMul: return product_of(arg(e, 0), arg(e, 1));
    case Op::FDiv: return b_.CreateFDiv(arg(e, 0), arg(e, 1));
    case Op::FMax: return b_.CreateSelect(is_greater(arg(e, 0), arg(e, 1)), arg(e, 0), arg(e, 1));
    case Op::FMin: return b_.CreateSelect(is_less(arg(e, 0), arg(e, 1)), arg(e, 0), arg(e, 1));
    case Op::Fma:
      if (!nest_.has_floats()) return sum_of(product_of(arg(e, 0), arg(e, 1)), arg(e, 2));
      // Without the instruction, llvm.fma would become a call of fmaf.
      if (!isa_.has_fma) return b_.CreateFAdd(b_.CreateFMul(arg(e, 0), arg(e, 1)), arg(e, 2));
      return b_.CreateIntrinsic(number_type(e.lanes), llvm::Intrinsic::fma, {arg(e, 0), arg(e, 1), arg(e, 2)});
    case Op::FSqrt: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, arg(e, 0));
    case Op::FRound:
    case Op::FFloor:
    case Op::FCeil: return to_whole(e.op, arg(e, 0));
    case Op::BitAnd: return from_bits(b_.CreateAnd(bits(e, 0), bits(e, 1)), e.lanes);
    case Op::BitOr: return from_bits(b_.CreateOr(bits(e, 0), bits(e, 1)), e.lanes);
    case Op::BitXor: return from_bits(b_.CreateXor(bits(e, 0), bits(e, 1)), e.lanes);
    case Op::BitAdd: return from_bits(b_.CreateAdd(bits(e, 0), bits(e, 1)), e.lanes);
    case Op::BitSub: return from_bits(b_.CreateSub(bits(e, 0), bits(e, 1)), e.lanes);
    case Op::BitMul: return from_bits(b_.CreateMul(bits(e, 0), bits(e, 1)), e.lanes);
    case Op::LoadByte: return emit_load_byte(e);
    case Op::Dot4: return emit_dot4(e);
    case Op::RoundScaled: return emit_round_scaled(e);
    case Op::Rounded: return to_number(from_number(arg(e, 0), e.element), e.element);
    case Op::BitShl: return from_bits(b_.CreateShl(bits(e, 0), static_cast<uint64_t>(e.imm)), e.lanes);
    case Op::BitShr: return from_bits(b_.CreateAShr(bits(e, 0), static_cast<uint64_t>(e.imm)), e.lanes);
    case Op::ToBits: return from_bits(b_.CreateFPToSI(arg(e, 0), bits_type(e.lanes)), e.lanes);
    case Op::FromBits: return b_.CreateSIToFP(bits(e, 0), number_type(e.lanes));
    case Op::FLess: return is_less(arg(e, 0), arg(e, 1));
    case Op::FLessEq:
      return nest_.has_floats() ? b_.CreateFCmpOLE(arg(e, 0), arg(e, 1)) : b_.CreateICmpSLE(arg(e, 0), arg(e, 1));
    case Op::FEqual:
      return nest_.has_floats() ? b_.CreateFCmpOEQ(arg(e, 0), arg(e, 1)) : b_.CreateICmpEQ(arg(e, 0), arg(e, 1));
    case Op::FromIndex: return emit_from_index(e);
    case Op::Remainder: return b_.CreateSRem(arg(e, 0), arg(e, 1));
    case Op::LanesBelow: return b_.CreateICmpSLT(bits(e, 0), lane_count(e));
    case Op::LanesFrom: return b_.CreateICmpSGE(bits(e, 0), lane_count(e));
    case Op::MaskAnd: return b_.CreateAnd(arg(e, 0), arg(e, 1));
    case Op::MaskOr: return b_.CreateOr(arg(e, 0), arg(e, 1));
    case Op::MaskXor: return b_.CreateXor(arg(e, 0), arg(e, 1));
    case Op::Select: return b_.CreateSelect(arg(e, 0), arg(e, 1), arg(e, 2));
    case Op::Outside: return emit_outside(e);
    case Op::Even: return emit_even(e);
    case Op::Permute: return emit_permute(e);
    case Op::LoadInt: return emit_load_int(e);
    case Op::LoadAs: return emit_load_as(e);
    case Op::LoadMask: return emit_load_mask(e);
    case Op::ReduceMul:
    case Op::ReduceAdd:
    case Op::ReduceMax: return emit_reduce(e);
  }
  COLLAGE_CHECK(false, "expression without a value");
  return nullptr;
}

llvm::Value* Emitter::sum_of(llvm::Value* a, llvm::Value* b) {
  return nest_.has_floats() ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
}

llvm::Value* Emitter::product_of(llvm::Value* a, llvm::Value* b) {
  return nest_.has_floats() ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
}

llvm::Value* Emitter::is_less(llvm::Value* a, llvm::Value* b) {
  if (!nest_.has_floats()) return b_.CreateICmpSLT(a, b);
  return b_.CreateFCmpOLT(a, b);
}

// Not `is_less` of swapped operands: the instruction for a maximum is found by this form.
llvm::Value* Emitter::is_greater(llvm::Value* a, llvm::Value* b) {
  return nest_.has_floats() ? b_.CreateFCmpOGT(a, b) : b_.CreateICmpSGT(a, b);
}

// A number of lanes, copied to each lane.
llvm::Value* Emitter::lane_count(const ExprNode& e) {
  if (e.args[1]->type == Type::Float) return bits(e, 1);
  llvm::Value* most = b_.getInt64(static_cast<uint64_t>(e.lanes));
  llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, arg(e, 1), most);
  return b_.CreateVectorSplat(static_cast<unsigned>(e.lanes), b_.CreateTrunc(count, bits_type()));
}

llvm::Value* Emitter::emit_from_index(const ExprNode& e) {
  llvm::Value* index = arg(e, 0);
  return nest_.has_floats() ? b_.CreateSIToFP(index, number_type(1)) : b_.CreateTrunc(index, bits_type());
}

// Lanes 0, 2, … of two concatenated vectors. The shuffle of the widest vectors would load its indices from .rodata,
// so they are an operand. Narrower vectors have shuffles with immediate operands.
llvm::Value* Emitter::emit_even(const ExprNode& e) {
  if (e.lanes * nest_.number_bytes() == 64) {
    const auto instruction = nest_.number() == Element::F64 ? llvm::Intrinsic::x86_avx512_vpermi2var_pd_512
                                                            : llvm::Intrinsic::x86_avx512_vpermi2var_ps_512;
    return b_.CreateIntrinsic(instruction, {}, {arg(e, 0), bits(e, 2), arg(e, 1)});
  }
  std::vector<int> lanes(static_cast<size_t>(e.lanes));
  for (int i = 0; i < e.lanes; ++i) lanes[static_cast<size_t>(i)] = 2 * i;
  return b_.CreateShuffleVector(arg(e, 0), arg(e, 1), lanes);
}

llvm::Value* Emitter::emit_permute(const ExprNode& e) {
  const auto instruction =
      e.lanes == 16 ? llvm::Intrinsic::x86_avx512_permvar_sf_512 : llvm::Intrinsic::x86_avx2_permps;
  return b_.CreateIntrinsic(instruction, {}, {arg(e, 0), bits(e, 1)});
}

// Calls a function without vector form lane by lane.
llvm::Value* Emitter::emit_outside(const ExprNode& e) {
  llvm::Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(1), static_cast<uint64_t>(e.imm));
  llvm::Value* callee = b_.CreateLoad(b_.getPtrTy(), slot);
  auto* type = llvm::FunctionType::get(number_type(1), std::vector<llvm::Type*>(e.args.size(), number_type(1)), false);
  if (e.lanes == 1) {
    std::vector<llvm::Value*> args;
    for (size_t i = 0; i < e.args.size(); ++i) args.push_back(arg(e, i));
    return b_.CreateCall(type, callee, args);
  }
  llvm::Value* result = llvm::PoisonValue::get(number_type(e.lanes));
  for (int lane = 0; lane < e.lanes; ++lane) {
    std::vector<llvm::Value*> args;
    for (size_t i = 0; i < e.args.size(); ++i) {
      args.push_back(b_.CreateExtractElement(arg(e, i), static_cast<uint64_t>(lane)));
    }
    result = b_.CreateInsertElement(result, b_.CreateCall(type, callee, args), static_cast<uint64_t>(lane));
  }
  return result;
}

// Halves the vector until one lane is left, with shuffles that have immediate operands.
llvm::Value* Emitter::emit_reduce(const ExprNode& e) {
  llvm::Value* v = arg(e, 0);
  for (int width = e.args[0]->lanes / 2; width >= 1; width /= 2) {
    std::vector<int> low(static_cast<size_t>(width));
    std::iota(low.begin(), low.end(), 0);
    std::vector<int> high(static_cast<size_t>(width));
    std::iota(high.begin(), high.end(), width);
    llvm::Value* a = b_.CreateShuffleVector(v, low);
    llvm::Value* b = b_.CreateShuffleVector(v, high);
    switch (e.op) {
      case Op::ReduceAdd: v = sum_of(a, b); break;
      case Op::ReduceMul: v = product_of(a, b); break;
      default:
        // `b` where it is NaN, by the comparison; then `a` where it is.
        v = b_.CreateSelect(is_greater(a, b), a, b);
        if (nest_.has_floats()) v = b_.CreateSelect(b_.CreateFCmpORD(a, a), v, a);
    }
  }
  return b_.CreateExtractElement(v, uint64_t{0});
}

}  // namespace collage::codegen
