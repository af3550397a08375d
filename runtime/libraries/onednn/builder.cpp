// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/onednn/builder.h"

#include <algorithm>
#include <string_view>

#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {
namespace {

/// Attributes that every primitive has: scratch memory comes from the kernel, so that no run allocates.
dnnl::primitive_attr plain_attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// Plain loops, many times slower than what is generated for a shape: `ref` anyway, `simple` with post-ops.
bool is_slow(const dnnl::primitive_desc_base& primitive, bool has_post_ops) {
  std::string_view name = primitive.impl_info_str();
  return name.starts_with("ref") || (has_post_ops && name.starts_with("simple"));
}

/// More post-ops are an error of oneDNN 2.6 (post_ops_t::post_ops_limit).
constexpr size_t kMostPostOps = 32;
/// Linear functions merge, so that some more operators than post-ops fit.
constexpr size_t kMostFollowers = 2 * kMostPostOps;

/// oneDNN 2.6 generates code for one set of parameters per eltwise algorithm.
bool repeats_algorithm(const std::vector<Link>& links) {
  for (size_t i = 0; i < links.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      bool is_same = !links[i].is_binary() && links[i].algorithm == links[j].algorithm;
      if (is_same && (links[i].alpha != links[j].alpha || links[i].beta != links[j].beta)) return true;
    }
  }
  return false;
}

}  // namespace

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Builder::Builder(const LibraryProgram& program)
    : program_(program),
      stored_(program.values.size()),
      uses_(program.values.size(), 0),
      reader_(program.values.size(), -1),
      is_done_(program.ops.size(), false) {}

int Builder::input(int index, size_t i) const {
  const std::vector<int>& inputs = op(index).inputs;
  return i < inputs.size() ? inputs[i] : -1;
}

Desc Builder::boundary_desc(int id) const {
  return desc_of(shape(id), value(id).layout);
}

int Builder::add_slot(Slot slot) {
  schedule_.slots.push_back(std::move(slot));
  values_in_slot_.push_back(0);
  return static_cast<int>(schedule_.slots.size()) - 1;
}

void Builder::define(int id, Stored memory) {
  ++values_in_slot_[static_cast<size_t>(memory.slot)];
  stored_[static_cast<size_t>(id)] = std::move(memory);
}

Stored Builder::add_constant(Tensor data) {
  Desc desc = plain_desc(data.shape());
  return {add_slot({Slot::Kind::Constant, 0, data.bytes(), data}), desc};
}

Result<Schedule> Builder::build() {
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const LibraryValue& described = program_.values[v];
    if (described.constant.is_empty_handle() || described.dtype != DType::F32) continue;
    define(static_cast<int>(v), add_constant(described.constant));
  }
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    int id = program_.inputs[i];
    define(id, {add_slot({Slot::Kind::Input, i, 0, {}}), boundary_desc(id)});
  }
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    for (int id : program_.ops[i].inputs) {
      if (id < 0) continue;
      ++uses_[static_cast<size_t>(id)];
      reader_[static_cast<size_t>(id)] = static_cast<int>(i);
    }
  }
  for (int id : program_.outputs) ++uses_[static_cast<size_t>(id)];
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    if (is_done_[i]) continue;
    if (Status status = lower(static_cast<int>(i)); !status) {
      return Status::error("`" + program_.ops[i].op + "`: " + status.message());
    }
  }
  finish_outputs();
  return std::move(schedule_);
}

