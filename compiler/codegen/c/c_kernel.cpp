// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/c/c_kernel.h"

#include <fmt/format.h>

#include <map>

#include "compiler/codegen/c/c_numbers.h"
#include "runtime/core/external_functions.h"
#include "runtime/core/joined.h"
#include "runtime/support/check.h"

namespace collage::codegen {
namespace {

constexpr std::string_view kPrelude = R"(#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __GNUC__
#define HELPER static inline __attribute__((unused))
#else
#define HELPER static inline
#endif
#define LANES 4
typedef struct { float v[LANES]; } vec;
typedef struct { int v[LANES]; } mask;

HELPER float f_load(const void *b, int64_t i) { float r; memcpy(&r, (const char *)b + 4 * i, 4); return r; }
HELPER void f_store(void *b, int64_t i, float x) { memcpy((char *)b + 4 * i, &x, 4); }
HELPER int m_load(const void *b, int64_t i) { return ((const unsigned char *)b)[i] != 0; }
HELPER void m_store(void *b, int64_t i, int x) { ((unsigned char *)b)[i] = (unsigned char)x; }
HELPER int64_t i4_load(const void *b, int64_t i) { int32_t r; memcpy(&r, (const char *)b + 4 * i, 4); return r; }
HELPER int64_t i8_load(const void *b, int64_t i) { int64_t r; memcpy(&r, (const char *)b + 8 * i, 8); return r; }
HELPER void i8_store(void *b, int64_t i, int64_t x) { memcpy((char *)b + 8 * i, &x, 8); }
HELPER int64_t i_min(int64_t a, int64_t b) { return a < b ? a : b; }
HELPER int64_t i_max(int64_t a, int64_t b) { return a > b ? a : b; }
HELPER int32_t bits_of(float x) { int32_t r; memcpy(&r, &x, 4); return r; }
HELPER float of_bits(uint32_t x) { float r; memcpy(&r, &x, 4); return r; }
HELPER uint32_t u_of(float x) { return (uint32_t)bits_of(x); }

#define UNARY(name, expr) \
  HELPER float f_##name(float a) { return expr; } \
  HELPER vec v_##name(vec a) { vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_##name(a.v[l]); return r; }
#define BINARY(name, expr) \
  HELPER float f_##name(float a, float b) { return expr; } \
  HELPER vec v_##name(vec a, vec b) { \
    vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_##name(a.v[l], b.v[l]); return r; }
#define COMPARE(name, expr) \
  HELPER int f_##name(float a, float b) { return expr; } \
  HELPER mask v_##name(vec a, vec b) { \
    mask r; for (int l = 0; l < LANES; ++l) r.v[l] = f_##name(a.v[l], b.v[l]); return r; }
#define SHIFT(name, expr) \
  HELPER float f_##name(float a, int b) { return expr; } \
  HELPER vec v_##name(vec a, int b) { vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_##name(a.v[l], b); return r; }
#define MASKS(name, expr) \
  HELPER int f_##name(int a, int b) { return expr; } \
  HELPER mask v_##name(mask a, mask b) { \
    mask r; for (int l = 0; l < LANES; ++l) r.v[l] = f_##name(a.v[l], b.v[l]); return r; }
#define REDUCE(name, expr) \
  HELPER float v_##name(vec x) { \
    for (int w = LANES / 2; w > 0; w /= 2) for (int l = 0; l < w; ++l) { float a = x.v[l], b = x.v[l + w]; x.v[l] = expr; } \
    return x.v[0]; }

BINARY(fadd, a + b)
BINARY(fsub, a - b)
BINARY(fmul, a * b)
BINARY(fdiv, a / b)
BINARY(fmax, a > b ? a : b)
BINARY(fmin, a < b ? a : b)
UNARY(fsqrt, sqrtf(a))
UNARY(fround, rintf(a))
UNARY(ffloor, floorf(a))
UNARY(fceil, ceilf(a))
BINARY(bitand, of_bits(u_of(a) & u_of(b)))
BINARY(bitor, of_bits(u_of(a) | u_of(b)))
BINARY(bitxor, of_bits(u_of(a) ^ u_of(b)))
BINARY(bitadd, of_bits(u_of(a) + u_of(b)))
BINARY(bitsub, of_bits(u_of(a) - u_of(b)))
BINARY(bitmul, of_bits(u_of(a) * u_of(b)))
BINARY(roundscaled, (float)nearbyint((double)bits_of(a) * (double)b))
SHIFT(bitshl, of_bits(u_of(a) << b))
SHIFT(bitshr, of_bits((uint32_t)(bits_of(a) >> b)))
UNARY(tobits, of_bits(a >= -2147483648.0f && a < 2147483648.0f ? (uint32_t)(int32_t)a : 0x80000000u))
UNARY(frombits, (float)bits_of(a))
COMPARE(fless, a < b)
COMPARE(flesseq, a <= b)
COMPARE(fequal, a == b)
COMPARE(lanesbelow, bits_of(a) < bits_of(b))
COMPARE(lanesfrom, bits_of(a) >= bits_of(b))
MASKS(maskand, a & b)
MASKS(maskor, a | b)
MASKS(maskxor, a ^ b)
REDUCE(reduceadd, a + b)
REDUCE(reducemax, a > b || a != a ? a : b)
REDUCE(reducemul, a * b)
UNARY(expf, expf(a))
UNARY(erff, erff(a))
UNARY(tanhf, tanhf(a))
UNARY(logf, logf(a))
UNARY(sinf, sinf(a))
UNARY(cosf, cosf(a))
BINARY(powf, powf(a, b))
BINARY(fmodf, fmodf(a, b))

HELPER float f_fromindex(int64_t i) { return (float)i; }
HELPER float f_fma(float a, float b, float c) { return a * b + c; }
HELPER vec v_fma(vec a, vec b, vec c) { return v_fadd(v_fmul(a, b), c); }
HELPER float f_select(int m, float a, float b) { return m ? a : b; }
HELPER vec v_select(mask m, vec a, vec b) {
  vec r; for (int l = 0; l < LANES; ++l) r.v[l] = m.v[l] ? a.v[l] : b.v[l]; return r; }
HELPER vec v_splat(float a) { vec r; for (int l = 0; l < LANES; ++l) r.v[l] = a; return r; }
HELPER mask v_splat_mask(int a) { mask r; for (int l = 0; l < LANES; ++l) r.v[l] = a; return r; }
HELPER vec v_splat_bits(int64_t n) { return v_splat(of_bits((uint32_t)(int32_t)i_min(n, LANES))); }
HELPER vec v_even(vec a, vec b) {
  vec r; for (int l = 0; l < LANES; ++l) r.v[l] = 2 * l < LANES ? a.v[2 * l] : b.v[2 * l - LANES]; return r; }
HELPER vec v_load(const void *b, int64_t i) { vec r; memcpy(&r, (const char *)b + 4 * i, sizeof r); return r; }
HELPER vec v_load_if(const void *b, int64_t i, mask m) {
  vec r; for (int l = 0; l < LANES; ++l) r.v[l] = m.v[l] ? f_load(b, i + l) : 0.0f; return r; }
HELPER vec v_gather(const void *b, int64_t i, vec at) {
  vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_load(b, i + bits_of(at.v[l])); return r; }
HELPER vec v_gather_if(const void *b, int64_t i, vec at, mask m) {
  vec r; for (int l = 0; l < LANES; ++l) r.v[l] = m.v[l] ? f_load(b, i + bits_of(at.v[l])) : 0.0f; return r; }
#define ELEMENT(name, type, to) \
  HELPER float f_load_##name(const void *b, int64_t i) { \
    type x; memcpy(&x, (const char *)b + (int64_t)sizeof x * i, sizeof x); return (float)x; } \
  HELPER vec v_load_##name(const void *b, int64_t i) { \
    vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_load_##name(b, i + l); return r; } \
  HELPER vec v_load_##name##_if(const void *b, int64_t i, mask m) { \
    vec r; for (int l = 0; l < LANES; ++l) r.v[l] = m.v[l] ? f_load_##name(b, i + l) : 0.0f; return r; } \
  HELPER void f_store_##name(void *b, int64_t i, float a) { \
    type x = to; memcpy((char *)b + (int64_t)sizeof x * i, &x, sizeof x); } \
  HELPER void v_store_##name(void *b, int64_t i, vec a) { \
    for (int l = 0; l < LANES; ++l) f_store_##name(b, i + l, a.v[l]); } \
  HELPER void v_store_##name##_if(void *b, int64_t i, vec a, mask m) { \
    for (int l = 0; l < LANES; ++l) if (m.v[l]) f_store_##name(b, i + l, a.v[l]); }
