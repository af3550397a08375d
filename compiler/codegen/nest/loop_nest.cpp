// SPDX-License-Identifier: Apache-2.0
// Building loop nests: buffers, constants, statements.
#include "compiler/codegen/nest/loop_nest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/codegen/nest/make_expr.h"

namespace collage::codegen {

int Nest::add_buffer(std::string name, bool written, bool scratch) {
  buffers_.push_back({std::move(name), written, scratch, number_});
  return static_cast<int>(buffers_.size()) - 1;
}

int Nest::add_buffer_of(Element element, std::string name, bool written) {
  buffers_.push_back({std::move(name), written, false, element});
  return static_cast<int>(buffers_.size()) - 1;
}

// Finds or appends the bits, aligned to their size so that a vector of them is one aligned load.
Expr Nest::table_entry(std::vector<uint64_t> bits, int lanes) {
  if (table_buffer_ < 0) table_buffer_ = add_buffer("table", false);
  size_t width = bits.size();
  size_t at = 0;
  while (at + width <= table_.size() && !std::equal(bits.begin(), bits.end(), table_.begin() + static_cast<long>(at))) {
    at += width;
  }
  if (at + width > table_.size()) {
    at = (table_.size() + width - 1) / width * width;
    table_.resize(at, 0);
    table_.insert(table_.end(), bits.begin(), bits.end());
  }
  return load(table_buffer_, int_const(static_cast<int64_t>(at)), lanes);
}

Expr Nest::constant(double value, int lanes) {
  if (number_ == Element::F32) return constant_bits(std::bit_cast<uint32_t>(static_cast<float>(value)), lanes);
  if (number_ == Element::F64) return constant_bits(std::bit_cast<uint64_t>(value), lanes);
  const auto nearest = [value]<typename T>(runtime::Type<T>) {
    if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    if (value < static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(std::nearbyint(value));
  };
  if (number_ == Element::I64) return constant_bits(static_cast<uint64_t>(nearest(runtime::Type<int64_t>())), lanes);
  return constant_bits(static_cast<uint64_t>(nearest(runtime::Type<int32_t>())), lanes);
}

Expr Nest::constant_bits(uint64_t bits, int lanes) {
  if (number_bytes() == 4) bits &= 0xFFFFFFFFU;
  return splat(table_entry({bits}, 1), lanes);
}

Expr Nest::rounded(Element element, Expr value) {
  if (computed_in(element) == element || value->type != Type::Float) return value;
  rounds_ = true;
  const int lanes = value->lanes;
  return let("r", std::make_shared<const ExprNode>(
                      ExprNode{Op::Rounded, Type::Float, lanes, 0, 4, element, {std::move(value)}}));
}

Expr Nest::lane_offsets(int64_t stride) {
  const uint64_t low = number_bytes() == 4 ? 0xFFFFFFFFU : ~uint64_t{0};
  std::vector<uint64_t> bits;
  for (int64_t lane = 0; lane < lanes_; ++lane) bits.push_back(static_cast<uint64_t>(lane * stride) & low);
  return table_entry(std::move(bits), lanes_);
}

Expr Nest::lanes_below(Expr count) {
  // A constant count comes from the table, as every vector constant does.
  if (is_int_const(count)) count = constant_bits(static_cast<uint64_t>(count->imm), lanes_);
  return make(Op::LanesBelow, Type::Mask, lanes_, {lane_offsets(1), std::move(count)});
}

Expr Nest::lanes_between(Expr begin, Expr end) {
  Expr below = lanes_below(std::move(end));
  if (is_int_const(begin) && begin->imm <= 0) return below;
  if (is_int_const(begin)) begin = constant_bits(static_cast<uint64_t>(begin->imm), lanes_);
  Expr from = make(Op::LanesFrom, Type::Mask, lanes_, {lane_offsets(1), std::move(begin)});
  return make(Op::MaskAnd, Type::Mask, lanes_, {std::move(from), std::move(below)});
}

Nest::EvenMasks Nest::even_masks(const Expr& low, const Expr& high) {
  return {let("first", lanes_between(low, high)), let("second", lanes_between(add(low, -lanes_), add(high, -lanes_)))};
}

Expr Nest::load_even(int buffer, const Expr& index, const EvenMasks& masks) {
  Expr first = load(buffer, index, lanes_, masks.first);
  Expr second = load(buffer, add(index, lanes_), lanes_, masks.second);
  return make(Op::Even, Type::Float, lanes_, {std::move(first), std::move(second), lane_offsets(2)});
}

Expr Nest::declare(std::string name, const Expr& like) {
  variables_.push_back({std::move(name), like->type, like->lanes});
  return make(Op::Var, like->type, like->lanes, {}, static_cast<int64_t>(variables_.size()) - 1);
}

Expr Nest::begin_for(std::string name, Expr begin, Expr end, int64_t step) {
  Expr var = declare(std::move(name), begin);
  Stmt loop;
  loop.kind = Stmt::Kind::For;
  loop.var = static_cast<int>(var->imm);
  loop.a = std::move(begin);
  loop.b = std::move(end);
  loop.step = step;
  headers_.push_back(std::move(loop));
  open_.push_back({});
  return var;
}

void Nest::end_for() {
  Stmt stmt = std::move(headers_.back());
  headers_.pop_back();
  stmt.body = std::move(open_.back());
  open_.pop_back();
  open_.back().push_back(std::move(stmt));
}

void Nest::begin_if(Expr condition) {
  Stmt branch;
  branch.kind = Stmt::Kind::If;
  branch.a = std::move(condition);
  headers_.push_back(std::move(branch));
  open_.push_back({});
}

void Nest::end_if() {
  end_for();
}

Expr Nest::let(std::string name, Expr value) {
  if (value->op == Op::IntConst || value->op == Op::Var) return value;
  Expr var = declare(std::move(name), value);
  Stmt stmt;
  stmt.kind = Stmt::Kind::Let;
  stmt.var = static_cast<int>(var->imm);
  stmt.a = std::move(value);
  open_.back().push_back(std::move(stmt));
  return var;
}

Expr Nest::variable(std::string name, Expr initial) {
  Expr var = declare(std::move(name), initial);
  Stmt stmt;
  stmt.kind = Stmt::Kind::Var;
  stmt.var = static_cast<int>(var->imm);
  stmt.a = std::move(initial);
  open_.back().push_back(std::move(stmt));
  return var;
}

void Nest::set(const Expr& variable, Expr value) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::Set;
  stmt.var = static_cast<int>(variable->imm);
  stmt.a = std::move(value);
  open_.back().push_back(std::move(stmt));
}

void Nest::store(int buffer, Expr index, Expr value, Expr mask) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::Store;
  stmt.buffer = buffer;
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  stmt.c = std::move(mask);
  open_.back().push_back(std::move(stmt));
}

