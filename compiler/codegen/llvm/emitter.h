// SPDX-License-Identifier: Apache-2.0
// Translates one nest; its parts are in several files. It may use any constant and any operation for which the
// processor has instructions: what LLVM would call a library for, the emitter writes out (emit_floats.cpp).
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/llvm/llvm_headers.h"
#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/target/isa.h"

namespace collage::codegen {

class Emitter {
 public:
  Emitter(const Nest& nest, const Isa& isa, llvm::Module& module)
      : nest_(nest), isa_(isa), module_(module), context_(module.getContext()), b_(context_) {}

  void run(const std::string& symbol);

 private:
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
  llvm::Type* number_type(int lanes) { return element_type(nest_.number(), lanes); }
  llvm::IntegerType* bits_type() { return b_.getIntNTy(static_cast<unsigned>(8 * nest_.number_bytes())); }
  llvm::Type* bits_type(int lanes) { return vector_of(bits_type(), lanes); }
  Element element_of(int64_t buffer) const { return nest_.buffers()[static_cast<size_t>(buffer)].element; }
  static llvm::Align align_of(Element element) { return llvm::Align(std::min<size_t>(4, runtime::size_of(element))); }
  static bool is_unsigned(Element element) {
    return element == Element::U8 || element == Element::U16 || element == Element::Bool;
  }
  llvm::Value* arg(const ExprNode& e, size_t i) { return value(e.args[i]); }
  llvm::Value* bits(const ExprNode& e, size_t i) { return b_.CreateBitCast(arg(e, i), bits_type(e.lanes)); }
  llvm::Value* from_bits(llvm::Value* v, int lanes) { return b_.CreateBitCast(v, number_type(lanes)); }
  static int lanes_of(llvm::Value* v) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  }
  llvm::Type* bytes_type(int lanes) { return llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(lanes)); }

  // Statements (emit.cpp).
  void load_buffers();
  llvm::Type* type_of(const Nest::Variable& v);
  void block(const std::vector<Stmt>& statements);
  void statement(const Stmt& s);
  void loop(const Stmt& s);
  void branch(const Stmt& s);

  // Values in registers (emit_values.cpp).
  llvm::Value* value(const Expr& e);
  llvm::Value* compute(const ExprNode& e);
  llvm::Value* sum_of(llvm::Value* a, llvm::Value* b);
  llvm::Value* product_of(llvm::Value* a, llvm::Value* b);
  llvm::Value* is_less(llvm::Value* a, llvm::Value* b);
  llvm::Value* is_greater(llvm::Value* a, llvm::Value* b);
  llvm::Value* lane_count(const ExprNode& e);
  llvm::Value* emit_from_index(const ExprNode& e);
  llvm::Value* emit_even(const ExprNode& e);
  llvm::Value* emit_permute(const ExprNode& e);
  llvm::Value* emit_outside(const ExprNode& e);
  llvm::Value* emit_reduce(const ExprNode& e);

  // Elements in memory, and their conversions (emit_memory.cpp).
  llvm::Type* element_type(Element element, int lanes);
  llvm::Value* address(int64_t buffer, const Expr& index);
  llvm::Value* emit_load(const ExprNode& e);
  llvm::Value* load_elements(const ExprNode& e, Element element, llvm::Value* from);
  llvm::Value* to_number(llvm::Value* v, Element from);
  llvm::Value* element(llvm::Type* type, const ExprNode& e);
  llvm::Value* emit_load_int(const ExprNode& e);
  llvm::Value* emit_load_as(const ExprNode& e);
  llvm::Value* from_number(llvm::Value* v, Element to);
  llvm::Value* to_element(const Stmt& s);
  llvm::Value* emit_load_mask(const ExprNode& e);
  llvm::Value* emit_gather(const ExprNode& e);
  void store_elements(const Stmt& s, llvm::Value* v, llvm::Value* to, Element element);

  // Floats: whole numbers, f16 and bf16 (emit_floats.cpp).
  llvm::Value* to_whole(Op how, llvm::Value* v);
  llvm::Value* widen(llvm::Value* bits, Element from);
  llvm::Value* widen_f16(llvm::Value* bits);
  llvm::Value* narrow(llvm::Value* v, Element to);
  llvm::Value* to_f16(llvm::Value* v);
  llvm::Value* to_bf16(llvm::Value* v);
  llvm::Value* low_halves(llvm::Value* words);

  // Bytes (emit_bytes.cpp).
  llvm::Value* emit_load_byte(const ExprNode& e);
  llvm::Value* load_bytes_singly(const ExprNode& e, Element stored, llvm::Value* from);
  llvm::Value* part_of(llvm::Value* v, int first, int lanes);
  llvm::Value* narrow_to_bytes(llvm::Value* words, int lanes, Element element);
  llvm::Type* halves_type(int lanes);
  llvm::Value* emit_dot4(const ExprNode& e);
  llvm::Value* emit_round_scaled(const ExprNode& e);
  llvm::Value* first_bytes(llvm::Value* numbers, int count);

  // Tiles (emit_tiles.cpp).
  void tile_statement(const Stmt& s);

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

}  // namespace collage::codegen
