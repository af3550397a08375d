// SPDX-License-Identifier: Apache-2.0
// The loop IR between operators and LLVM: one kernel as buffers, loops and expressions, printable, without LLVM types.
//
// `emit` translates a nest literally: vectors, unrolled bodies and register blocks are explicit, and no auto-vectoriser
// runs. The text of a nest is its identity: equal texts are compiled once. Therefore it must not contain data:
// constants lie in a table that is passed to the kernel as a buffer (`Nest::constant`). This also keeps them out of the
// object's read-only section, so that the code needs no relocation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/dtype.h"
#include "runtime/exec/code.h"

namespace collage::codegen {

/// Int is a 64-bit index. Float and Mask have lanes: 1 (scalar) or the nest's vector width. A Float is of the nest's
/// number type, `Nest::number`: f32, f64, i32 or i64.
enum class Type { Int, Bool, Float, Mask };

enum class Op {
#define LOOP_OP(name, text) name,
#include "compiler/codegen/nest/loop_ops.def"
#undef LOOP_OP
};

/// How elements lie in memory that are Float values in a nest. They are converted to its number type when loaded.
using Element = runtime::DType;

/// Returns whether an element is one byte that is a number.
bool is_byte(Element element);
/// What is computed with such elements: f32 for f16 and bf16, otherwise the type itself.
Element computed_in(Element element);

struct ExprNode;
/// Immutable and shared: an expression is a DAG, and a node that a statement reaches twice is evaluated once.
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
  Op op = Op::IntConst;
  Type type = Type::Int;
  int lanes = 1;
  int64_t imm = 0;    ///< IntConst: value; Var: its id; loads, Gather: buffer; shifts: distance; Outside: the function
  int64_t width = 4;  ///< LoadInt: bytes of the integer
  Element element = Element::F32;  ///< LoadAs, LoadByte, Rounded
  std::vector<Expr> args;
};

