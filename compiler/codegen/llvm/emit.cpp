// SPDX-License-Identifier: Apache-2.0
// Loop nests to LLVM IR, statement by statement. Expects a nest whose expressions are well typed. The generated
// function has final vector types, so that the only middle-end pass is the promotion of variables to registers, done
// here.
#include "compiler/codegen/llvm/emit.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "compiler/codegen/llvm/emitter.h"

namespace collage::codegen {

void Emitter::run(const std::string& symbol) {
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

void Emitter::load_buffers() {
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

llvm::Type* Emitter::type_of(const Nest::Variable& v) {
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

void Emitter::block(const std::vector<Stmt>& statements) {
  for (const Stmt& s : statements) {
    memo_.clear();
    statement(s);
  }
  memo_.clear();
}

void Emitter::statement(const Stmt& s) {
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

// for => if (begin < end) do … while (next < end): one test per iteration.
void Emitter::loop(const Stmt& s) {
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

void Emitter::branch(const Stmt& s) {
  auto* then = llvm::BasicBlock::Create(context_, "then", function_);
  auto* after = llvm::BasicBlock::Create(context_, "endif", function_);
  b_.CreateCondBr(value(s.a), then, after);
  b_.SetInsertPoint(then);
  block(s.body);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void emit(const Nest& nest, const std::string& symbol, const Isa& isa, llvm::Module& module) {
  Emitter(nest, isa, module).run(symbol);
}

}  // namespace collage::codegen