ELEMENT(i32, int32_t, a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a <= -0x1p31f ? INT32_MIN : (int32_t)a)
ELEMENT(i64, int64_t, a != a ? 0 : a >= 0x1p63f ? INT64_MAX : a <= -0x1p63f ? INT64_MIN : (int64_t)a)
ELEMENT(f64, double, a)
#define SMALL(name, type, least, most) ELEMENT(name, type, a != a ? 0 : a >= most ? most : a <= least ? least : (type)a)
SMALL(i8, int8_t, INT8_MIN, INT8_MAX)
SMALL(u8, uint8_t, 0, UINT8_MAX)
SMALL(i16, int16_t, INT16_MIN, INT16_MAX)
#define BYTE(name, type) \
  HELPER float f_byte_##name(const void *b, int64_t i) { \
    return of_bits((uint32_t)(int32_t)((const type *)b)[i]); } \
  HELPER vec v_byte_##name(const void *b, int64_t i) { \
    vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_byte_##name(b, i + l); return r; } \
  HELPER vec v_byte_##name##_if(const void *b, int64_t i, mask m) { \
    vec r; for (int l = 0; l < LANES; ++l) r.v[l] = m.v[l] ? f_byte_##name(b, i + l) : 0.0f; return r; } \
  HELPER void f_put_##name(void *b, int64_t i, float a) { ((type *)b)[i] = (type)bits_of(a); } \
  HELPER void v_put_##name(void *b, int64_t i, vec a) { \
    for (int l = 0; l < LANES; ++l) f_put_##name(b, i + l, a.v[l]); } \
  HELPER void v_put_##name##_if(void *b, int64_t i, vec a, mask m) { \
    for (int l = 0; l < LANES; ++l) if (m.v[l]) f_put_##name(b, i + l, a.v[l]); }
