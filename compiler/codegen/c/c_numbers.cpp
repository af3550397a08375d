// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/c/c_numbers.h"

#include <algorithm>
#include <set>

#include "runtime/support/check.h"

namespace collage::codegen {
namespace {

/// Every number: `@` is the suffix, `$N` the type, `$U` and `$S` the integers of its width, `$L` the lanes.
constexpr std::string_view kAnyNumber = R"(
#define LANES@ $L
typedef struct { $N v[LANES@]; } vec@;
typedef struct { int v[LANES@]; } mask@;

HELPER $N f@_load(const void *b, int64_t i) {
  $N r; memcpy(&r, (const char *)b + (int64_t)sizeof r * i, sizeof r); return r; }
HELPER void f@_store(void *b, int64_t i, $N x) { memcpy((char *)b + (int64_t)sizeof x * i, &x, sizeof x); }
HELPER $U u@_of($N x) { $U r; memcpy(&r, &x, sizeof r); return r; }
HELPER $S s@_of($N x) { $S r; memcpy(&r, &x, sizeof r); return r; }
HELPER $N n@_of($U x) { $N r; memcpy(&r, &x, sizeof r); return r; }

#define UNARY@(name, expr) \
  HELPER $N f@_##name($N a) { return expr; } \
  HELPER vec@ v@_##name(vec@ a) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_##name(a.v[l]); return r; }
#define BINARY@(name, expr) \
  HELPER $N f@_##name($N a, $N b) { return expr; } \
  HELPER vec@ v@_##name(vec@ a, vec@ b) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_##name(a.v[l], b.v[l]); return r; }
#define COMPARE@(name, expr) \
  HELPER int f@_##name($N a, $N b) { return expr; } \
  HELPER mask@ v@_##name(vec@ a, vec@ b) { \
    mask@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_##name(a.v[l], b.v[l]); return r; }
#define SHIFT@(name, expr) \
  HELPER $N f@_##name($N a, int b) { return expr; } \
  HELPER vec@ v@_##name(vec@ a, int b) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_##name(a.v[l], b); return r; }
#define MASKS@(name, expr) \
  HELPER int f@_##name(int a, int b) { return expr; } \
  HELPER mask@ v@_##name(mask@ a, mask@ b) { \
    mask@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_##name(a.v[l], b.v[l]); return r; }
#define REDUCE@(name, expr) \
  HELPER $N v@_##name(vec@ x) { \
    for (int w = LANES@ / 2; w > 0; w /= 2) \
      for (int l = 0; l < w; ++l) { $N a = x.v[l], b = x.v[l + w]; x.v[l] = expr; } \
    return x.v[0]; }
#define ELEMENT@(name, type, to) \
  HELPER $N f@_load_##name(const void *b, int64_t i) { \
    type x; memcpy(&x, (const char *)b + (int64_t)sizeof x * i, sizeof x); return ($N)x; } \
  HELPER vec@ v@_load_##name(const void *b, int64_t i) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_load_##name(b, i + l); return r; } \
  HELPER vec@ v@_load_##name##_if(const void *b, int64_t i, mask@ m) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m.v[l] ? f@_load_##name(b, i + l) : 0; return r; } \
  HELPER void f@_store_##name(void *b, int64_t i, $N a) { \
    type x = to; memcpy((char *)b + (int64_t)sizeof x * i, &x, sizeof x); } \
  HELPER void v@_store_##name(void *b, int64_t i, vec@ a) { \
    for (int l = 0; l < LANES@; ++l) f@_store_##name(b, i + l, a.v[l]); } \
  HELPER void v@_store_##name##_if(void *b, int64_t i, vec@ a, mask@ m) { \
    for (int l = 0; l < LANES@; ++l) if (m.v[l]) f@_store_##name(b, i + l, a.v[l]); }

