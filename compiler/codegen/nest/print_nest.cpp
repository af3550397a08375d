// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "compiler/codegen/nest/loop_nest.h"
#include "runtime/core/joined.h"

namespace collage::codegen {
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
    for (const Expr& a : e->args) runtime::add_to_list(args, expr(a));
    if (e->op == Op::BitShl || e->op == Op::BitShr || e->op == Op::Outside) args += fmt::format(", {}", e->imm);
    if (e->op == Op::Gather) return fmt::format("gather {}[{}]", buffer(e->imm), args);
    return fmt::format("{}{}({})", name_of(e->op), suffix_of(e->op == Op::Rounded, e->element), args);
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