Status Builder::lower(int index) {
  const LibraryOp& described = op(index);
  Lowering lowering = find_lowering(described.op);
  if (lowering == nullptr) return Status::error("no primitive computes it");
  if (described.inputs.empty() || described.inputs[0] < 0 || described.outputs.empty() || described.outputs[0] < 0)
    return Status::error("it has no operand or no result");
  for (int id : described.inputs) {
    if (id < 0) continue;
    if (element_count(shape(id)) == 0) return Status::error("a tensor without elements");
    if (value(id).dtype != DType::F32 && value(id).constant.is_empty_handle())
      return Status::error("dtype " + std::string(name_of(value(id).dtype)) + ", only f32 is supported");
  }
  for (size_t i = 0; i < described.outputs.size(); ++i) {
    int id = described.outputs[i];
    if (id < 0) continue;
    if (i > 0 && described.op != "Split") {
      if (uses_[static_cast<size_t>(id)] > 0) return Status::error("it has one result only");
      continue;
    }
    if (value(id).dtype != DType::F32)
      return Status::error("dtype " + std::string(name_of(value(id).dtype)) + ", only f32 is supported");
    if (element_count(shape(id)) == 0) return Status::error("a tensor without elements");
  }
  if (value(described.inputs[0]).dtype != DType::F32) return Status::error("its operand is no f32 tensor");
  try {
    return lowering(*this, index);
  } catch (const dnnl::error& error) {
    return Status::error(error.message);
  }
}

/// The operator's operands have been read.
void Builder::consume(int index) {
  is_done_[static_cast<size_t>(index)] = true;
  for (int id : op(index).inputs) {
    if (id >= 0) --uses_[static_cast<size_t>(id)];
  }
}

void Builder::define_view(int index, Stored memory) {
  define_views(index, {std::move(memory)});
}

void Builder::define_views(int index, const std::vector<Stored>& memory) {
  consume(index);
  for (size_t i = 0; i < memory.size(); ++i) {
    if (op(index).outputs[i] >= 0) define(op(index).outputs[i], memory[i]);
  }
}

Stored Builder::viewed(int id, const Dims& dims) {
  if (std::optional<Desc> view = reshaped(stored(id).desc, dims)) return {stored(id).slot, *view};
  Stored memory = plain(id);
  return {memory.slot, *reshaped(memory.desc, dims)};
}

Stored Builder::converted(const Stored& from, const Desc& to) {
  if (same_layout(from.desc, to)) return from;
  for (const auto& [source, result] : reorders_) {
    if (source.slot == from.slot && source.desc == from.desc && same_layout(result.desc, to)) return result;
  }
  bool at_load = schedule_.slots[static_cast<size_t>(from.slot)].is_constant();
  Slot::Kind kind = at_load ? Slot::Kind::Packed : Slot::Kind::Scratch;
  Stored result{add_slot({kind, 0, to.get_size(), {}}), to};
  add_reorder(from, result, at_load);
  reorders_.emplace_back(from, result);
  return result;
}

Stored Builder::copied(const Stored& from, const Desc& to) {
  Stored result{add_slot({Slot::Kind::Scratch, 0, to.get_size(), {}}), to};
  add_reorder(from, result, false);
  return result;
}

void Builder::add_reorder(const Stored& from, const Stored& to, bool at_load) {
  dnnl::reorder::primitive_desc reorder(cpu_engine(), from.desc, cpu_engine(), to.desc, plain_attr());
  std::string text = "reorder " + layout_text(from.desc) + " -> " + layout_text(to.desc);
  schedule_.stages.push_back({reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, std::move(text), at_load});
}

/// True if the current operator is the only one left that reads the value, once, and no other value shares its memory.
bool Builder::dies(int id) const {
  int slot = stored(id).slot;
  return uses_[static_cast<size_t>(id)] == 1 && values_in_slot_[static_cast<size_t>(slot)] == 1 &&
         schedule_.slots[static_cast<size_t>(slot)].kind == Slot::Kind::Scratch;
}

/// Operators after `index`, at most kMostFollowers, each the only reader of the one before it and of the same shape,
/// whose other operands exist already.
std::vector<Builder::Follower> Builder::followers(int index) const {
  std::vector<Follower> chain;
  int last = op(index).outputs[0];
  while (chain.size() < kMostFollowers && uses_[static_cast<size_t>(last)] == 1 &&
         reader_[static_cast<size_t>(last)] >= 0) {
    int next = reader_[static_cast<size_t>(last)];
    const LibraryOp& described = op(next);
    if (described.outputs.empty() || described.outputs[0] < 0 || shape(described.outputs[0]) != shape(last)) break;
    std::optional<Link> link = link_of(program_, described, last);
    if (!link || (link->is_binary() && !is_available(link->operand))) break;
    chain.push_back({next, std::move(*link)});
    last = described.outputs[0];
  }
  return chain;
}

