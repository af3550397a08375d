// SPDX-License-Identifier: Apache-2.0
// Loop nests to LLVM IR, statement by statement. Expects a nest whose expressions are well typed. The generated
// function has final vector types, so that the only middle-end pass is the promotion of variables to registers, done
// here.
//
// Creates no vector or floating-point constant other than zero: it would be put into .rodata and need a relocation.
#include "compiler/codegen/llvm/emit.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/llvm/llvm_headers.h"
#include "compiler/support/check.h"

namespace collage::codegen {
namespace {

class Emitter {
 public:
  Emitter(const Nest& nest, const Isa& isa, llvm::Module& module)
      : nest_(nest), isa_(isa), module_(module), context_(module.getContext()), b_(context_) {}

  void run(const std::string& symbol) {
    llvm::Type* ptr = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, b_.getInt64Ty(), b_.getInt64Ty()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr("target-cpu", isa_.cpu);
    function_->addFnAttr("target-features", isa_.features);
    if (isa_.lanes == 16) {
      function_->addFnAttr("min-legal-vector-width", "512");
      function_->addFnAttr("prefer-vector-width", "512");
    }
    function_->getArg(0)->addAttr(llvm::Attribute::NoAlias);
    function_->getArg(1)->addAttr(llvm::Attribute::NoAlias);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
    values_.resize(nest_.variables().size(), nullptr);
    slots_.resize(nest_.variables().size(), nullptr);
    values_[static_cast<size_t>(nest_.task_begin()->imm)] = function_->getArg(2);
    values_[static_cast<size_t>(nest_.task_end()->imm)] = function_->getArg(3);
    load_buffers();
    block(nest_.body());
    b_.CreateRetVoid();
    llvm::DominatorTree tree(*function_);
    llvm::AssumptionCache assumptions(*function_);
    llvm::PromoteMemToReg(allocas_, tree, &assumptions);
  }

 private:
  void load_buffers() {
    // Buffers that are written do not overlap any other: one alias scope each.
    llvm::MDBuilder md(context_);
    llvm::MDNode* domain = md.createAnonymousAliasScopeDomain("kernel");
    std::vector<llvm::Metadata*> scopes;
    for (const Nest::Buffer& buffer : nest_.buffers()) {
      scopes.push_back(md.createAnonymousAliasScope(domain, buffer.name));
    }
    uint64_t next = 0;
    for (size_t i = 0; i < nest_.buffers().size(); ++i) {
      uint64_t position = nest_.buffers()[i].scratch ? nest_.buffers().size() - 1 : next++;
      llvm::Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(0), position);
      llvm::LoadInst* pointer = b_.CreateLoad(b_.getPtrTy(), slot, nest_.buffers()[i].name);
      pointer->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
      pointers_.push_back(pointer);
      std::vector<llvm::Metadata*> others = scopes;
      others.erase(others.begin() + static_cast<long>(i));
      own_scope_.push_back(llvm::MDNode::get(context_, {scopes[i]}));
      other_scopes_.push_back(llvm::MDNode::get(context_, others));
    }
  }

  template <typename Inst>
  Inst* annotate(Inst* access, int64_t buffer) {
    auto slot = static_cast<size_t>(buffer);
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, own_scope_[slot]);
    access->setMetadata(llvm::LLVMContext::MD_noalias, other_scopes_[slot]);
    if (!nest_.buffers()[slot].written && llvm::isa<llvm::LoadInst>(access)) {
      access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    }
    return access;
  }

  static llvm::Type* vector_of(llvm::Type* one, int lanes) {
    return lanes == 1 ? one : llvm::FixedVectorType::get(one, static_cast<unsigned>(lanes));
  }
  llvm::Type* element_type(Element element, int lanes) {
    switch (element) {
      case Element::F32: return vector_of(b_.getFloatTy(), lanes);
      case Element::F64: return vector_of(b_.getDoubleTy(), lanes);
      default: return vector_of(b_.getIntNTy(static_cast<unsigned>(8 * runtime::size_of(element))), lanes);
    }
  }
  llvm::Type* number_type(int lanes) { return element_type(nest_.number(), lanes); }
  llvm::IntegerType* bits_type() { return b_.getIntNTy(static_cast<unsigned>(8 * nest_.number_bytes())); }
  llvm::Type* bits_type(int lanes) { return vector_of(bits_type(), lanes); }
  Element element_of(int64_t buffer) const { return nest_.buffers()[static_cast<size_t>(buffer)].element; }
  static llvm::Align align_of(Element element) { return llvm::Align(std::min<size_t>(4, runtime::size_of(element))); }
  static bool is_unsigned(Element element) { return element == Element::U8 || element == Element::Bool; }
  llvm::Type* type_of(const Nest::Variable& v) {
    switch (v.type) {
      case Type::Int: return b_.getInt64Ty();
      case Type::Bool: return b_.getInt1Ty();
      case Type::Float: return number_type(v.lanes);
      case Type::Mask:
        if (v.lanes == 1) return b_.getInt1Ty();
        return llvm::FixedVectorType::get(b_.getInt1Ty(), static_cast<unsigned>(v.lanes));
    }
    return nullptr;
  }

