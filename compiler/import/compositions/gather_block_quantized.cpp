// SPDX-License-Identifier: Apache-2.0
// GatherBlockQuantized of ONNX Runtime: entries of a table, such as embeddings, that is quantised in blocks.
//
//   GatherBlockQuantized(data, indices, scales, zeros) {gather_axis = 0, quantize_axis = 1, block_size = 32}
//     =>  DequantizeLinear(Gather(data, indices), Gather(scales, indices), Gather(zeros, indices))
//         {axis = 1, block_size = 32}
//
// Only what is gathered is unpacked and dequantised. Data of u8 have 2, 4 or 8 bits, several to a byte along the last
// axis, from the lowest bits up; so have their zero points, which are half of the range where they are left out. Zero
// points of other integers are 0 then.
#include <algorithm>

#include "compiler/import/compositions/compositions.h"

namespace collage::import::compositions {

using ir::DType;
using ir::Shape;
using ir::ValueId;

namespace {

/// How numbers lie in data and zero points.
struct Packing {
  int64_t bits = 8;
  int64_t per_byte() const { return 8 / bits; }
};

/// Numbers out of the bytes along the last axis, of which the first `count` count.
ValueId unpack(Composition& c, ValueId bytes, const Packing& packing, int64_t count) {
  if (!c.is_good() || packing.bits == 8) return bytes;
  const double mask = static_cast<double>((1 << packing.bits) - 1);
  Shape column = c.shape(bytes), row = column;
  column.push_back(1);
  row.back() *= packing.per_byte();
  std::vector<ValueId> numbers;
  for (int64_t i = 0; i < packing.per_byte(); ++i) {
    ValueId number = bytes;
    if (i > 0) {
      number = c.add("BitShift", {bytes, c.scalar(static_cast<double>(i * packing.bits), bytes)},
                     Composition::attrs("direction", std::string("RIGHT")));
    }
    number = c.add("BitwiseAnd", {number, c.scalar(mask, bytes)});
    numbers.push_back(c.reshape(number, column));
  }
  const ValueId all = c.reshape(c.concat(std::move(numbers), -1), row);
  return row.back() == count ? all : c.slice(all, static_cast<int64_t>(row.size()) - 1, 0, count);
}

}  // namespace

void gather_block_quantized(Composition& c) {
  const ValueId data = c.in(0), indices = c.in(1), scales = c.in(2);
  const auto rank = static_cast<int64_t>(c.rank(data));
  const auto axis = [&](std::string_view name, int64_t fallback) {
    const int64_t given = c.attr(name, fallback);
    c.need(given >= -rank && given < rank, fmt::format("`{}` = {} does not fit rank {}", name, given, rank));
    return given < 0 ? given + rank : given;
  };
  const int64_t gathered = axis("gather_axis", 0), quantized = axis("quantize_axis", 1);
  const bool are_bytes = c.dtype(data) == DType::U8;
  const int64_t bits = c.attr("bits", int64_t{4});
  if (!c.need(bits == 4 || (are_bytes && (bits == 2 || bits == 8)), fmt::format("numbers of {} bits", bits)) ||
      !c.need(static_cast<int64_t>(c.rank(scales)) == rank, "data and scales differ in rank")) {
    return;
  }
  const Packing packing{are_bytes ? bits : 8};
  if (!c.need(packing.bits == 8 || (quantized == rank - 1 && gathered != quantized),
              "bytes of several numbers are quantised along the last axis, and gathered along another")) {
    return;
  }
  const int64_t extent = c.dim(data, quantized) * packing.per_byte(), blocks = c.dim(scales, quantized);
  int64_t block = c.attr("block_size", int64_t{128});
  if (!c.need(block >= 0, fmt::format("blocks of {} numbers", block))) return;
  if (block == 0) block = std::max<int64_t>(1, extent);

  // Along one axis a block could lose its neighbours: all of it is dequantised then.
  const bool gathers_last = gathered == quantized;
  const auto part = [&](ValueId x) {
    return gathers_last ? x : c.add("Gather", {x, indices}, Composition::attrs("axis", gathered));
  };
  std::vector<ValueId> operands = {unpack(c, part(data), packing, extent), part(scales)};
  if (c.has(3)) {
    operands.push_back(unpack(c, part(c.in(3)), packing, blocks));
  } else if (are_bytes) {
    operands.push_back(c.expand(c.scalar(static_cast<double>(1 << (bits - 1)), DType::U8), c.shape(operands[1])));
  }
  const bool moves = !gathers_last && gathered < quantized;
  ir::AttrMap attrs = Composition::attrs("block_size", block);
  attrs.set("axis", quantized + (moves ? static_cast<int64_t>(c.rank(indices)) - 1 : 0));
  if (!gathers_last) {
    c.result(0, "DequantizeLinear", std::move(operands), std::move(attrs));
    return;
  }
  const ValueId table = c.add("DequantizeLinear", std::move(operands), std::move(attrs));
  c.result(0, "Gather", {table, indices}, Composition::attrs("axis", gathered));
}

}  // namespace collage::import::compositions