/// An operand of a binary post-op, with the rank of the primitive's result: dimensions equal or 1. `whole` is the
/// model's shape of the result. Nothing where the primitive sees it with other dimensions and broadcasting does not
/// carry over.
///
///     [768] on [1, 128, 768] as [128, 768]        =>   [1, 768]
///     [6, 1, 1] on [2, 6, 1, 1] as [2, 6]         =>   [1, 6]
///     [64, 1] on [2, 64, 768] as [128, 768]       =>   nothing
std::optional<Dims> Builder::operand_dims(int operand, const Shape& whole, const Dims& result) const {
  const Shape& from = shape(operand);
  int64_t count = element_count(from);
  if (count == element_count(result)) return result;
  Dims dims(result.size(), 1);
  if (count == 1) return dims;
  if (from.size() > whole.size()) return std::nullopt;
  size_t lead = whole.size() - from.size(), at = result.size();
  for (size_t d = from.size(); d-- > 0;) {  // dimensions of other extents than 1 correspond, last to first
    if (whole[lead + d] == 1) continue;
    while (at > 0 && result[at - 1] == 1) --at;
    if (at == 0 || result[at - 1] != whole[lead + d]) {
      bool is_broadcast = std::all_of(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                                      [](int64_t extent) { return extent == 1; });
      return is_broadcast ? std::optional(dims) : std::nullopt;
    }
    dims[--at] = from[d];
  }
  return dims;
}

/// The head with these links as post-ops. `with_sum`: if the first one adds a value of full size, the result
/// accumulates into that value's memory, or into a copy of it. (Behind another post-op oneDNN 2.6's matrix product gets
/// it wrong.)
std::optional<Builder::Attempt> Builder::attempt(const Head& head, const Shape& whole, const std::vector<Link>& links,
                                                 bool with_sum) {
  Attempt made;
  Desc result = head.result.value_or(any_desc(head.dims));
  bool has_full_operand = false;
  for (const Link& link : links) {
    if (link.is_binary()) has_full_operand |= element_count(shape(link.operand)) == element_count(head.dims);
  }
  if (has_full_operand && !head.result) {  // operands must lie as the result does, so that has to be known
    dnnl::primitive_desc_base bare = head.make(result, plain_attr());
    if (!bare) return std::nullopt;
    result = bare.query_md(dnnl::query::dst_md, 0);
  }
  dnnl::post_ops post_ops;
  made.text = head.name;
  for (const Link& link : links) {
    made.text += " + " + link.text;
    if (!link.is_binary()) {
      post_ops.append_eltwise(1, link.algorithm, link.alpha, link.beta);
      continue;
    }
    std::optional<Dims> dims = operand_dims(link.operand, whole, head.dims);
    if (!dims) return std::nullopt;
    if (with_sum && post_ops.len() == 0 && link.algorithm == dnnl::algorithm::binary_add && *dims == head.dims) {
      post_ops.append_sum();
      made.addend = link.operand;
      made.text.replace(made.text.size() - link.text.size(), link.text.size(), "sum");
      continue;
    }
    Desc wanted = *dims == head.dims ? result : plain_desc(*dims);
    post_ops.append_binary(link.algorithm, wanted);
    int name = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len() - 1) | DNNL_ARG_SRC_1;
    made.operands.push_back({name, {link.operand, wanted}});  // bound once the primitive is settled
  }
  dnnl::primitive_attr attr = plain_attr();
  attr.set_post_ops(post_ops);
  made.primitive = head.make(result, attr);
  if (!made.primitive) return std::nullopt;
  bool reference_ok = head.reference_ok && links.empty();
  if (is_slow(made.primitive, !links.empty()) && !reference_ok) return std::nullopt;
  return made;
}