  // The constant part is a separate step, so that neighbours share the rest and it becomes a displacement.
  llvm::Value* address(int64_t buffer, const Expr& index) {
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

  llvm::Value* value(const Expr& e) {
    if (e->op == Op::IntConst) return b_.getInt64(static_cast<uint64_t>(e->imm));
    if (e->op == Op::Var) {
      auto slot = static_cast<size_t>(e->imm);
      if (slots_[slot] != nullptr) return b_.CreateLoad(slots_[slot]->getAllocatedType(), slots_[slot]);
      COLLAGE_CHECK(values_[slot] != nullptr, "variable {} is used before its definition",
                    nest_.variables()[slot].name);
      return values_[slot];
    }
    auto found = memo_.find(e.get());
    if (found != memo_.end()) return found->second;
    llvm::Value* result = compute(*e);
    memo_.emplace(e.get(), result);
    return result;
  }

  llvm::Value* arg(const ExprNode& e, size_t i) { return value(e.args[i]); }
  llvm::Value* bits(const ExprNode& e, size_t i) { return b_.CreateBitCast(arg(e, i), bits_type(e.lanes)); }
  llvm::Value* from_bits(llvm::Value* v, int lanes) { return b_.CreateBitCast(v, number_type(lanes)); }

  llvm::Value* compute(const ExprNode& e) {
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
      case Op::FSub:
        return nest_.has_floats() ? b_.CreateFSub(arg(e, 0), arg(e, 1)) : b_.CreateSub(arg(e, 0), arg(e, 1));
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
      case Op::FRound: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, arg(e, 0));
      case Op::FFloor: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, arg(e, 0));
      case Op::FCeil: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, arg(e, 0));
      case Op::BitAnd: return from_bits(b_.CreateAnd(bits(e, 0), bits(e, 1)), e.lanes);
      case Op::BitOr: return from_bits(b_.CreateOr(bits(e, 0), bits(e, 1)), e.lanes);
      case Op::BitXor: return from_bits(b_.CreateXor(bits(e, 0), bits(e, 1)), e.lanes);
      case Op::BitAdd: return from_bits(b_.CreateAdd(bits(e, 0), bits(e, 1)), e.lanes);
      case Op::BitSub: return from_bits(b_.CreateSub(bits(e, 0), bits(e, 1)), e.lanes);
      case Op::BitMul: return from_bits(b_.CreateMul(bits(e, 0), bits(e, 1)), e.lanes);
      case Op::LoadByte: return emit_load_byte(e);
      case Op::Dot4: return emit_dot4(e);
      case Op::RoundScaled: return emit_round_scaled(e);
      case Op::BitShl: return from_bits(b_.CreateShl(bits(e, 0), static_cast<uint64_t>(e.imm)), e.lanes);
      case Op::BitShr: return from_bits(b_.CreateAShr(bits(e, 0), static_cast<uint64_t>(e.imm)), e.lanes);
      case Op::ToBits: return from_bits(b_.CreateFPToSI(arg(e, 0), bits_type(e.lanes)), e.lanes);
      case Op::FromBits: return b_.CreateSIToFP(bits(e, 0), number_type(e.lanes));
      case Op::FLess: return is_less(arg(e, 0), arg(e, 1));
      case Op::FLessEq:
        return nest_.has_floats() ? b_.CreateFCmpOLE(arg(e, 0), arg(e, 1)) : b_.CreateICmpSLE(arg(e, 0), arg(e, 1));
      case Op::FEqual:
        return nest_.has_floats() ? b_.CreateFCmpOEQ(arg(e, 0), arg(e, 1)) : b_.CreateICmpEQ(arg(e, 0), arg(e, 1));
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

  llvm::Value* sum_of(llvm::Value* a, llvm::Value* b) {
    return nest_.has_floats() ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
  }
  llvm::Value* product_of(llvm::Value* a, llvm::Value* b) {
    return nest_.has_floats() ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
  }
  llvm::Value* is_less(llvm::Value* a, llvm::Value* b) {
    if (!nest_.has_floats()) return b_.CreateICmpSLT(a, b);
    return b_.CreateFCmpOLT(a, b);
  }

  // Not `is_less` of swapped operands: the instruction for a maximum is found by this form.
  llvm::Value* is_greater(llvm::Value* a, llvm::Value* b) {
    return nest_.has_floats() ? b_.CreateFCmpOGT(a, b) : b_.CreateICmpSGT(a, b);
  }

  // A number of lanes, copied to each lane. The empty asm hides the scalar arithmetic: LLVM would do it on vectors,
  // with constants from .rodata.
  llvm::Value* lane_count(const ExprNode& e) {
    if (e.args[1]->type == Type::Float) return bits(e, 1);
    llvm::Value* most = b_.getInt64(static_cast<uint64_t>(e.lanes));
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, arg(e, 1), most);
    count = b_.CreateTrunc(count, bits_type());
    auto* type = llvm::FunctionType::get(bits_type(), {bits_type()}, false);
    count = b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {count});
    return b_.CreateVectorSplat(static_cast<unsigned>(e.lanes), count);
  }

  llvm::Value* emit_load(const ExprNode& e) { return load_elements(e, element_of(e.imm), address(e.imm, e.args[0])); }

  llvm::Value* load_elements(const ExprNode& e, Element element, llvm::Value* from) {
    llvm::Type* type = element_type(element, e.lanes);
    if (e.args.size() == 1) {
      return to_number(annotate(b_.CreateAlignedLoad(type, from, align_of(element)), e.imm), element);
    }
    llvm::Value* none = llvm::Constant::getNullValue(type);
    return to_number(annotate(b_.CreateMaskedLoad(type, from, align_of(element), arg(e, 1), none), e.imm), element);
  }

  static int lanes_of(llvm::Value* v) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  }

  // Small integers become floats by way of signed words, for which there are instructions.
  llvm::Value* to_number(llvm::Value* v, Element from) {
    if (from == nest_.number()) return v;
    llvm::Type* type = number_type(lanes_of(v));
    if (runtime::is_float(from)) {
      if (nest_.has_floats()) return b_.CreateFPCast(v, type);
      return b_.CreateFPToSI(v, type);
    }
    if (!nest_.has_floats()) return b_.CreateIntCast(v, type, !is_unsigned(from));
    if (runtime::size_of(from) < 4)
      v = b_.CreateIntCast(v, vector_of(b_.getInt32Ty(), lanes_of(v)), !is_unsigned(from));
    return b_.CreateSIToFP(v, type);
  }

  // Lanes 0, 2, … of two concatenated vectors. The shuffle of the widest vectors would load its indices from .rodata,
  // so they are an operand. Narrower vectors have shuffles with immediate operands.
  llvm::Value* emit_even(const ExprNode& e) {
    if (e.lanes * nest_.number_bytes() == 64) {
      const auto instruction = nest_.number() == Element::F64 ? llvm::Intrinsic::x86_avx512_vpermi2var_pd_512
                                                              : llvm::Intrinsic::x86_avx512_vpermi2var_ps_512;
      return b_.CreateIntrinsic(instruction, {}, {arg(e, 0), bits(e, 2), arg(e, 1)});
    }
    std::vector<int> lanes(static_cast<size_t>(e.lanes));
    for (int i = 0; i < e.lanes; ++i) lanes[static_cast<size_t>(i)] = 2 * i;
    return b_.CreateShuffleVector(arg(e, 0), arg(e, 1), lanes);
  }

  llvm::Value* emit_permute(const ExprNode& e) {
    const auto instruction =
        e.lanes == 16 ? llvm::Intrinsic::x86_avx512_permvar_sf_512 : llvm::Intrinsic::x86_avx2_permps;
    return b_.CreateIntrinsic(instruction, {}, {arg(e, 0), bits(e, 1)});
  }

  llvm::Value* element(llvm::Type* type, const ExprNode& e) {
    return b_.CreateInBoundsGEP(type, pointers_[static_cast<size_t>(e.imm)], arg(e, 0));
  }

  llvm::Value* emit_load_int(const ExprNode& e) {
    llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * e.width));
    llvm::Value* loaded = annotate(b_.CreateAlignedLoad(type, element(type, e), llvm::Align(4)), e.imm);
    return b_.CreateSExt(loaded, b_.getInt64Ty());
  }

  llvm::Value* emit_load_as(const ExprNode& e) {
    if (is_byte(e.element) && nest_.number() == Element::F32) {
      return b_.CreateSIToFP(b_.CreateBitCast(emit_load_byte(e), bits_type(e.lanes)), number_type(e.lanes));
    }
    return load_elements(e, e.element, element(element_type(e.element, 1), e));
  }

  // Expects that integers do not come from floats.
  llvm::Value* from_number(llvm::Value* v, Element to) {
    if (to == nest_.number()) return v;
    llvm::Type* type = element_type(to, lanes_of(v));
    if (!runtime::is_float(to)) return b_.CreateIntCast(v, type, true);
    return nest_.has_floats() ? b_.CreateFPCast(v, type) : b_.CreateSIToFP(v, type);
  }

  // A value out of range is converted as 0; then the bounds take its place. The empty asm hides them, since vectors of
  // them would lie in .rodata.
  llvm::Value* to_element(const Stmt& s) {
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
      auto* function = llvm::FunctionType::get(one, {one}, false);
      llvm::Value* hidden =
          b_.CreateCall(llvm::InlineAsm::get(function, "", "=r,0", false), {llvm::ConstantInt::get(one, n)});
      return s.b->lanes == 1 ? hidden : b_.CreateVectorSplat(static_cast<unsigned>(s.b->lanes), hidden);
    };
    converted = b_.CreateSelect(is_high, bound(llvm::APInt::getSignedMaxValue(bits)), converted);
    return b_.CreateSelect(is_low, bound(llvm::APInt::getSignedMinValue(bits)), converted);
  }

  llvm::Type* bytes_type(int lanes) { return llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(lanes)); }

  llvm::Value* emit_load_byte(const ExprNode& e) {
    llvm::Type* type = e.lanes == 1 ? static_cast<llvm::Type*>(b_.getInt8Ty()) : bytes_type(e.lanes);
    llvm::Value* from = element(b_.getInt8Ty(), e);
    llvm::Value* loaded = nullptr;
    if (e.args.size() == 1) {
      loaded = annotate(b_.CreateAlignedLoad(type, from, llvm::Align(1)), e.imm);
    } else if (e.lanes != 16) {
      return from_bits(load_bytes_singly(e, from), e.lanes);
    } else {
      llvm::Value* none = llvm::Constant::getNullValue(type);
      loaded = annotate(b_.CreateMaskedLoad(type, from, llvm::Align(1), arg(e, 1), none), e.imm);
    }
    llvm::Value* wide = e.element == Element::I8 ? b_.CreateSExt(loaded, bits_type(e.lanes))
                                                 : b_.CreateZExt(loaded, bits_type(e.lanes));
    return from_bits(e.lanes == 1 ? wide : hidden(wide), e.lanes);
  }

  // An empty asm: LLVM would join bytes of such vectors by a shuffle, with indices from .rodata.
  llvm::Value* hidden(llvm::Value* v) {
    auto* type = llvm::FunctionType::get(v->getType(), {v->getType()}, false);
    return b_.CreateCall(llvm::InlineAsm::get(type, "", isa_.lanes == 16 ? "=v,0" : "=x,0", false), {v});
  }

  // Lanes that the mask excludes read the buffer's first byte: no branches, no constants.
  llvm::Value* load_bytes_singly(const ExprNode& e, llvm::Value* from) {
    llvm::Value* mask = arg(e, 1);
    llvm::Value* none = llvm::Constant::getNullValue(bits_type(e.lanes));
    llvm::Value* wide = none;
    for (int lane = 0; lane < e.lanes; ++lane) {
      llvm::Value* own = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), from, static_cast<uint64_t>(lane));
      llvm::Value* is_read = b_.CreateExtractElement(mask, static_cast<uint64_t>(lane));
      llvm::Value* at = b_.CreateSelect(is_read, own, pointers_[static_cast<size_t>(e.imm)]);
      llvm::Value* byte = annotate(b_.CreateAlignedLoad(b_.getInt8Ty(), at, llvm::Align(1)), e.imm);
      llvm::Value* word =
          e.element == Element::I8 ? b_.CreateSExt(byte, b_.getInt32Ty()) : b_.CreateZExt(byte, b_.getInt32Ty());
      wide = b_.CreateInsertElement(wide, word, static_cast<uint64_t>(lane));
    }
    return b_.CreateSelect(mask, wide, none);
  }

  llvm::Value* part_of(llvm::Value* v, int first, int lanes) {
    std::vector<int> picked(static_cast<size_t>(lanes));
    std::iota(picked.begin(), picked.end(), first);
    return b_.CreateShuffleVector(v, picked);
  }

  // Bytes of patterns in their range. The packing instructions of narrow vectors saturate, which changes nothing; a
  // shuffle would load its indices from .rodata.
  llvm::Value* narrow_to_bytes(llvm::Value* words, int lanes, Element element) {
    if (lanes == 1) return b_.CreateTrunc(words, b_.getInt8Ty());
    if (lanes == 16) return b_.CreateTrunc(words, bytes_type(lanes));
    llvm::Value* low = lanes == 4 ? words : part_of(words, 0, 4);
    llvm::Value* high = lanes == 4 ? words : part_of(words, 4, 4);
    llvm::Value* pairs = b_.CreateIntrinsic(llvm::Intrinsic::x86_sse2_packssdw_128, {}, {low, high});
    const auto pack =
        element == Element::I8 ? llvm::Intrinsic::x86_sse2_packsswb_128 : llvm::Intrinsic::x86_sse2_packuswb_128;
    return part_of(b_.CreateIntrinsic(pack, {}, {pairs, pairs}), 0, lanes);
  }

  llvm::Type* halves_type(int lanes) {
    return llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes));
  }

  // Without the instruction: products of the even and of the odd bytes, as words, whose pairs are summed in 32 bits. No
  // step saturates.
  llvm::Value* emit_dot4(const ExprNode& e) {
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

  llvm::Value* emit_round_scaled(const ExprNode& e) {
    llvm::Type* type = element_type(Element::F64, e.lanes);
    llvm::Value* product = b_.CreateFMul(b_.CreateSIToFP(bits(e, 0), type), b_.CreateFPExt(arg(e, 1), type));
    return b_.CreateFPTrunc(b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, product), number_type(e.lanes));
  }

  llvm::Value* emit_load_mask(const ExprNode& e) {
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
    } else {
      loaded = annotate(b_.CreateMaskedLoad(type, from, llvm::Align(1), arg(e, 1), none), e.imm);
    }
    return b_.CreateICmpNE(loaded, none);
  }

  llvm::Value* emit_gather(const ExprNode& e) {
    llvm::Value* offsets = b_.CreateBitCast(arg(e, 1), bits_type(e.lanes));
    const Element element = element_of(e.imm);
    llvm::Type* type = element_type(element, e.lanes);
    llvm::Value* from = b_.CreateInBoundsGEP(type->getScalarType(), address(e.imm, e.args[0]), offsets);
    llvm::Value* mask = e.args.size() > 2 ? arg(e, 2) : nullptr;
    llvm::Value* none = llvm::Constant::getNullValue(type);
    return to_number(annotate(b_.CreateMaskedGather(type, from, align_of(element), mask, none), e.imm), element);
  }

  // Calls a function without vector form lane by lane.
  llvm::Value* emit_outside(const ExprNode& e) {
    llvm::Value* slot =
        b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(1), static_cast<uint64_t>(e.imm));
    llvm::Value* callee = b_.CreateLoad(b_.getPtrTy(), slot);
    auto* type =
        llvm::FunctionType::get(number_type(1), std::vector<llvm::Type*>(e.args.size(), number_type(1)), false);
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
  llvm::Value* emit_reduce(const ExprNode& e) {
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
        default: v = b_.CreateSelect(is_greater(a, b), a, b);
      }
    }
    return b_.CreateExtractElement(v, uint64_t{0});
  }

  void block(const std::vector<Stmt>& statements) {
    for (const Stmt& s : statements) {
      memo_.clear();
      statement(s);
    }
    memo_.clear();
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::For: return loop(s);
      case Stmt::Kind::If: return branch(s);
      case Stmt::Kind::Let: values_[static_cast<size_t>(s.var)] = value(s.a); return;
      case Stmt::Kind::Var: {
        llvm::Value* initial = value(s.a);
        llvm::BasicBlock& entry = function_->getEntryBlock();
        llvm::IRBuilder<> at_entry(&entry, entry.begin());
        llvm::AllocaInst* slot = at_entry.CreateAlloca(type_of(nest_.variables()[static_cast<size_t>(s.var)]));
        allocas_.push_back(slot);
        slots_[static_cast<size_t>(s.var)] = slot;
        b_.CreateStore(initial, slot);
        return;
      }
      case Stmt::Kind::Set: b_.CreateStore(value(s.a), slots_[static_cast<size_t>(s.var)]); return;
      case Stmt::Kind::Store: {
        const Element element = element_of(s.buffer);
        llvm::Value* v = from_number(value(s.b), element);
        store_elements(s, v, address(s.buffer, s.a), element);
        return;
      }
      case Stmt::Kind::StoreAs: {
        llvm::Value* v = to_element(s);
        llvm::Value* to =
            b_.CreateInBoundsGEP(element_type(s.element, 1), pointers_[static_cast<size_t>(s.buffer)], value(s.a));
        store_elements(s, v, to, s.element);
        return;
      }
      case Stmt::Kind::StoreByte: {
        llvm::Value* words = b_.CreateBitCast(value(s.b), bits_type(s.b->lanes));
        llvm::Value* v = narrow_to_bytes(words, s.b->lanes, s.element);
        llvm::Value* to = b_.CreateInBoundsGEP(b_.getInt8Ty(), pointers_[static_cast<size_t>(s.buffer)], value(s.a));
        if (!s.c) {
          annotate(b_.CreateAlignedStore(v, to, llvm::Align(1)), s.buffer);
        } else {
          annotate(b_.CreateMaskedStore(v, to, llvm::Align(1), value(s.c)), s.buffer);
        }
        return;
      }
      case Stmt::Kind::StoreInt: {
        llvm::Value* to = b_.CreateInBoundsGEP(b_.getInt64Ty(), pointers_[static_cast<size_t>(s.buffer)], value(s.a));
        annotate(b_.CreateAlignedStore(value(s.b), to, llvm::Align(8)), s.buffer);
        return;
      }
      case Stmt::Kind::StoreMask: {
        llvm::Type* type = bytes_type(s.b->lanes);
        llvm::Value* ones = first_bytes(value(s.d), s.b->lanes);
        llvm::Value* v = b_.CreateSelect(value(s.b), ones, llvm::Constant::getNullValue(type));
        llvm::Value* to = b_.CreateInBoundsGEP(b_.getInt8Ty(), pointers_[static_cast<size_t>(s.buffer)], value(s.a));
        if (!s.c) {
          annotate(b_.CreateAlignedStore(v, to, llvm::Align(1)), s.buffer);
        } else {
          annotate(b_.CreateMaskedStore(v, to, llvm::Align(1), value(s.c)), s.buffer);
        }
        return;
      }
      case Stmt::Kind::Scatter: {
        llvm::Value* offsets = b_.CreateBitCast(value(s.c), bits_type(s.c->lanes));
        const Element element = element_of(s.buffer);
        llvm::Value* to = b_.CreateInBoundsGEP(element_type(element, 1), address(s.buffer, s.a), offsets);
        llvm::Value* mask = s.d ? value(s.d) : nullptr;
        annotate(b_.CreateMaskedScatter(from_number(value(s.b), element), to, align_of(element), mask), s.buffer);
        return;
      }
      case Stmt::Kind::Prefetch:
        // Read, to the second-level cache, data.
        b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                           {address(s.buffer, s.a), b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
        return;
      case Stmt::Kind::Comment: return;
      case Stmt::Kind::TileConfig:
      case Stmt::Kind::TileRelease:
      case Stmt::Kind::TileZero:
      case Stmt::Kind::TileLoad:
      case Stmt::Kind::TileStore:
      case Stmt::Kind::TileDot: return tile_statement(s);
    }
  }

  // The intrinsics that name their registers: LLVM then neither allocates nor configures tiles.
  void tile_statement(const Stmt& s) {
    const auto tile = [&](size_t i) { return b_.getInt8(static_cast<uint8_t>(s.tiles[i])); };
    const auto bytes = [&] { return b_.getInt64(static_cast<uint64_t>(s.step) * sizeof(float)); };
    using namespace llvm::Intrinsic;
    switch (s.kind) {
      case Stmt::Kind::TileConfig: b_.CreateIntrinsic(x86_ldtilecfg, {}, {address(s.buffer, s.a)}); return;
      case Stmt::Kind::TileRelease: b_.CreateIntrinsic(x86_tilerelease, {}, {}); return;
      case Stmt::Kind::TileZero: b_.CreateIntrinsic(x86_tilezero, {}, {tile(0)}); return;
      case Stmt::Kind::TileLoad:
        b_.CreateIntrinsic(x86_tileloadd64, {}, {tile(0), address(s.buffer, s.a), bytes()});
        return;
      case Stmt::Kind::TileStore:
        b_.CreateIntrinsic(x86_tilestored64, {}, {tile(0), address(s.buffer, s.a), bytes()});
        return;
      case Stmt::Kind::TileDot: b_.CreateIntrinsic(x86_tdpbf16ps, {}, {tile(0), tile(1), tile(2)}); return;
      default: COLLAGE_CHECK(false, "no statement about tiles");
    }
  }

  void store_elements(const Stmt& s, llvm::Value* v, llvm::Value* to, Element element) {
    if (!s.c) {
      annotate(b_.CreateAlignedStore(v, to, align_of(element)), s.buffer);
    } else {
      annotate(b_.CreateMaskedStore(v, to, align_of(element), value(s.c)), s.buffer);
    }
  }

  // The first bytes of numbers.
  llvm::Value* first_bytes(llvm::Value* numbers, int count) {
    const int bytes = lanes_of(numbers) * static_cast<int>(nest_.number_bytes());
    llvm::Value* all = b_.CreateBitCast(numbers, bytes_type(bytes));
    if (bytes == count) return all;
    std::vector<int> first(static_cast<size_t>(count));
    std::iota(first.begin(), first.end(), 0);
    return b_.CreateShuffleVector(all, first);
  }

  // for => if (begin < end) do … while (next < end): one test per iteration.
  void loop(const Stmt& s) {
    llvm::Value* begin = value(s.a);
    llvm::Value* end = value(s.b);
    auto* body = llvm::BasicBlock::Create(context_, "loop", function_);
    auto* after = llvm::BasicBlock::Create(context_, "done", function_);
    int64_t first = 0;
    int64_t last = 0;
    bool runs = is_int_const(s.a, &first) && is_int_const(s.b, &last) && first < last;
    llvm::BasicBlock* before = b_.GetInsertBlock();
    if (runs) {
      b_.CreateBr(body);
    } else {
      b_.CreateCondBr(b_.CreateICmpSLT(begin, end), body, after);
    }
    b_.SetInsertPoint(body);
    llvm::PHINode* counter = b_.CreatePHI(b_.getInt64Ty(), 2, nest_.variables()[static_cast<size_t>(s.var)].name);
    counter->addIncoming(begin, before);
    values_[static_cast<size_t>(s.var)] = counter;
    block(s.body);
    llvm::Value* next = b_.CreateNSWAdd(counter, b_.getInt64(static_cast<uint64_t>(s.step)));
    counter->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, after);
    b_.SetInsertPoint(after);
  }

  void branch(const Stmt& s) {
    auto* then = llvm::BasicBlock::Create(context_, "then", function_);
    auto* after = llvm::BasicBlock::Create(context_, "endif", function_);
    b_.CreateCondBr(value(s.a), then, after);
    b_.SetInsertPoint(then);
    block(s.body);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  const Nest& nest_;
  const Isa& isa_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::Value*> values_;
  std::vector<llvm::AllocaInst*> slots_;
  std::vector<llvm::AllocaInst*> allocas_;
  std::vector<llvm::Value*> pointers_;
  std::vector<llvm::MDNode*> own_scope_;
  std::vector<llvm::MDNode*> other_scopes_;
  std::unordered_map<const ExprNode*, llvm::Value*> memo_;
};

}  // namespace

void emit(const Nest& nest, const std::string& symbol, const Isa& isa, llvm::Module& module) {
  Emitter(nest, isa, module).run(symbol);
}

}  // namespace collage::codegen