void Nest::store_as(Element element, int buffer, Expr index, Expr value, Expr mask) {
  if (element == number_) return store(buffer, std::move(index), std::move(value), std::move(mask));
  if (is_byte(element) && number_ == Element::F32) {
    return store_byte(element, buffer, std::move(index), unary(Op::ToBits, clamp_to_byte(element, value)),
                      std::move(mask));
  }
  Stmt stmt;
  stmt.kind = Stmt::Kind::StoreAs;
  stmt.buffer = buffer;
  stmt.element = element;
  if (has_floats() && !runtime::is_float(element)) {
    stmt.d = constant(std::ldexp(1.0, static_cast<int>(8 * runtime::size_of(element)) - 1), value->lanes);
  }
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  stmt.c = std::move(mask);
  open_.back().push_back(std::move(stmt));
}

void Nest::store_int(int buffer, Expr index, Expr value) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::StoreInt;
  stmt.buffer = buffer;
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  open_.back().push_back(std::move(stmt));
}

void Nest::store_mask(int buffer, Expr index, Expr value, Expr mask) {
  const int words = std::max(1, value->lanes / static_cast<int>(number_bytes()));
  Stmt stmt;
  stmt.kind = Stmt::Kind::StoreMask;
  stmt.buffer = buffer;
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  stmt.c = std::move(mask);
  stmt.d = table_entry(
      std::vector<uint64_t>(static_cast<size_t>(words), number_bytes() == 4 ? 0x01010101U : 0x0101010101010101U),
      words);
  open_.back().push_back(std::move(stmt));
}

void Nest::scatter(int buffer, Expr index, Expr value, Expr offsets, Expr mask) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::Scatter;
  stmt.buffer = buffer;
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  stmt.c = std::move(offsets);
  stmt.d = std::move(mask);
  open_.back().push_back(std::move(stmt));
}

void Nest::prefetch(int buffer, Expr index) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::Prefetch;
  stmt.buffer = buffer;
  stmt.a = std::move(index);
  open_.back().push_back(std::move(stmt));
}

void Nest::comment(std::string text) {
  Stmt stmt;
  stmt.text = std::move(text);
  open_.back().push_back(std::move(stmt));
}

}  // namespace collage::codegen
