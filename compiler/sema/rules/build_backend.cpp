// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_backend.h"

#include <algorithm>

#include "compiler/ir/rules/functions.h"
#include "compiler/sema/model/build_format.h"
#include "compiler/sema/rules/build_clauses.h"
#include "compiler/sema/rules/build_links.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/sema/rules/read_numbers.h"

namespace collage::sema {
namespace {

using ir::Unit;
using support::Code;
using support::Diagnostics;
using syntax::BackendAst;
using syntax::NumberAst;
using syntax::Word;

constexpr int kMostOfAnything = 1'000'000;

constexpr QuantityRow kScratch{"the scratch", Unit::Bytes, "512 KiB", 1, 0x1p62, "from 1 B to 2^62 B"};
constexpr QuantityRow kLaunch{"`launch`", Unit::Time, "2 us", 0, 1e3, "at most 1000 s", true};
constexpr QuantityRow kPower{"a power", Unit::Power, "2 W", 0, 1e9, "at most 10^9 W", true};

/// `yes` or `no`
std::optional<bool> yes_no(const Word& word, Diagnostics& diags) {
  if (word.text == "yes") return true;
  if (word.text == "no") return false;
  diags.error(Code::SyntaxError, word.span, "expected `yes` or `no`, found `{}`", word.text);
  return std::nullopt;
}

bool build_power(const std::vector<NumberAst>& asts, std::string_view what, std::optional<double>* power,
                 Diagnostics& diags) {
  if (!once(spans_of(asts, [](const NumberAst& n) { return n.span; }), what, diags)) return false;
  if (!asts.empty()) *power = quantity(asts[0], kPower, diags);
  return asts.empty() || power->has_value();
}

bool build_launch(const std::vector<NumberAst>& asts, std::string_view what, ir::Duration* launch, Diagnostics& diags) {
  if (!once(spans_of(asts, [](const NumberAst& n) { return n.span; }), what, diags)) return false;
  if (asts.empty()) return true;
  auto seconds = quantity(asts[0], kLaunch, diags);
  if (seconds) *launch = ir::Duration::seconds(*seconds);
  return seconds.has_value();
}

bool build_scratch(const std::vector<NumberAst>& asts, ir::DeviceDecl* device, Diagnostics& diags) {
  if (!once(spans_of(asts, [](const NumberAst& n) { return n.span; }), "the scratch of a device", diags)) return false;
  if (asts.empty()) return true;
  device->scratch_bytes = quantity(asts[0], kScratch, diags);
  if (device->scratch_bytes && device->memory_bytes && *device->scratch_bytes > *device->memory_bytes) {
    return diags.error(Code::BadDevice, asts[0].span, "the scratch is larger than the memory of `{}`", device->name)
        .note("it holds a part of what lies in the memory: a tile");
  }
  return device->scratch_bytes.has_value();
}

/// `memory sram 512 KiB`
bool build_memories(const syntax::DeviceAst& ast, ir::DeviceDecl* device, Diagnostics& diags) {
  bool ok = true;
  for (const auto& [name, size] : ast.named_memories) {
    const std::string& text = name.text;
    auto first = std::find_if(device->memories.begin(), device->memories.end(),
                              [&](const ir::NamedMemory& other) { return other.name == text; });
    if (first != device->memories.end()) {
      ok = diags.error(Code::DuplicateName, name.span, "memory `{}` is declared twice", text)
               .note(first->span, "the first is here");
      continue;
    }
    if (ir::find_quantity(text) != nullptr || runtime::parse_dtype(text)) {
      auto error = diags.error(Code::DuplicateName, name.span, "`{}` has a meaning in expressions", text);
      if (text == "scratch") error.note("`scratch 512 KiB` declares the scratch, which can hold a workspace too");
      ok = false;
      continue;
    }
    const std::optional<double> bytes = quantity(size, kMemory, diags);
    ok = ok && bytes;
    device->memories.push_back({text, bytes.value_or(1), name.span});
  }
  return ok;
}

/// Rules are matched once for all devices of a backend, so these do not differ in what rules see.
bool check_alike(const std::vector<ir::DeviceDecl>& devices, Diagnostics& diags) {
  for (const ir::DeviceDecl& device : devices) {
    const ir::DeviceDecl& first = devices.front();
    const std::string_view what = device.launch != first.launch                 ? "launch"
                                  : device.scratch_bytes != first.scratch_bytes ? "scratch"
                                  : device.precision != first.precision         ? "precision"
                                  : device.memories != first.memories           ? "memory"
                                                                                : "";
    if (what.empty()) continue;
    return diags
        .error(Code::BadDevice, device.span, "`{}` and `{}` differ in their `{}`", first.name, device.name, what)
        .note(first.span, "`{}` is declared here", first.name)
        .note("a backend for each of them can say both");
  }
  return true;
}

bool build_device(const syntax::DeviceAst& ast, ir::DeviceDecl* device, Diagnostics& diags) {
  device->name = ast.name.text;
  device->span = ast.name.span;
  bool ok = true;
  if (device->name == "host") {
    ok = diags.error(Code::BadDevice, ast.name.span, "`host` is the machine's own memory and cannot be declared")
             .note("a backend without a device works there");
  }
  if (ast.count) {
    auto count = whole(*ast.count, 1, kMostInstances, "a device's count", Code::BadDevice, diags);
    ok = ok && count;
    device->count = count.value_or(1);
  }
  ok = once(spans_of(ast.memories, [](const NumberAst& n) { return n.span; }), "the memory of a device", diags) && ok;
  if (!ast.memories.empty()) {
    device->memory_bytes = quantity(ast.memories[0], kMemory, diags);
    ok = ok && device->memory_bytes;
  }
  ok = build_power(ast.powers, "the power of a device", &device->power, diags) && ok;
  ok = build_launch(ast.launches, "the launch of a device", &device->launch, diags) && ok;
  ok = build_scratch(ast.scratches, device, diags) && ok;
  ok = build_memories(ast, device, diags) && ok;
  ok = build_precision(ast.precisions, &device->precision, diags) && ok;
  ok = build_links(ast.links, &device->links, diags) && ok;
  for (const Word& queue : ast.queues) device->queues.push_back(queue.text);
  return ok;
}

/// A literal as the value of an attribute, or an error.
std::optional<runtime::AttrValue> attr_value(const syntax::ExprAst& ast, const ir::AttrDecl& attr, Diagnostics& diags) {
  auto wrong = [&]() {
    diags.error(Code::ExpressionType, ast.span, "this is no value of the attribute's type");
    return std::nullopt;
  };
  using Kind = syntax::ExprAst::Kind;
  if (attr.type == ir::ExprType::String) {
    if (ast.kind != Kind::String && ast.kind != Kind::Name) return wrong();
    return ast.text;
  }
  if (attr.type == ir::ExprType::Bool) {
    if (ast.kind != Kind::Name || (ast.text != "true" && ast.text != "false")) return wrong();
    return int64_t{ast.text == "true"};
  }
  if (ast.kind != Kind::Number) return wrong();
  Unit unit;
  double value = si_value(ast.number, ast.text, &unit);
  if (unit != attr.unit) return wrong();
  if (!attr.is_integer) return value;
  const std::optional<int64_t> whole = whole_value(ast);
  return whole ? std::optional<runtime::AttrValue>(*whole) : wrong();
}

bool build_attr(const syntax::AttrDeclAst& ast, ir::AttrDecl* attr, Diagnostics& diags) {
  attr->name = ast.name.text;
  attr->span = ast.name.span;
  const std::string& type = ast.type.text;
  if (type == "int") {
    attr->is_integer = true;
  } else if (type == "string" || type == "bool") {
    attr->type = type == "string" ? ir::ExprType::String : ir::ExprType::Bool;
  } else if (type == "time" || type == "size" || type == "rate") {
    attr->unit = type == "time" ? Unit::Time : type == "size" ? Unit::Bytes : Unit::Rate;
  } else if (type != "float") {
    return diags.error(Code::UnknownName, ast.type.span, "unknown type `{}`", type)
        .note("an attribute is an `int`, `float`, `bool`, `string`, `time`, `size` or `rate`");
  }
  bool ok = true;
  for (const syntax::ExprAst& value : ast.allowed) {
    auto built = attr_value(value, *attr, diags);
    ok = ok && built;
    if (built) attr->allowed.push_back(std::move(*built));
  }
  if (!ast.fallback) {
    return diags.error(Code::IncompleteRule, ast.name.span, "attribute `{}` has no default", attr->name)
        .note("`attr {}: {} = …`", attr->name, type);
  }
  auto fallback = attr_value(*ast.fallback, *attr, diags);
  if (!fallback || !ok) return false;
  attr->fallback = std::move(*fallback);
  bool is_allowed = attr->allowed.empty();
  for (const runtime::AttrValue& value : attr->allowed) {
    is_allowed = is_allowed || runtime::to_string(value) == runtime::to_string(attr->fallback);
  }
  if (!is_allowed) {
    return diags.error(Code::ExpressionType, ast.fallback->span, "the default of `{}` is not among its allowed values",
                       attr->name);
  }
  return true;
}

std::vector<std::string> runtime_words() {
  std::vector<std::string> words;
  for (const ir::RuntimeWord& row : ir::runtimes()) words.emplace_back(row.word);
  return words;
}

bool build_runtime(const BackendAst& ast, ir::Backend* backend, Diagnostics& diags) {
  if (!once(spans_of(ast.runtimes, [](const syntax::RuntimeAst& r) { return r.kind.span; }), "the runtime", diags)) {
    return false;
  }
  if (ast.runtimes.empty()) {
    return diags.error(Code::IncompleteRule, ast.name.span, "backend `{}` has no `runtime`", backend->name)
        .note("{}", ir::list_of_runtimes());
  }
  const syntax::RuntimeAst& runtime = ast.runtimes[0];
  const std::string& word = runtime.kind.text;
  const ir::RuntimeWord* row = ir::find_runtime(word);
  if (row == nullptr) {
    return diags.error(Code::UnknownName, runtime.kind.span, "unknown runtime `{}`", word)
        .did_you_mean(support::closest(word, runtime_words()))
        .note("{}", ir::list_of_runtimes());
  }
  backend->runtime = row->kind;
  if (row->takes.empty() == runtime.library.has_value()) {
    return diags.error(Code::IncompleteRule, runtime.kind.span, "`runtime {}` takes {}", word,
                       row->takes.empty() ? "no name" : "a name");
  }
  if (runtime.library) backend->library = runtime.library->text;
  if (!ir::is_device(row->kind) && !ast.devices.empty()) {
    return diags.error(Code::BadDevice, ast.devices[0].name.span, "`runtime {}` works in host memory and has no device",
                       word);
  }
  if (ir::is_device(row->kind) && ast.devices.empty()) {
    return diags.error(Code::BadDevice, runtime.kind.span, "`runtime {}` runs on a device, and none is declared", word);
  }
  return true;
}

bool build_limits(const syntax::PolicyAst& ast, ir::PartitionPolicy* policy, Diagnostics& diags) {
  bool ok = true;
  std::set<std::string> seen;
  for (const syntax::LimitAst& limit : ast.limits) {
    const std::string& name = limit.name.text;
    if (!seen.insert(name).second) {
      ok = diags.error(Code::DuplicateName, limit.name.span, "the limit `{}` is stated twice", name);
      continue;
    }
    if (name == "taps") {
      std::optional<bool> taps;
      if (limit.word) {
        taps = yes_no(*limit.word, diags);
      } else {
        diags.error(Code::SyntaxError, limit.number->span, "expected `yes` or `no`");
      }
      ok = ok && taps;
      policy->taps = taps.value_or(false);
      continue;
    }
    int* target = name == "depth"   ? &policy->max_depth
                  : name == "exits" ? &policy->max_exits
                  : name == "ops"   ? &policy->max_ops
                                    : nullptr;
    if (target == nullptr) {
      ok = diags.error(Code::UnknownName, limit.name.span, "unknown limit `{}`", name)
               .did_you_mean(support::closest(name, {"depth", "exits", "ops", "taps"}));
    } else if (limit.number) {
      auto value = whole(*limit.number, 1, kMostOfAnything, "a limit", Code::BadLiteral, diags);
      ok = ok && value;
      *target = value.value_or(1);
    } else if (limit.word->text == "any") {
      *target = 0;
    } else {
      ok = diags.error(Code::SyntaxError, limit.word->span, "expected a number or `any`, found `{}`", limit.word->text);
    }
  }
  return ok;
}

bool build_policy(const syntax::PolicyAst& ast, const ir::Backend& backend, const NamedParts& named,
                  ir::PartitionPolicy* policy, std::set<std::string>* used_attrs, CostTableFiles& tables,
                  Diagnostics& diags) {
  policy->span = ast.span;
  bool ok = true;
  auto word_span = [](const Word& word) { return word.span; };
  ok = once(spans_of(ast.joins, word_span), "`join`", diags) && ok;
  ok = once(spans_of(ast.coalesces, word_span), "`coalesce`", diags) && ok;
  ok = build_launch(ast.launches, "`launch`", &policy->launch, diags) && ok;
  ok = once(spans_of(ast.costs, [](const syntax::CostAst& c) { return c.span; }), "the cost of a partition", diags) &&
       ok;
  if (!ast.joins.empty()) {
    const std::string& join = ast.joins[0].text;
    if (join == "none")
      policy->join = ir::JoinKind::None;
    else if (join == "chain")
      policy->join = ir::JoinKind::Chain;
    else if (join == "any")
      policy->join = ir::JoinKind::Any;
    else if (join == "kinds")
      policy->join = ir::JoinKind::Kinds;
    else
      ok = diags.error(Code::UnknownName, ast.joins[0].span, "unknown way to join `{}`", join)
               .note("`none`, `chain`, `any` or `kinds`");
  }
  ok = build_limits(ast, policy, diags) && ok;
  for (const Word& name : ast.never_starts) {
    const ir::OpDef* op = ir::find_op(name.text);
    if (op != nullptr) {
      policy->never_starts.push_back(op);
    } else {
      ok = diags.error(Code::UnknownOperator, name.span, "unknown operator `{}`", name.text)
               .did_you_mean(support::closest(name.text, ir::op_names()));
    }
  }
  if (!ast.costs.empty()) {
    ExprScope scope;
    scope.backend = &backend;
    scope.allows_rules = true;
    scope.allows_launch = true;
    scope.used_attrs = used_attrs;
    scope.tables = &tables;
    scope.named = &named;
    std::optional<CheckedCost> cost = check_cost(ast.costs[0], scope, diags);
    ok = ok && cost;
    if (cost) {
      policy->measured = cost->measured;
      policy->cost_program = cost->program;
      policy->cost = std::move(cost->formula);
    }
  }
  if (!ast.coalesces.empty()) {
    auto coalesce = yes_no(ast.coalesces[0], diags);
    ok = ok && coalesce;
    policy->coalesce = coalesce.value_or(false);
  }
  return ok;
}

}  // namespace

bool build_precision(const std::vector<Word>& asts, std::optional<ir::Precision>* precision, Diagnostics& diags) {
  if (!once(spans_of(asts, [](const Word& word) { return word.span; }), "the precision", diags)) return false;
  if (asts.empty()) return true;
  const std::optional<runtime::StorageType> type = runtime::parse_storage_type(asts[0].text);
  if (type == ir::Precision::F16 || type == ir::Precision::BF16) {
    *precision = type;
    return true;
  }
  return diags.error(Code::UnknownName, asts[0].span, "`{}` is no precision", asts[0].text)
      .note("`precision bf16` or `precision f16`; without it kernels compute in the dtypes of the model");
}

bool build_switch(const syntax::SwitchAst& ast, ir::SwitchDecl* declared, Diagnostics& diags) {
  declared->name = ast.name.text;
  declared->span = ast.name.span;
  bool ok = build_links(ast.links, &declared->links, diags);
  for (const ir::Link& link : declared->links) {
    if (link.to != declared->name) continue;
    ok = diags.error(Code::BadDevice, link.span, "a link from switch `{}` to itself", declared->name);
  }
  return ok;
}

bool build_backend(const BackendAst& ast, const NamedParts& named, ir::Backend* backend,
                   std::set<std::string>* used_attrs, CostTableFiles& tables, Diagnostics& diags) {
  backend->name = ast.name.text;
  backend->span = ast.name.span;
  bool ok = true;
  if (ast.version) {
    auto version = whole(*ast.version, 1, kMostOfAnything, "a version", Code::BadLiteral, diags);
    ok = ok && version;
    backend->version = version.value_or(1);
  }
  for (const syntax::DeviceAst& device_ast : ast.devices) {
    ir::DeviceDecl device;
    ok = build_device(device_ast, &device, diags) && ok;
    backend->devices.push_back(std::move(device));
  }
  ok = check_alike(backend->devices, diags) && ok;
  for (const syntax::AttrDeclAst& attr_ast : ast.attrs) {
    if (const ir::AttrDecl* first = backend->find_attr(attr_ast.name.text)) {
      ok = diags.error(Code::DuplicateName, attr_ast.name.span, "attribute `{}` is declared twice", attr_ast.name.text)
               .note(first->span, "the first is here");
      continue;
    }
    if (const ir::NamedMemory* memory = backend->find_memory(attr_ast.name.text)) {
      ok = diags.error(Code::DuplicateName, attr_ast.name.span, "`{}` is a memory of the device", attr_ast.name.text)
               .note(memory->span, "it is declared here");
      continue;
    }
    ir::AttrDecl attr;
    ok = build_attr(attr_ast, &attr, diags) && ok;
    backend->attrs.push_back(std::move(attr));
  }
  ok = build_runtime(ast, backend, diags) && ok;
  ok = build_needs(ast.needs, &backend->needs, diags) && ok;
  if (backend->name == "host" && !ast.devices.empty()) {
    ok =
        diags.error(Code::BadDevice, ast.devices[0].name.span, "backend `host` is the machine itself and has no device")
            .note("a backend of another name can have one");
  }
  for (const Word& other : ast.conflicts) {
    backend->conflicts.push_back(other.text);
    backend->conflict_spans.push_back(other.span);
  }
  ok = once(spans_of(ast.default_formats, [](const syntax::FormatParts& parts) { return parts[0].span; }),
            "the format of a backend", diags) &&
       ok;
  if (!ast.default_formats.empty()) {
    auto format = build_memory_layout(ast.default_formats[0], /*takes_any=*/false, diags);
    ok = ok && format;
    if (format) {
      backend->default_layout = format->layout.value_or("plain");
      backend->default_storage = format->storage;
    }
  }
  ok = build_power(ast.powers, "the power of a backend", &backend->power, diags) && ok;
  ok = once(spans_of(ast.max_partitions, [](const NumberAst& n) { return n.span; }), "`max partitions`", diags) && ok;
  if (!ast.max_partitions.empty()) {
    auto most = whole(ast.max_partitions[0], 1, kMostOfAnything, "`max partitions`", Code::BadLiteral, diags);
    ok = ok && most;
    backend->max_partitions = most;
    backend->max_partitions_span = ast.max_partitions[0].span;
  }
  ok = once(spans_of(ast.partitions, [](const syntax::PolicyAst& p) { return p.span; }), "`partition`", diags) && ok;
  if (!ast.partitions.empty())
    ok = build_policy(ast.partitions[0], *backend, named, &backend->policy, used_attrs, tables, diags) && ok;
  return ok;
}

}  // namespace collage::sema
