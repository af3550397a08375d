// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/llvm/emitter.h"
#include "runtime/support/check.h"

namespace collage::codegen {

// The intrinsics that name their registers: LLVM then neither allocates nor configures tiles.
void Emitter::tile_statement(const Stmt& s) {
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

}  // namespace collage::codegen