BYTE(i8, signed char)
BYTE(u8, unsigned char)
HELPER float f_dot4(float sum, float a, float b, float even) {
  uint32_t r = u_of(sum), x = u_of(a), y = u_of(b);
  (void)even;
  for (int k = 0; k < 32; k += 8) {
    int u = (int)((x >> k) & 255), s = (int)(((y >> k) & 255) ^ 128) - 128;
    r += (uint32_t)(u * s);
  }
  return of_bits(r); }
HELPER vec v_dot4(vec sum, vec a, vec b, vec even) {
  vec r; for (int l = 0; l < LANES; ++l) r.v[l] = f_dot4(sum.v[l], a.v[l], b.v[l], even.v[l]); return r; }
HELPER mask vm_load(const void *b, int64_t i) { mask r; for (int l = 0; l < LANES; ++l) r.v[l] = m_load(b, i + l); return r; }
HELPER mask vm_load_if(const void *b, int64_t i, mask m) {
  mask r; for (int l = 0; l < LANES; ++l) r.v[l] = m.v[l] ? m_load(b, i + l) : 0; return r; }
HELPER void v_store(void *b, int64_t i, vec x) { memcpy((char *)b + 4 * i, &x, sizeof x); }
HELPER void v_store_if(void *b, int64_t i, vec x, mask m) {
  for (int l = 0; l < LANES; ++l) if (m.v[l]) f_store(b, i + l, x.v[l]); }
HELPER void vm_store(void *b, int64_t i, mask x) { for (int l = 0; l < LANES; ++l) m_store(b, i + l, x.v[l]); }
HELPER void vm_store_if(void *b, int64_t i, mask x, mask m) {
  for (int l = 0; l < LANES; ++l) if (m.v[l]) m_store(b, i + l, x.v[l]); }