// Index arithmetic; constants fold.
Expr int_const(int64_t value);
Expr add(Expr a, Expr b);
Expr add(Expr a, int64_t b);
Expr sub(Expr a, Expr b);
Expr mul(Expr a, int64_t b);
Expr mul(Expr a, Expr b);
/// Expects operands that are never negative.
Expr div(Expr a, int64_t b);
Expr rem(Expr a, int64_t b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr both(Expr a, Expr b);
bool is_int_const(const Expr& e, int64_t* value = nullptr);
/// Whole numbers up to here are numbers of every type.
inline constexpr int64_t kMostIndexNumber = int64_t{1} << 24;
/// An index as a number, a scalar. Expects that the number type has it.
Expr from_index(Expr index);

// Values. A binary operation's operands have equal lanes.
Expr unary(Op op, Expr a, int64_t imm = 0);
/// Remainder is C's, of integers: no lane of `b` may be 0 or -1.
Expr binary(Op op, Expr a, Expr b);
Expr fma(Expr a, Expr b, Expr c);
Expr select(Expr mask, Expr a, Expr b);
/// `lanes` copies of a scalar.
Expr splat(Expr scalar, int lanes);
/// Elements [index, index + lanes) of a buffer; lanes that `mask` excludes are 0 and not read. They become the number
/// type, if the buffer's elements have another one.
Expr load(int buffer, Expr index, int lanes, Expr mask = nullptr);
/// Elements index + offsets[lane], where `offsets` are integers as wide as the number type.
Expr gather(int buffer, Expr index, Expr offsets, Expr mask = nullptr);

/// Elements [index, index + lanes) of a type other than the buffer's; lanes that `mask` excludes are 0 and not read.
Expr load_as(Element element, int buffer, Expr index, int lanes, Expr mask = nullptr);

/// Bytes [index, index + lanes) as 32-bit patterns, extended as I8 or U8; lanes that `mask` excludes are 0 and not
/// read.
Expr load_byte(Element element, int buffer, Expr index, int lanes, Expr mask = nullptr);

/// An i32 in each lane, times a factor of f32 in double, rounded to a whole number: halves to even.
Expr round_scaled(Expr sum, Expr factor);

/// Lane i is lane pattern[i] of the vector; `pattern` has 32-bit integers below the number of lanes, which is 8 or 16.
Expr permute(Expr vector, Expr pattern);

/// A signed integer of 4 or 8 bytes from a buffer of such integers.
Expr load_int(int buffer, Expr index, int64_t width);
/// True for bytes [index, index + lanes) of a buffer of booleans that are not 0; lanes that `mask` excludes are false.
Expr load_mask(int buffer, Expr index, int lanes, Expr mask = nullptr);
/// MaskAnd, MaskOr or MaskXor.
Expr mask_op(Op op, Expr a, Expr b);

struct Stmt {
  enum class Kind {
    For,
    Let,
    Var,
    Set,
    Store,
    StoreAs,
    StoreByte,
    StoreInt,
    StoreMask,
    Scatter,
    If,
    Prefetch,
    Comment,
    TileConfig,
    TileRelease,
    TileZero,
    TileLoad,
    TileStore,
    TileDot
  };
  Kind kind = Kind::Comment;
  int var = -1;                    ///< For, Let, Var, Set
  int buffer = -1;                 ///< Store, StoreAs, StoreByte, StoreInt, StoreMask, Scatter, Prefetch
  int64_t step = 1;                ///< For; TileLoad, TileStore: elements from row to row
  Element element = Element::F32;  ///< StoreAs, StoreByte
  Expr a;                          ///< For: begin; If: condition; Let, Var, Set: value; others: index
  Expr b;                          ///< For: end; Store, StoreAs, StoreByte, StoreInt, StoreMask, Scatter: value
  Expr c;                          ///< Store, StoreAs, StoreByte, StoreMask: mask or null; Scatter: lane offsets
  Expr d;  ///< Scatter: mask or null; StoreMask: bytes that are 1; StoreAs: least value out of range or null
  std::array<int, 3> tiles{};  ///< TileZero, TileLoad, TileStore: the first; TileDot: sum, rows, columns
  std::vector<Stmt> body;      ///< For, If
  std::string text;            ///< Comment
};

/// A kernel under construction: statements go to the innermost open block.
class Nest {
 public:
  explicit Nest(int vector_lanes, Element number = Element::F32) : lanes_(vector_lanes), number_(number) {
    open_.push_back({});
  }

  int lanes() const { return lanes_; }
  /// The type of Float values: arithmetic on integers wraps, and comparisons are signed.
  Element number() const { return number_; }
  bool has_floats() const { return runtime::is_float(number_); }
  /// Bytes of a number; those of scratch memory and of the constant table, too.
  size_t number_bytes() const { return runtime::size_of(number_); }
  /// Adds a buffer of numbers; ids count up from 0 and are the order of the kernel's operands.
  int add_buffer(std::string name, bool written, bool scratch = false);
  /// Adds a buffer whose elements have another type.
  int add_buffer_of(Element element, std::string name, bool written);
  /// A constant of the table, as a scalar or in every lane. This includes zero: under register pressure LLVM would load
  /// it from .rodata.
  /// An integer is the nearest one to `value`.
  Expr constant(double value, int lanes);
  /// The low bits, as many as a number has.
  Expr constant_bits(uint64_t bits, int lanes);
  Expr zero(int lanes) { return constant_bits(0, lanes); }
  /// A number rounded to f16 or bf16, as it is when an operator's result has that dtype; `value` for other dtypes.
  Expr rounded(Element element, Expr value);
  /// Returns whether some number is rounded so.
  bool rounds() const { return rounds_; }
  /// Constants that differ by lane: stride * lane, as integers as wide as a number.
  Expr lane_offsets(int64_t stride);
  /// True for the first `count` lanes.
  Expr lanes_below(Expr count);
  /// True for the lanes begin <= lane < end.
  Expr lanes_between(Expr begin, Expr end);

  /// Masks for `load_even`: positions low <= p < high exist, p counted from the first.
  struct EvenMasks {
    Expr first, second;
  };
  EvenMasks even_masks(const Expr& low, const Expr& high);
  /// Elements index + 2 * lane, by two loads and a shuffle instead of a gather. Elements that do not exist are 0.
  Expr load_even(int buffer, const Expr& index, const EvenMasks& masks);

  /// The parallel range that a call covers.
  Expr task_begin() const { return task_begin_; }
  Expr task_end() const { return task_end_; }

  Expr begin_for(std::string name, Expr begin, Expr end, int64_t step = 1);
  void end_for();
  void begin_if(Expr condition);
  void end_if();
  Expr let(std::string name, Expr value);
  /// A variable that `set` may change.
  Expr variable(std::string name, Expr initial);
  void set(const Expr& variable, Expr value);
  void store(int buffer, Expr index, Expr value, Expr mask = nullptr);
  /// Stores elements of another type: to integers towards zero, clamped to their range, NaN as 0.
  void store_as(Element element, int buffer, Expr index, Expr value, Expr mask = nullptr);
  /// Stores 32-bit patterns in the range of I8 or U8 as bytes.
  void store_byte(Element element, int buffer, Expr index, Expr value, Expr mask = nullptr);
  /// What `store_as` would store in a byte, as a whole number: clamped, NaN as 0. Expects a whole number.
  Expr clamp_to_byte(Element element, const Expr& value);
  /// `sum` plus the four products of each lane's bytes, which `a` holds as u8 and `b` as s8. Exact modulo 2^32.
  Expr dot4(Expr sum, Expr a, Expr b);
  /// Stores an index, 8 bytes.
  void store_int(int buffer, Expr index, Expr value);
  /// Stores booleans, one byte each.
  void store_mask(int buffer, Expr index, Expr value, Expr mask = nullptr);
  void scatter(int buffer, Expr index, Expr value, Expr offsets, Expr mask = nullptr);
  void prefetch(int buffer, Expr index);
  void comment(std::string text);

  // Tiles: eight registers of up to 16 rows of 64 bytes. A kernel configures them before its first tile statement and
  // releases them after its last.

  /// Gives tile i rows[i] rows of 64 bytes.
  void tile_config(const std::array<int, 8>& rows);
  void tile_release();
  void tile_zero(int tile);
  /// Row r lies at index + r * stride.
  void tile_load(int tile, int buffer, Expr index, int64_t stride);
  void tile_store(int tile, int buffer, Expr index, int64_t stride);
  /// Adds products of pairs of bf16: sum[r][c] += rows[r][2 k] columns[k][2 c] + rows[r][2 k + 1] columns[k][2 c + 1].
  void tile_dot(int sum, int rows, int columns);

  struct Buffer {
    std::string name;
    bool written = false;
    bool scratch = false;  ///< private to the thread: the last operand, whatever its id
    Element element = Element::F32;
  };
  struct Variable {
    std::string name;
    Type type = Type::Int;
    int lanes = 1;
  };
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Stmt>& body() const { return open_.front(); }
  /// Bit patterns of the constant table; its buffer, or -1 if there is none.
  const std::vector<uint64_t>& table() const { return table_; }
  int table_buffer() const { return table_buffer_; }

 private:
  Expr declare(std::string name, const Expr& like);
  Expr table_entry(std::vector<uint64_t> bits, int lanes);

  int lanes_;
  Element number_;
  std::vector<Buffer> buffers_;
  std::vector<Variable> variables_;
  std::vector<std::vector<Stmt>> open_;
  std::vector<Stmt> headers_;
  std::vector<uint64_t> table_;
  int table_buffer_ = -1;
  bool rounds_ = false;
  Expr task_begin_ = declare("begin", int_const(0));
  Expr task_end_ = declare("end", int_const(0));
};

/// The nest as text, which is also its identity.
std::string to_string(const Nest& nest);

}  // namespace collage::codegen