/// The head with the first `count` followers; nothing where oneDNN has no fast code for that.
std::optional<Builder::Attempt> Builder::with_followers(const Head& head, const Shape& whole,
                                                        const std::vector<Follower>& chain, size_t count) {
  std::vector<Link> links;
  for (size_t i = 0; i < count; ++i) links.push_back(chain[i].link);
  links = merged(links);
  if (links.size() > kMostPostOps || repeats_algorithm(links)) return std::nullopt;
  std::optional<Attempt> made;
  if (head.accumulates) made = attempt(head, whole, links, true);
  if (!made) made = attempt(head, whole, links, false);
  return made;
}

Status Builder::emit(int index, const Head& head) {
  std::vector<Follower> chain;
  if (head.fuses) chain = followers(index);
  const Shape& whole = shape(op(index).outputs[0]);
  std::optional<Attempt> made = with_followers(head, whole, chain, chain.size());
  if (!made) {
    // What oneDNN supports as post-ops it supports without the last of them, so the longest chain is found from below:
    // an attempt takes about half a millisecond, and most long chains stop after a few.
    size_t count = 0;
    for (; count < chain.size(); ++count) {
      std::optional<Attempt> next = with_followers(head, whole, chain, count + 1);
      if (!next) break;
      made = std::move(next);
    }
    chain.resize(count);
    if (!made) made = with_followers(head, whole, chain, 0);
  }
  if (!made) {
    dnnl::primitive_attr attr = plain_attr();
    dnnl::primitive_desc_base bare = head.make(head.result.value_or(any_desc(head.dims)), attr);
    return Status::error(bare ? "oneDNN has only its slow reference implementation" : "oneDNN has no implementation");
  }
  int last = chain.empty() ? op(index).outputs[0] : op(chain.back().index).outputs[0];
  std::vector<Argument> arguments = head.operands(made->primitive);
  for (const Argument& operand : made->operands) {
    int id = operand.memory.slot;
    arguments.push_back({operand.name, converted(viewed(id, operand.memory.desc.dims()), operand.memory.desc)});
  }
  Desc desc = made->primitive.query_md(dnnl::query::dst_md, 0);
  int slot = -1;
  if (made->addend >= 0) {
    Stored addend = viewed(made->addend, head.dims);
    slot = dies(made->addend) && same_layout(addend.desc, desc) ? addend.slot : copied(addend, desc).slot;
  } else {
    slot = add_slot({Slot::Kind::Scratch, 0, desc.get_size(), {}});
  }
  // Copies of what is overwritten now are out of date.
  std::erase_if(reorders_,
                [&](const auto& reorder) { return reorder.first.slot == slot || reorder.second.slot == slot; });
  arguments.push_back({DNNL_ARG_DST, {slot, desc}});
  made->text += " -> " + layout_text(desc) + " [" + made->primitive.impl_info_str() + "]";
  schedule_.stages.push_back({made->primitive, std::move(arguments), std::move(made->text), false, last});
  consume(index);
  for (const Follower& follower : chain) consume(follower.index);

  const Dims wanted = plain_desc(shape(last)).dims();
  std::optional<Desc> view = reshaped(desc, wanted);
  if (view) {
    define(last, {slot, *view});
    return Status::ok();
  }
  Stored flat = converted({slot, desc}, plain_desc(desc.dims()));
  define(last, {flat.slot, *reshaped(flat.desc, wanted)});
  return Status::ok();
}

/// Results that are read outside end up in their own memory, in the layout wanted there: written there at once where
/// nothing else is in the way, else copied.
void Builder::finish_outputs() {
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    int id = program_.outputs[i];
    Desc desc = boundary_desc(id);
    Stored memory = converted(stored(id), desc);
    Slot& slot = schedule_.slots[static_cast<size_t>(memory.slot)];
    bool fits = slot.kind == Slot::Kind::Scratch && slot.bytes == memory.desc.get_size();
    if (fits) {
      slot = {Slot::Kind::Output, i, slot.bytes, {}};
      continue;
    }
    Stored result{add_slot({Slot::Kind::Output, i, desc.get_size(), {}}), desc};
    add_reorder(memory, result, false);
  }
}

}  // namespace collage::runtime::onednn