HELPER void v_scatter(void *b, int64_t i, vec x, vec at) {
  for (int l = 0; l < LANES; ++l) f_store(b, i + bits_of(at.v[l]), x.v[l]); }
HELPER void v_scatter_if(void *b, int64_t i, vec x, vec at, mask m) {
  for (int l = 0; l < LANES; ++l) if (m.v[l]) f_store(b, i + bits_of(at.v[l]), x.v[l]); }
)";

constexpr std::string_view kOpNames[] = {
#define LOOP_OP(name, text) text,
#include "compiler/codegen/nest/loop_ops.def"
#undef LOOP_OP
};

constexpr std::string_view kOutsideNames[] = {"expf", "erff", "tanhf", "powf", "logf",  "sinf", "cosf",
                                              "erf",  "pow",  "sin",   "cos",  "fmodf", "fmod"};
static_assert(std::size(kOutsideNames) == static_cast<size_t>(runtime::ExternalFunction::Count));

/// Writes statement by statement. An expression that a statement uses twice is computed once, in a local variable
/// before it.
class Writer {
 public:
  Writer(const Nest& nest, const std::string& symbol)
      : nest_(nest), symbol_(symbol), suffix_(c_suffix(nest.number())) {}

  std::string run() {
    std::string params;
    size_t count = nest_.buffers().size();
    size_t scratch = count;
    for (size_t i = 0; i < count; ++i) {
      if (nest_.buffers()[i].scratch) {
        scratch = i;
      } else {
        params += param(i);
      }
    }
    if (scratch < count) params += param(scratch);
    line(0, fmt::format("static void {}({}int64_t {}, int64_t {}) {{", symbol_, params, var(nest_.task_begin()->imm),
                        var(nest_.task_end()->imm)));
    block(nest_.body(), 1);
    line(0, "}");
    return std::move(out_);
  }

 private:
  std::string param(size_t i) const {
    return fmt::format("{}void *restrict b{}, ", nest_.buffers()[i].written ? "" : "const ", i);
  }
  static std::string var(int64_t id) { return fmt::format("v{}", id); }
  std::string type_name(Type type, int lanes) const {
    switch (type) {
      case Type::Int: return "int64_t";
      case Type::Bool: return "int";
      case Type::Float: return lanes == 1 ? std::string(c_number_type(nest_.number())) : fmt::format("vec{}", suffix_);
      case Type::Mask: return lanes == 1 ? "int" : fmt::format("mask{}", suffix_);
    }
    return "";
  }
  /// `f_NAME` of a scalar, `v_NAME` of a vector.
  std::string function(int lanes, std::string_view name) const {
    return fmt::format("{}{}_{}", lanes == 1 ? "f" : "v", suffix_, name);
  }
  std::string mask_function(int lanes, std::string_view name) const {
    return lanes == 1 ? fmt::format("m_{}", name) : fmt::format("vm{}_{}", suffix_, name);
  }
  /// The function that loads or stores what a buffer holds.
  std::string access(int lanes, std::string_view name, int64_t buffer) const {
    const Element element = nest_.buffers()[static_cast<size_t>(buffer)].element;
    if (element == nest_.number()) return function(lanes, name);
    return function(lanes, fmt::format("{}_{}", name, name_of(element)));
  }
  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  void count_uses(const Expr& e) {
    if (++uses_[e.get()] > 1) return;
    for (const Expr& arg : e->args) count_uses(arg);
  }

  /// Returns the text of the expression, after writing the locals that it needs.
  std::string value(const Expr& e) {
    if (e->op == Op::IntConst) return e->imm < 0 ? fmt::format("({})", e->imm) : fmt::format("{}", e->imm);
    if (e->op == Op::Var) return var(e->imm);
    if (auto known = locals_.find(e.get()); known != locals_.end()) return known->second;
    std::string text = compute(*e);
    if (uses_[e.get()] < 2) return text;
    std::string name = fmt::format("t{}", temporaries_++);
    line(depth_, fmt::format("const {} {} = {};", type_name(e->type, e->lanes), name, text));
    locals_.emplace(e.get(), name);
    return name;
  }