BINARY@(fmax, a > b ? a : b)
BINARY@(fmin, a < b ? a : b)
BINARY@(bitand, n@_of(u@_of(a) & u@_of(b)))
BINARY@(bitor, n@_of(u@_of(a) | u@_of(b)))
BINARY@(bitxor, n@_of(u@_of(a) ^ u@_of(b)))
BINARY@(bitadd, n@_of(u@_of(a) + u@_of(b)))
BINARY@(bitsub, n@_of(u@_of(a) - u@_of(b)))
BINARY@(bitmul, n@_of(u@_of(a) * u@_of(b)))
SHIFT@(bitshl, n@_of(u@_of(a) << b))
SHIFT@(bitshr, n@_of(($U)(s@_of(a) >> b)))
COMPARE@(fless, a < b)
COMPARE@(flesseq, a <= b)
COMPARE@(fequal, a == b)
COMPARE@(lanesbelow, s@_of(a) < s@_of(b))
COMPARE@(lanesfrom, s@_of(a) >= s@_of(b))
MASKS@(maskand, a & b)
MASKS@(maskor, a | b)
MASKS@(maskxor, a ^ b)

HELPER $N f@_fromindex(int64_t i) { return ($N)i; }
HELPER $N f@_select(int m, $N a, $N b) { return m ? a : b; }
HELPER vec@ v@_select(mask@ m, vec@ a, vec@ b) {
  vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m.v[l] ? a.v[l] : b.v[l]; return r; }
HELPER vec@ v@_splat($N a) { vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = a; return r; }
HELPER mask@ v@_splat_mask(int a) { mask@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = a; return r; }
HELPER vec@ v@_splat_bits(int64_t n) { return v@_splat(n@_of(($U)($S)i_min(n, LANES@))); }
HELPER vec@ v@_even(vec@ a, vec@ b) {
  vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = 2 * l < LANES@ ? a.v[2 * l] : b.v[2 * l - LANES@]; return r; }
HELPER vec@ v@_load(const void *b, int64_t i) {
  vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_load(b, i + l); return r; }
HELPER vec@ v@_load_if(const void *b, int64_t i, mask@ m) {
  vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m.v[l] ? f@_load(b, i + l) : 0; return r; }
HELPER vec@ v@_gather(const void *b, int64_t i, vec@ at) {
  vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_load(b, i + s@_of(at.v[l])); return r; }
HELPER vec@ v@_gather_if(const void *b, int64_t i, vec@ at, mask@ m) {
  vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m.v[l] ? f@_load(b, i + s@_of(at.v[l])) : 0; return r; }
HELPER mask@ vm@_load(const void *b, int64_t i) {
  mask@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m_load(b, i + l); return r; }
HELPER mask@ vm@_load_if(const void *b, int64_t i, mask@ m) {
  mask@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m.v[l] ? m_load(b, i + l) : 0; return r; }
HELPER void v@_store(void *b, int64_t i, vec@ x) { for (int l = 0; l < LANES@; ++l) f@_store(b, i + l, x.v[l]); }
HELPER void v@_store_if(void *b, int64_t i, vec@ x, mask@ m) {
  for (int l = 0; l < LANES@; ++l) if (m.v[l]) f@_store(b, i + l, x.v[l]); }
HELPER void vm@_store(void *b, int64_t i, mask@ x) { for (int l = 0; l < LANES@; ++l) m_store(b, i + l, x.v[l]); }
HELPER void vm@_store_if(void *b, int64_t i, mask@ x, mask@ m) {
  for (int l = 0; l < LANES@; ++l) if (m.v[l]) m_store(b, i + l, x.v[l]); }
HELPER void v@_scatter(void *b, int64_t i, vec@ x, vec@ at) {
  for (int l = 0; l < LANES@; ++l) f@_store(b, i + s@_of(at.v[l]), x.v[l]); }
HELPER void v@_scatter_if(void *b, int64_t i, vec@ x, vec@ at, mask@ m) {
  for (int l = 0; l < LANES@; ++l) if (m.v[l]) f@_store(b, i + s@_of(at.v[l]), x.v[l]); }
)";

