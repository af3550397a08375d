// SPDX-License-Identifier: Apache-2.0
// Building and printing loop nests. Index arithmetic folds as it is built, so that equal kernels have equal texts.
#include "compiler/codegen/nest/loop_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "compiler/support/check.h"

namespace collage::codegen {
namespace {

Expr make(Op op, Type type, int lanes, std::vector<Expr> args, int64_t imm = 0) {
  return std::make_shared<const ExprNode>(ExprNode{op, type, lanes, imm, 4, Element::F32, std::move(args)});
}

bool is_float_reduction(Op op) {
  return op == Op::ReduceAdd || op == Op::ReduceMax || op == Op::ReduceMul;
}

bool is_comparison(Op op) {
  return op == Op::FLess || op == Op::FLessEq || op == Op::FEqual;
}

}  // namespace

Expr int_const(int64_t value) {
  return make(Op::IntConst, Type::Int, 1, {}, value);
}

bool is_int_const(const Expr& e, int64_t* value) {
  if (e->op != Op::IntConst) return false;
  if (value != nullptr) *value = e->imm;
  return true;
}

Expr add(Expr a, int64_t b) {
  if (b == 0) return a;
  if (is_int_const(a)) return int_const(a->imm + b);
  if (a->op == Op::Add && is_int_const(a->args[1])) return add(a->args[0], a->args[1]->imm + b);
  return make(Op::Add, Type::Int, 1, {std::move(a), int_const(b)});
}

// Constants move to the end: (x + 3) + (y + 4) => (x + y) + 7.
Expr add(Expr a, Expr b) {
  if (is_int_const(b)) return add(std::move(a), b->imm);
  if (is_int_const(a)) return add(std::move(b), a->imm);
  if (a->op == Op::Add && is_int_const(a->args[1])) return add(add(a->args[0], std::move(b)), a->args[1]->imm);
  if (b->op == Op::Add && is_int_const(b->args[1])) return add(add(std::move(a), b->args[0]), b->args[1]->imm);
  return make(Op::Add, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr sub(Expr a, Expr b) {
  if (is_int_const(b)) return add(std::move(a), -b->imm);
  return make(Op::Sub, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr mul(Expr a, int64_t b) {
  if (b == 0) return int_const(0);
  if (b == 1) return a;
  if (is_int_const(a)) return int_const(a->imm * b);
  if (a->op == Op::Add && is_int_const(a->args[1])) return add(mul(a->args[0], b), a->args[1]->imm * b);
  return make(Op::Mul, Type::Int, 1, {std::move(a), int_const(b)});
}

Expr mul(Expr a, Expr b) {
  if (is_int_const(b)) return mul(std::move(a), b->imm);
  if (is_int_const(a)) return mul(std::move(b), a->imm);
  return make(Op::Mul, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr div(Expr a, int64_t b) {
  if (b == 1) return a;
  if (is_int_const(a)) return int_const(a->imm / b);
  return make(Op::Div, Type::Int, 1, {std::move(a), int_const(b)});
}

Expr rem(Expr a, int64_t b) {
  if (b == 1) return int_const(0);
  if (is_int_const(a)) return int_const(a->imm % b);
  return make(Op::Rem, Type::Int, 1, {std::move(a), int_const(b)});
}

Expr min(Expr a, Expr b) {
  if (is_int_const(a) && is_int_const(b)) return int_const(std::min(a->imm, b->imm));
  return make(Op::Min, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr max(Expr a, Expr b) {
  if (is_int_const(a) && is_int_const(b)) return int_const(std::max(a->imm, b->imm));
  return make(Op::Max, Type::Int, 1, {std::move(a), std::move(b)});
}

Expr less(Expr a, Expr b) {
  return make(Op::Less, Type::Bool, 1, {std::move(a), std::move(b)});
}

Expr both(Expr a, Expr b) {
  return make(Op::And, Type::Bool, 1, {std::move(a), std::move(b)});
}

Expr unary(Op op, Expr a, int64_t imm) {
  int lanes = is_float_reduction(op) ? 1 : a->lanes;
  return make(op, Type::Float, lanes, {std::move(a)}, imm);
}

Expr binary(Op op, Expr a, Expr b) {
  COLLAGE_CHECK(a->lanes == b->lanes, "operands of {} and {} lanes", a->lanes, b->lanes);
  int lanes = a->lanes;
  Type type = is_comparison(op) ? Type::Mask : Type::Float;
  return make(op, type, lanes, {std::move(a), std::move(b)});
}

Expr fma(Expr a, Expr b, Expr c) {
  COLLAGE_CHECK(a->lanes == b->lanes && a->lanes == c->lanes, "operands of fma differ in lanes");
  int lanes = a->lanes;
  return make(Op::Fma, Type::Float, lanes, {std::move(a), std::move(b), std::move(c)});
}

Expr select(Expr mask, Expr a, Expr b) {
  int lanes = a->lanes;
  return make(Op::Select, Type::Float, lanes, {std::move(mask), std::move(a), std::move(b)});
}

Expr splat(Expr scalar, int lanes) {
  if (lanes == scalar->lanes) return scalar;
  Type type = scalar->type;
  return make(Op::Splat, type, lanes, {std::move(scalar)});
}

Expr load(int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return make(Op::Load, Type::Float, lanes, std::move(args), buffer);
}

Expr gather(int buffer, Expr index, Expr offsets, Expr mask) {
  int lanes = offsets->lanes;
  std::vector<Expr> args = {std::move(index), std::move(offsets)};
  if (mask) args.push_back(std::move(mask));
  return make(Op::Gather, Type::Float, lanes, std::move(args), buffer);
}

Expr permute(Expr vector, Expr pattern) {
  return binary(Op::Permute, std::move(vector), std::move(pattern));
}

Expr load_int(int buffer, Expr index, int64_t width) {
  return std::make_shared<const ExprNode>(
      ExprNode{Op::LoadInt, Type::Int, 1, buffer, width, Element::F32, {std::move(index)}});
}

Expr load_as(Element element, int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return std::make_shared<const ExprNode>(
      ExprNode{Op::LoadAs, Type::Float, lanes, buffer, 4, element, std::move(args)});
}

bool is_byte(Element element) {
  return element == Element::I8 || element == Element::U8;
}

Expr load_byte(Element element, int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return std::make_shared<const ExprNode>(
      ExprNode{Op::LoadByte, Type::Float, lanes, buffer, 1, element, std::move(args)});
}

Expr round_scaled(Expr sum, Expr factor) {
  return binary(Op::RoundScaled, std::move(sum), std::move(factor));
}

Expr load_mask(int buffer, Expr index, int lanes, Expr mask) {
  std::vector<Expr> args = {std::move(index)};
  if (mask) args.push_back(std::move(mask));
  return make(Op::LoadMask, Type::Mask, lanes, std::move(args), buffer);
}

Expr mask_op(Op op, Expr a, Expr b) {
  int lanes = a->lanes;
  return make(op, Type::Mask, lanes, {std::move(a), std::move(b)});
}

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

void Nest::store_byte(Element element, int buffer, Expr index, Expr value, Expr mask) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::StoreByte;
  stmt.buffer = buffer;
  stmt.element = element;
  stmt.a = std::move(index);
  stmt.b = std::move(value);
  stmt.c = std::move(mask);
  open_.back().push_back(std::move(stmt));
}

Expr Nest::clamp_to_byte(Element element, const Expr& value) {
  const int lanes = value->lanes;
  const Expr low = element == Element::I8 ? constant(-128, lanes) : zero(lanes);
  const Expr high = constant(element == Element::I8 ? 127 : 255, lanes);
  const Expr clamped = binary(Op::FMin, high, binary(Op::FMax, low, value));
  return select(binary(Op::FEqual, value, value), clamped, zero(lanes));
}

Expr Nest::dot4(Expr sum, Expr a, Expr b) {
  const int lanes = sum->lanes;
  // Even bytes, for processors without the instruction.
  Expr even = constant_bits(0x00ff00ffU, lanes);
  return make(Op::Dot4, Type::Float, lanes, {std::move(sum), std::move(a), std::move(b), std::move(even)});
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

void Nest::tile_config(const std::array<int, 8>& rows) {
  // Palette 1; from byte 16 on the bytes per row, two bytes each, from byte 48 on the rows.
  std::array<uint8_t, 64> bytes{1};
  for (size_t tile = 0; tile < rows.size(); ++tile) {
    bytes[16 + 2 * tile] = 64;
    bytes[48 + tile] = static_cast<uint8_t>(rows[tile]);
  }
  std::vector<uint64_t> words;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    words.push_back(word);
  }
  Stmt stmt;
  stmt.kind = Stmt::Kind::TileConfig;
  const Expr entry = table_entry(std::move(words), 16);
  stmt.buffer = table_buffer_;
  stmt.a = entry->args[0];
  open_.back().push_back(std::move(stmt));
}

void Nest::tile_release() {
  Stmt stmt;
  stmt.kind = Stmt::Kind::TileRelease;
  open_.back().push_back(std::move(stmt));
}

void Nest::tile_zero(int tile) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::TileZero;
  stmt.tiles = {tile};
  open_.back().push_back(std::move(stmt));
}

void Nest::tile_load(int tile, int buffer, Expr index, int64_t stride) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::TileLoad;
  stmt.tiles = {tile};
  stmt.buffer = buffer;
  stmt.a = std::move(index);
  stmt.step = stride;
  open_.back().push_back(std::move(stmt));
}

void Nest::tile_store(int tile, int buffer, Expr index, int64_t stride) {
  tile_load(tile, buffer, std::move(index), stride);
  open_.back().back().kind = Stmt::Kind::TileStore;
}

void Nest::tile_dot(int sum, int rows, int columns) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::TileDot;
  stmt.tiles = {sum, rows, columns};
  open_.back().push_back(std::move(stmt));
}

void Nest::comment(std::string text) {
  Stmt stmt;
  stmt.text = std::move(text);
  open_.back().push_back(std::move(stmt));
}

namespace {

const char* name_of(Op op) {
  switch (op) {
#define LOOP_OP(name, text) \
  case Op::name:            \
    return text;
#include "compiler/codegen/nest/loop_ops.def"
#undef LOOP_OP
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Nest& nest) : nest_(nest) {}

  std::string print() {
    const std::string number = nest_.number() == Element::F32 ? "" : fmt::format("{} ", name_of(nest_.number()));
    out_ = fmt::format("kernel {}lanes {}\n", number, nest_.lanes());
    for (const Nest::Buffer& b : nest_.buffers()) {
      const std::string element = b.element == nest_.number() ? "" : fmt::format(" {}", name_of(b.element));
      out_ += fmt::format("{} {}{}\n", b.written ? "out" : "in", b.name, element);
    }
    for (const Stmt& s : nest_.body()) statement(s, 0);
    return std::move(out_);
  }

 private:
  std::string var(int64_t id) const {
    return fmt::format("{}.{}", nest_.variables()[static_cast<size_t>(id)].name, id);
  }
  const std::string& buffer(int64_t id) const { return nest_.buffers()[static_cast<size_t>(id)].name; }

  static std::string suffix_of(bool is_converted, Element element) {
    return is_converted ? fmt::format(".{}", name_of(element)) : "";
  }

  // `load.16 x[i]`, `fma(a, b, c)`; lanes are printed where a value becomes a vector.
  std::string expr(const Expr& e) const {
    switch (e->op) {
      case Op::IntConst: return fmt::format("{}", e->imm);
      case Op::Var: return var(e->imm);
      case Op::Add: return fmt::format("({} + {})", expr(e->args[0]), expr(e->args[1]));
      case Op::Sub: return fmt::format("({} - {})", expr(e->args[0]), expr(e->args[1]));
      case Op::Mul: return fmt::format("{}*{}", expr(e->args[0]), expr(e->args[1]));
      case Op::LoadInt: return fmt::format("{}[{}].index{}", buffer(e->imm), expr(e->args[0]), 8 * e->width);
      case Op::LoadAs:
      case Op::LoadByte:
      case Op::LoadMask:
      case Op::Load: {
        std::string mask = e->args.size() > 1 ? " if " + expr(e->args[1]) : "";
        return fmt::format("{}[{}]{}{}{}", buffer(e->imm), expr(e->args[0]), suffix_of(e->op == Op::LoadAs, e->element),
                           e->op == Op::LoadMask ? fmt::format(".b{}", e->lanes)
                           : e->lanes > 1        ? fmt::format(".{}", e->lanes)
                                                 : "",
                           mask);
      }
      default: break;
    }
    std::string args;
    for (const Expr& a : e->args) args += (args.empty() ? "" : ", ") + expr(a);
    if (e->op == Op::BitShl || e->op == Op::BitShr || e->op == Op::Outside) args += fmt::format(", {}", e->imm);
    if (e->op == Op::Gather) return fmt::format("gather {}[{}]", buffer(e->imm), args);
    return fmt::format("{}({})", name_of(e->op), args);
  }

  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  void statement(const Stmt& s, int depth) {
    switch (s.kind) {
      case Stmt::Kind::For: {
        std::string step = s.step == 1 ? "" : fmt::format(" step {}", s.step);
        line(depth, fmt::format("for {} in {} .. {}{} {{", var(s.var), expr(s.a), expr(s.b), step));
        for (const Stmt& inner : s.body) statement(inner, depth + 1);
        line(depth, "}");
        break;
      }
      case Stmt::Kind::If:
        line(depth, fmt::format("if {} {{", expr(s.a)));
        for (const Stmt& inner : s.body) statement(inner, depth + 1);
        line(depth, "}");
        break;
      case Stmt::Kind::Let: line(depth, fmt::format("let {} = {}", var(s.var), expr(s.a))); break;
      case Stmt::Kind::Var: line(depth, fmt::format("var {} = {}", var(s.var), expr(s.a))); break;
      case Stmt::Kind::Set: line(depth, fmt::format("{} = {}", var(s.var), expr(s.a))); break;
      case Stmt::Kind::StoreInt:
        line(depth, fmt::format("{}[{}].i64 = {}", buffer(s.buffer), expr(s.a), expr(s.b)));
        break;
      case Stmt::Kind::StoreAs:
      case Stmt::Kind::StoreByte:
      case Stmt::Kind::StoreMask:
      case Stmt::Kind::Store:
        line(depth, fmt::format("{}[{}]{} = {}{}{}", buffer(s.buffer), expr(s.a),
                                suffix_of(s.kind == Stmt::Kind::StoreAs, s.element), expr(s.b),
                                s.c ? " if " + expr(s.c) : "", s.d ? " by " + expr(s.d) : ""));
        break;
      case Stmt::Kind::Scatter:
        line(depth, fmt::format("scatter {}[{} + {}] = {}{}", buffer(s.buffer), expr(s.a), expr(s.c), expr(s.b),
                                s.d ? " if " + expr(s.d) : ""));
        break;
      case Stmt::Kind::Prefetch: line(depth, fmt::format("prefetch {}[{}]", buffer(s.buffer), expr(s.a))); break;
      case Stmt::Kind::Comment: line(depth, "// " + s.text); break;
      case Stmt::Kind::TileConfig: line(depth, fmt::format("tile config {}[{}]", buffer(s.buffer), expr(s.a))); break;
      case Stmt::Kind::TileRelease: line(depth, "tile release"); break;
      case Stmt::Kind::TileZero: line(depth, fmt::format("tile{} = 0", s.tiles[0])); break;
      case Stmt::Kind::TileLoad:
        line(depth, fmt::format("tile{} = {}[{}] by {}", s.tiles[0], buffer(s.buffer), expr(s.a), s.step));
        break;
      case Stmt::Kind::TileStore:
        line(depth, fmt::format("{}[{}] by {} = tile{}", buffer(s.buffer), expr(s.a), s.step, s.tiles[0]));
        break;
      case Stmt::Kind::TileDot:
        line(depth, fmt::format("tile{} += dot(tile{}, tile{})", s.tiles[0], s.tiles[1], s.tiles[2]));
        break;
    }
  }

  const Nest& nest_;
  std::string out_;
};

}  // namespace

std::string to_string(const Nest& nest) {
  return Printer(nest).print();
}

}  // namespace collage::codegen
