// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

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

}  // namespace collage::codegen