  std::string arg(const ExprNode& e, size_t i) { return value(e.args[i]); }

  std::string infix(const ExprNode& e, std::string_view op) {
    std::string a = arg(e, 0);
    return fmt::format("({} {} {})", a, op, arg(e, 1));
  }

  /// `PREFIX_NAME(a, b)`, of all operands
  std::string call(const ExprNode& e, int lanes, std::string_view name, const std::string& more = "") {
    std::string args;
    for (const Expr& operand : e.args) runtime::add_to_list(args, value(operand));
    return fmt::format("{}({}{})", function(lanes, name), args, more);
  }

  std::string compute(const ExprNode& e) {
    switch (e.op) {
      case Op::Add: return infix(e, "+");
      case Op::Sub: return infix(e, "-");
      case Op::Mul: return infix(e, "*");
      case Op::Div: return infix(e, "/");
      case Op::Rem: return infix(e, "%");
      case Op::Less: return infix(e, "<");
      case Op::And: return infix(e, "&");
      case Op::Min:
      case Op::Max: {
        std::string a = arg(e, 0);
        return fmt::format("i_{}({}, {})", kOpNames[static_cast<size_t>(e.op)], a, arg(e, 1));
      }
      case Op::Load: return load(e, access(e.lanes, "load", e.imm));
      case Op::LoadAs: return load(e, function(e.lanes, fmt::format("load_{}", name_of(e.element))));
      case Op::LoadByte: return load(e, function(e.lanes, fmt::format("byte_{}", name_of(e.element))));
      case Op::LoadMask: return load(e, mask_function(e.lanes, "load"));
      case Op::Gather: return load(e, access(e.lanes, "gather", e.imm));
      case Op::LoadInt: return fmt::format("i{}_load(b{}, {})", e.width, e.imm, arg(e, 0));
      case Op::Splat:
        return fmt::format("{}({})", function(e.lanes, e.type == Type::Mask ? "splat_mask" : "splat"), arg(e, 0));
      case Op::Even: {
        std::string a = arg(e, 0);
        return fmt::format("{}({}, {})", function(e.lanes, "even"), a, arg(e, 1));
      }
      case Op::BitShl:
      case Op::BitShr: return call(e, e.lanes, kOpNames[static_cast<size_t>(e.op)], fmt::format(", {}", e.imm));
      case Op::Outside: return call(e, e.lanes, kOutsideNames[static_cast<size_t>(e.imm)]);
      case Op::LanesBelow:
      case Op::LanesFrom: {
        std::string lanes = arg(e, 0), count = arg(e, 1);
        if (e.args[1]->type != Type::Float) count = fmt::format("{}({})", function(e.lanes, "splat_bits"), count);
        return fmt::format("{}({}, {})", function(e.lanes, kOpNames[static_cast<size_t>(e.op)]), lanes, count);
      }
      case Op::ReduceAdd:
      case Op::ReduceMax:
      case Op::ReduceMul:
        if (e.args[0]->lanes == 1) return arg(e, 0);
        return call(e, kCLanes, kOpNames[static_cast<size_t>(e.op)]);
      default: return call(e, e.lanes, kOpNames[static_cast<size_t>(e.op)]);
    }
  }

  /// Writes the index and further operands; the last of three (of two, if there are no offsets) is a mask.
  std::string load(const ExprNode& e, std::string name) {
    size_t unmasked = e.op == Op::Gather ? 2 : 1;
    if (e.args.size() > unmasked) {
      if (e.lanes == 1) {
        std::string mask = arg(e, 1);
        return fmt::format("({} ? {}(b{}, {}) : 0)", mask, name, e.imm, arg(e, 0));
      }
      name += "_if";
    }
    std::string args;
    for (const Expr& operand : e.args) args += ", " + value(operand);
    return fmt::format("{}(b{}{})", name, e.imm, args);
  }

  void block(const std::vector<Stmt>& statements, int depth) {
    for (const Stmt& s : statements) {
      depth_ = depth;
      uses_.clear();
      locals_.clear();
      for (const Expr& e : {s.a, s.b, s.c, s.d}) {
        if (e) count_uses(e);
      }
      statement(s, depth);
    }
  }