constexpr std::string_view kDoubles = R"(
BINARY@(fadd, a + b)
BINARY@(fsub, a - b)
BINARY@(fmul, a * b)
BINARY@(fdiv, a / b)
UNARY@(fsqrt, sqrt(a))
UNARY@(fround, rint(a))
UNARY@(ffloor, floor(a))
UNARY@(fceil, ceil(a))
UNARY@(tobits, n@_of(a >= -0x1p63 && a < 0x1p63 ? ($U)($S)a : ($U)1 << 63))
UNARY@(frombits, ($N)s@_of(a))
REDUCE@(reduceadd, a + b)
REDUCE@(reducemax, a > b || a != a ? a : b)
REDUCE@(reducemul, a * b)
UNARY@(erf, erf(a))
UNARY@(sin, sin(a))
UNARY@(cos, cos(a))
BINARY@(pow, pow(a, b))
BINARY@(fmod, fmod(a, b))
ELEMENT@(f32, float, (float)a)
ELEMENT@(i32, int32_t, a != a ? 0 : a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : (int32_t)a)
ELEMENT@(i64, int64_t, a != a ? 0 : a >= 0x1p63 ? INT64_MAX : a <= -0x1p63 ? INT64_MIN : (int64_t)a)
)";

constexpr std::string_view kIntegers = R"(
BINARY@(fadd, n@_of(u@_of(a) + u@_of(b)))
BINARY@(fsub, n@_of(u@_of(a) - u@_of(b)))
BINARY@(fmul, n@_of(u@_of(a) * u@_of(b)))
BINARY@(remainder, a % b)
REDUCE@(reduceadd, f@_fadd(a, b))
REDUCE@(reducemax, a > b ? a : b)
REDUCE@(reducemul, f@_fmul(a, b))
ELEMENT@(f32, float, (float)a)
ELEMENT@(f64, double, (double)a)
)";
constexpr std::string_view kFromLong = "ELEMENT@(i32, int32_t, (int32_t)a)\n";
// Small elements are only moved, as words.
constexpr std::string_view kFromInt = R"(
ELEMENT@(i64, int64_t, a)
#define MOVED@(name, type) \
  ELEMENT@(name, type, (type)a) \
  HELPER vec@ v@_gather_##name(const void *b, int64_t i, vec@ at) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = f@_load_##name(b, i + s@_of(at.v[l])); return r; } \
  HELPER vec@ v@_gather_##name##_if(const void *b, int64_t i, vec@ at, mask@ m) { \
    vec@ r; for (int l = 0; l < LANES@; ++l) r.v[l] = m.v[l] ? f@_load_##name(b, i + s@_of(at.v[l])) : 0; return r; } \
  HELPER void v@_scatter_##name(void *b, int64_t i, vec@ x, vec@ at) { \
    for (int l = 0; l < LANES@; ++l) f@_store_##name(b, i + s@_of(at.v[l]), x.v[l]); } \
  HELPER void v@_scatter_##name##_if(void *b, int64_t i, vec@ x, vec@ at, mask@ m) { \
    for (int l = 0; l < LANES@; ++l) if (m.v[l]) f@_store_##name(b, i + s@_of(at.v[l]), x.v[l]); }
MOVED@(u8, uint8_t)
MOVED@(i16, int16_t)
)";

constexpr std::string_view kFused = R"(
HELPER $N f@_fma($N a, $N b, $N c) { return f@_fadd(f@_fmul(a, b), c); }
HELPER vec@ v@_fma(vec@ a, vec@ b, vec@ c) { return v@_fadd(v@_fmul(a, b), c); }
)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// What numbers other than f32 are converted from and to.
bool is_wide(Element element) {
  return element == Element::F32 || element == Element::F64 || element == Element::I32 || element == Element::I64;
}

/// Looks at the operations of a nest that does not compute in f32.
class TypeCheck {
 public:
  explicit TypeCheck(const Nest& nest) : nest_(nest), has_floats_(nest.has_floats()) {}

  bool run() { return statements(nest_.body()); }

 private:
  /// Copies of small elements are nests of i32.
  bool is_moved(Element element) const {
    return nest_.number() == Element::I32 && (element == Element::U8 || element == Element::I16);
  }
  bool is_number_or_moved(Element element) const { return element == nest_.number() || is_moved(element); }
  /// A float becomes an integer only where its range is known.
  bool is_read(Element element) const {
    return (is_wide(element) && (has_floats_ || !runtime::is_float(element))) || is_moved(element);
  }
  Element element_of(int64_t buffer) const { return nest_.buffers()[static_cast<size_t>(buffer)].element; }

  bool statements(const std::vector<Stmt>& list) {
    return std::all_of(list.begin(), list.end(), [this](const Stmt& s) { return statement(s); });
  }

  bool statement(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::Store:
        if (!is_wide(element_of(s.buffer)) && !is_moved(element_of(s.buffer))) return false;
        break;
      case Stmt::Kind::StoreAs:
        if (!is_wide(s.element)) return false;
        break;
      case Stmt::Kind::Scatter:
        if (!is_number_or_moved(element_of(s.buffer))) return false;
        break;
      case Stmt::Kind::StoreByte: return false;
      default: break;
    }
    return expression(s.a) && expression(s.b) && expression(s.c) && expression(s.d) && statements(s.body);
  }

  bool expression(const Expr& e) {
    if (e == nullptr || !seen_.insert(e.get()).second) return true;
    switch (e->op) {
      case Op::LoadByte:
      case Op::Dot4:
      case Op::RoundScaled:
      case Op::Rounded:
      case Op::Permute: return false;
      case Op::FDiv:
      case Op::FSqrt:
      case Op::FRound:
      case Op::FFloor:
      case Op::FCeil:
      case Op::ToBits:
      case Op::FromBits:
      case Op::Outside:
        if (!has_floats_) return false;
        break;
      case Op::Load:
        if (!is_read(element_of(e->imm))) return false;
        break;
      case Op::LoadAs:
        if (!is_read(e->element)) return false;
        break;
      case Op::Gather:
        if (!is_number_or_moved(element_of(e->imm))) return false;
        break;
      default: break;
    }
    return std::all_of(e->args.begin(), e->args.end(), [this](const Expr& each) { return expression(each); });
  }

  const Nest& nest_;
  bool has_floats_;
  std::set<const ExprNode*> seen_;
};

}  // namespace

std::string_view c_suffix(Element number) {
  switch (number) {
    case Element::F32: return "";
    case Element::F64: return "d";
    case Element::I32: return "i";
    case Element::I64: return "l";
    default: COLLAGE_CHECK(false, "no nest computes in {}", runtime::name_of(number));
  }
  return "";
}

std::string_view c_number_type(Element number) {
  switch (number) {
    case Element::F32: return "float";
    case Element::F64: return "double";
    case Element::I32: return "int32_t";
    default: return "int64_t";
  }
}

std::string c_number_prelude(Element number) {
  if (number == Element::F32) return "";
  std::string text(kAnyNumber);
  text += number == Element::F64 ? kDoubles : kIntegers;
  if (number == Element::I32) text += kFromInt;
  if (number == Element::I64) text += kFromLong;
  text += kFused;
  const bool is_long = runtime::size_of(number) == 8;
  replace_all(text, "@", c_suffix(number));
  replace_all(text, "$N", c_number_type(number));
  replace_all(text, "$U", is_long ? "uint64_t" : "uint32_t");
  replace_all(text, "$S", is_long ? "int64_t" : "int32_t");
  replace_all(text, "$L", is_long ? "2" : "4");
  return text;
}

bool has_c_types(const Nest& nest) {
  if (nest.rounds()) return false;
  if (nest.number() != Element::F32) return TypeCheck(nest).run();
  const std::vector<Nest::Buffer>& buffers = nest.buffers();
  return std::all_of(buffers.begin(), buffers.end(),
                     [](const Nest::Buffer& buffer) { return buffer.element == Element::F32; });
}

}  // namespace collage::codegen