  void statement(const Stmt& s, int depth) {
    switch (s.kind) {
      case Stmt::Kind::For: {
        std::string begin = value(s.a), end = value(s.b), name = var(s.var);
        line(depth, fmt::format("for (int64_t {0} = {1}, e{2} = {3}; {0} < e{2}; {0} += {4}) {{", name, begin, s.var,
                                end, s.step));
        block(s.body, depth + 1);
        line(depth, "}");
        return;
      }
      case Stmt::Kind::If:
        line(depth, fmt::format("if ({}) {{", value(s.a)));
        block(s.body, depth + 1);
        line(depth, "}");
        return;
      case Stmt::Kind::Let:
      case Stmt::Kind::Var: {
        const Nest::Variable& declared = nest_.variables()[static_cast<size_t>(s.var)];
        std::string text = value(s.a);
        line(depth, fmt::format("{}{} {} = {};", s.kind == Stmt::Kind::Let ? "const " : "",
                                type_name(declared.type, declared.lanes), var(s.var), text));
        line(depth, fmt::format("(void){};", var(s.var)));
        return;
      }
      case Stmt::Kind::Set: {
        std::string text = value(s.a);
        line(depth, fmt::format("{} = {};", var(s.var), text));
        return;
      }
      case Stmt::Kind::Store: return store(s, access(s.b->lanes, "store", s.buffer), s.c, depth);
      case Stmt::Kind::StoreInt: return store(s, "i8_store", nullptr, depth);
      case Stmt::Kind::StoreAs:
        return store(s, function(s.b->lanes, fmt::format("store_{}", name_of(s.element))), s.c, depth);
      case Stmt::Kind::StoreByte:
        return store(s, function(s.b->lanes, fmt::format("put_{}", name_of(s.element))), s.c, depth);
      case Stmt::Kind::StoreMask: return store(s, mask_function(s.b->lanes, "store"), s.c, depth);
      case Stmt::Kind::Scatter: {
        std::string index = value(s.a), stored = value(s.b), offsets = value(s.c);
        std::string mask = s.d ? ", " + value(s.d) : "";
        line(depth, fmt::format("{}{}(b{}, {}, {}, {}{});", access(s.b->lanes, "scatter", s.buffer), s.d ? "_if" : "",
                                s.buffer, index, stored, offsets, mask));
        return;
      }
      case Stmt::Kind::Prefetch: return;
      case Stmt::Kind::Comment: return line(depth, "/* " + s.text + " */");
      case Stmt::Kind::TileConfig:
      case Stmt::Kind::TileRelease:
      case Stmt::Kind::TileZero:
      case Stmt::Kind::TileLoad:
      case Stmt::Kind::TileStore:
      case Stmt::Kind::TileDot: COLLAGE_CHECK(false, "C has no tiles, and its instruction set says so");
    }
  }

  void store(const Stmt& s, std::string name, const Expr& mask, int depth) {
    std::string index = value(s.a), stored = value(s.b);
    if (!mask) return line(depth, fmt::format("{}(b{}, {}, {});", name, s.buffer, index, stored));
    std::string condition = value(mask);
    if (s.b->lanes == 1)
      return line(depth, fmt::format("if ({}) {}(b{}, {}, {});", condition, name, s.buffer, index, stored));
    line(depth, fmt::format("{}_if(b{}, {}, {}, {});", name, s.buffer, index, stored, condition));
  }

  const Nest& nest_;
  const std::string& symbol_;
  std::string_view suffix_;
  std::string out_;
  int depth_ = 0;
  int temporaries_ = 0;
  std::map<const ExprNode*, int> uses_;
  std::map<const ExprNode*, std::string> locals_;
};

}  // namespace

std::string c_prelude(const std::set<Element>& numbers) {
  std::string text(kPrelude);
  for (Element number : numbers) text += c_number_prelude(number);
  return text;
}

std::string c_kernel(const Nest& nest, const std::string& symbol) {
  return Writer(nest, symbol).run();
}

}  // namespace collage::codegen
