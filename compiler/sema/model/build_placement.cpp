// SPDX-License-Identifier: Apache-2.0
// Partitions and conversions in the text -> Placement.
//
// A partition with a body says in which format it reads each value: the format of the name in its list of inputs. One
// without (`in @p0`) reads and writes plain tensors in the memory of its instance, and conversions are implied.
#include <algorithm>
#include <limits>

#include "compiler/ir/placement/placement.h"
#include "compiler/sema/model/build_format.h"
#include "compiler/sema/model/model_builder.h"
#include "runtime/core/host_space.h"
#include "runtime/core/joined.h"
#include "runtime/core/layout.h"

namespace collage::sema {

using ir::boundary_space;
using ir::Format;
using ir::instances_of;
using ir::Partition;
using ir::ValueId;
using support::Code;
using syntax::Name;

namespace {

std::string instance_text(const syntax::InstanceAst& ast) {
  if (ast.device.text == "host" && ast.index == 0) return runtime::host_space(0);
  return ast.index ? ast.device.text + "[" + std::to_string(*ast.index) + "]" : ast.device.text;
}

/// Names that a statement reads from statements before it.
std::vector<const Name*> reads_of(const syntax::Statement& statement) {
  std::vector<const Name*> names;
  if (const auto* op = std::get_if<syntax::OpAst>(&statement)) {
    for (const Name& name : op->operands) names.push_back(&name);
  } else if (const auto* convert = std::get_if<syntax::ConvertAst>(&statement)) {
    names.push_back(&convert->source);
  } else if (const auto* partition = std::get_if<syntax::PartitionAst>(&statement)) {
    for (const Name& name : partition->inputs) names.push_back(&name);
  }
  return names;
}

const std::vector<Name>& results_of(const syntax::Statement& statement) {
  return std::visit([](const auto& s) -> const std::vector<Name>& { return s.results; }, statement);
}

}  // namespace

/// `%y.npu0 = partition … ; %y = convert %y.npu0 to host` with the output `%y`: the logical value is called `y`, and
/// `y.npu0` only names the format in which it was made. So `y.npu0` => `y`.
void ModelBuilder::find_aliases() {
  std::map<std::string_view, const Name*> sources;
  for (const syntax::Statement& statement : ast_.statements) {
    const auto* convert = std::get_if<syntax::ConvertAst>(&statement);
    if (convert == nullptr) continue;
    for (const Name& result : convert->results) sources.emplace(result.text, &convert->source);
  }
  for (const syntax::PortAst& port : ast_.outputs) {
    auto at = sources.find(port.name.text);
    if (at == sources.end()) continue;
    std::string_view root;
    // Follows each name of a chain at most once: a cycle is reported later.
    for (size_t steps = 0; at != sources.end() && steps <= sources.size(); ++steps) {
      root = at->second->text;
      at = sources.find(root);
    }
    if (at == sources.end()) aliases_.emplace(root, port.name.text);
  }
}

std::optional<Format> ModelBuilder::build_format(const syntax::FormatAst& ast, const ir::TensorType& type) {
  Format format;
  format.space = instance_text(ast.space);
  if (ast.layout.empty()) return format;
  const syntax::FormatPart& first = ast.layout.front();
  bool is_layout = !runtime::parse_storage_type(first.word);
  if (is_layout && !runtime::layout_permutation(first.word, type.shape.size())) {
    diags_.error(Code::WrongFormat, first.span, "`{}` has no layout `{}`", to_string(type), first.word);
    return std::nullopt;
  }
  std::optional<MemoryLayout> built = build_memory_layout(ast.layout, /*takes_any=*/false, diags_);
  if (!built) return std::nullopt;
  format.layout = built->layout.value_or("plain");
  if (built->storage) {
    std::string mismatch = runtime::storage_mismatch(type.dtype, *built->storage);
    if (!mismatch.empty()) {
      diags_.error(Code::WrongFormat, first.span.to(ast.layout.back().span), "the value {}", mismatch);
      return std::nullopt;
    }
    format.storage = runtime::canonical_storage(type.dtype, built->storage);
  }
  return format;
}

void ModelBuilder::visit(const syntax::ConvertAst& ast) {
  if (ast.results.size() != 1 || ast.results[0].is_absent()) {
    diags_.error(Code::WrongArity, ast.keyword, "a conversion has one result, which needs a name");
    return;
  }
  const Name& name = ast.results[0];
  bool is_fresh = check_results(ast.results);
  const Binding* source = find(ast.source);
  if (!is_fresh) return;
  Binding binding;
  if (source == nullptr) {
    bind(name, binding);
    return;
  }
  const ir::Value& value = model_.graph.value(source->value);
  std::optional<Format> format = build_format(ast.to, value.type);
  if (ast.type) {
    std::optional<ir::TensorType> written = resolve_type(*ast.type, diags_);
    if (written && *written != value.type) {
      diags_.error(Code::TypeMismatch, ast.type->span, "`%{}` is `{}`, `{}` is written", ast.source.text,
                   to_string(value.type), to_string(*written));
    }
  }
  if (value.is_constant()) {
    diags_
        .error(Code::WrongFormat, ast.source.span, "`%{}` is a constant: it is converted when it is loaded",
               ast.source.text)
        .note(source->span, "defined here");
    format.reset();
  }
  if (format) {
    for (const auto& [other_name, other] : scope_) {
      if (other.value != source->value || other.format != *format || other.is_undecided) continue;
      diags_.error(Code::WrongFormat, ast.to.span, "`%{}` is in `{}` already", other_name, to_string(*format))
          .note(other.span, "since here");
      format.reset();
      break;
    }
  }
  binding.is_converted = true;
  binding.partition = source->partition;
  if (format) {
    binding.value = source->value;
    binding.format = *format;
    model_.placement.conversions.push_back(
        {source->value, source->format, *format, ast.cost.value_or(runtime::Duration()), name.text, name.span});
  }
  bind(name, binding);
}

std::optional<int> ModelBuilder::declare(const syntax::PartitionAst& ast) {
  int index = static_cast<int>(model_.placement.partitions.size());
  auto [known, is_new] = partition_names_.emplace(ast.name.text, index);
  if (!is_new) {
    diags_.error(Code::Redefinition, ast.name.span, "partition `@{}` is declared twice", ast.name.text)
        .note(model_.placement.partitions[static_cast<size_t>(known->second)].span, "first here");
    return std::nullopt;
  }
  Partition partition;
  partition.name = ast.name.text;
  partition.backend = ast.backend.text;
  partition.instance = runtime::joined(ast.instances, "+", instance_text);
  for (const syntax::Scalar& rule : ast.rules) partition.matches.push_back({std::get<std::string>(rule.value)});
  partition.cost = ast.cost.value_or(runtime::Duration());
  partition.span = ast.name.span;
  model_.placement.partitions.push_back(std::move(partition));
  states_.push_back({ast.has_body, {}});
  for (const syntax::InstanceAst& instance : ast.instances) {
    if (instance.index && (*instance.index < 0 || *instance.index > std::numeric_limits<int>::max()))
      diags_.error(Code::BadLiteral, instance.span, "no device has an instance {}", *instance.index);
  }
  if (ast.split) splits_.emplace_back(index, &*ast.split);
  return index;
}

void ModelBuilder::add_partition_inputs(const syntax::PartitionAst& ast, int index) {
  std::string instance = model_.placement.partitions[static_cast<size_t>(index)].instance;
  std::string space = boundary_space(instance);
  for (const Name& name : ast.inputs) {
    const Binding* binding = find(name);
    body_inputs_.insert(name.text);
    if (binding == nullptr || model_.graph.value(binding->value).is_constant()) continue;
    Format format = binding->format;
    // The search may produce it in the space of its reader.
    if (binding->is_undecided) format = Format{space};
    if (format.space != space) {
      diags_
          .error(Code::WrongFormat, name.span, "partition `@{}` runs on `{}` and `%{}` is in `{}`", ast.name.text,
                 instance, name.text, to_string(format))
          .note(binding->span, "to bring it there: `%… = convert %{} to {}`", name.text, space);
      continue;
    }
    auto [known, is_new] = states_[static_cast<size_t>(index)].input_formats.emplace(binding->value, format);
    if (!is_new) {
      diags_.error(Code::WrongFormat, name.span, "partition `@{}` reads one value twice, in `{}` and `{}`",
                   ast.name.text, to_string(known->second), to_string(format));
    }
  }
}

void ModelBuilder::visit_body(const syntax::PartitionAst& ast, int index) {
  current_ = index;
  for (const syntax::BodyStatement& statement : ast.body) {
    std::visit([this](const auto& s) { visit(s); }, statement);
  }
  current_ = -1;
  body_inputs_.clear();
}

void ModelBuilder::visit(const syntax::PartitionAst& ast) {
  std::optional<int> index = declare(ast);
  if (!index || !ast.has_body) return;
  auto at = static_cast<size_t>(*index);
  add_partition_inputs(ast, *index);
  visit_body(ast, *index);
  if (!ast.formats.empty() && ast.formats.size() != ast.results.size()) {
    diags_.error(Code::WrongArity, ast.formats[0].span, "{} results have {} formats", ast.results.size(),
                 ast.formats.size());
  }
  std::string space = boundary_space(model_.placement.partitions[at].instance);
  for (size_t i = 0; i < ast.results.size(); ++i) {
    const Name& result = ast.results[i];
    if (result.is_absent()) continue;
    auto found = scope_.find(result.text);
    bool is_own = found != scope_.end() && found->second.partition == *index && !found->second.is_converted;
    if (!is_own) {
      diags_.error(Code::UndefinedValue, result.span, "no operator in partition `@{}` computes its result `%{}`",
                   ast.name.text, result.text);
      if (found == scope_.end()) bind(result, {});
      continue;
    }
    Binding& binding = found->second;
    binding.is_visible = true;
    if (i >= ast.formats.size() || !binding.value.is_valid()) continue;
    std::optional<Format> format = build_format(ast.formats[i], model_.graph.value(binding.value).type);
    if (!format) continue;
    if (format->space != space) {
      diags_.error(Code::WrongFormat, ast.formats[i].span,
                   "partition `@{}` runs on `{}` and cannot leave a result in `{}`", ast.name.text,
                   model_.placement.partitions[at].instance, to_string(*format));
      continue;
    }
    binding.format = *format;
    written_[binding.value] = *format;
  }
}

std::optional<int> ModelBuilder::membership_of(const syntax::OpAst& op) {
  if (!op.partition) return current_;
  const Name& name = *op.partition;
  auto found = partition_names_.find(name.text);
  if (found == partition_names_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, index] : partition_names_) names.push_back(known);
    diags_.error(Code::UndefinedValue, name.span, "no partition `@{}` is declared above", name.text)
        .did_you_mean(support::closest(name.text, names));
    return std::nullopt;
  }
  int index = found->second;
  const Partition& partition = model_.placement.partitions[static_cast<size_t>(index)];
  if (current_ >= 0 && index != current_) {
    const Partition& own = model_.placement.partitions[static_cast<size_t>(current_)];
    diags_
        .error(Code::PartitionOverlap, name.span, "a node of partition `@{}` is also assigned to `@{}`", own.name,
               partition.name)
        .note(own.span, "the body around it is that of `@{}`", own.name)
        .note(partition.span, "`@{}` is declared here", partition.name);
    return std::nullopt;
  }
  if (current_ < 0 && states_[static_cast<size_t>(index)].has_body) {
    diags_
        .error(Code::PartitionOverlap, name.span, "partition `@{}` has a body that does not contain this node",
               partition.name)
        .note(partition.span, "declared here");
    return std::nullopt;
  }
  return index;
}

/// Completes the boundary values when all uses are known.
void ModelBuilder::finish_partitions() {
  auto& partitions = model_.placement.partitions;
  for (size_t p = 0; p < partitions.size(); ++p) {
    Partition& partition = partitions[p];
    if (partition.nodes.empty()) {
      diags_.error(Code::BadModel, partition.span, "partition `@{}` has no operator", partition.name);
      continue;
    }
    build_split(partition, static_cast<int>(p));
    Format plain{boundary_space(partition.instance)};
    const auto& formats = states_[p].input_formats;
    std::vector<ValueId> inputs = boundary_inputs(model_.graph, partition.nodes);
    for (ValueId value : inputs) {
      auto format = formats.find(value);
      partition.inputs.push_back({value, format == formats.end() ? plain : format->second});
    }
    for (const auto& [value, format] : formats) {
      if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) continue;
      diags_.error(Code::BadModel, partition.span,
                   "partition `@{}` lists the input `%{}`, which none of its operators reads", partition.name,
                   model_.graph.value(value).name);
    }
    for (ValueId value : boundary_outputs(model_.graph, partition.nodes)) {
      partition.outputs.push_back({value, written_.at(value)});
    }
  }
  imply_conversions();
}

/// `split %c along channels`: called after the body, when the node is known.
void ModelBuilder::build_split(Partition& partition, int index) {
  auto written = std::find_if(splits_.begin(), splits_.end(), [&](const auto& s) { return s.first == index; });
  size_t count = instances_of(partition.instance).size();
  if (written == splits_.end()) {
    if (count == 1) return;
    diags_
        .error(Code::PartitionSplit, partition.span, "partition `@{}` is on {} instances and is not split",
               partition.name, count)
        .note("`split %… along …` names the operator and the axis along which it is cut");
    return;
  }
  const syntax::PartitionSplitAst& ast = *written->second;
  if (count == 1) {
    diags_.error(Code::PartitionSplit, ast.span, "partition `@{}` is split, and on one instance", partition.name);
    return;
  }
  std::optional<ir::SplitAxis> axis = ir::find_split_axis(ast.axis.text);
  if (!axis) {
    diags_.error(Code::PartitionSplit, ast.axis.span, "unknown axis `{}`", ast.axis.text)
        .did_you_mean(support::closest(ast.axis.text, ir::split_axis_names()))
        .note("the axes are {}", fmt::join(ir::split_axis_names(), ", "));
    return;
  }
  auto node = std::find_if(partition.nodes.begin(), partition.nodes.end(),
                           [&](ir::NodeId id) { return model_.graph.node_name(id) == ast.node.text; });
  if (node == partition.nodes.end()) {
    diags_.error(Code::PartitionSplit, ast.node.span, "no operator in partition `@{}` computes `%{}`", partition.name,
                 ast.node.text);
    return;
  }
  partition.split = ir::PartitionSplit{*node, *axis};
}

/// Adds the copies that partitions without a body need. Their cost is not in the text; it is zero until they are
/// priced.
void ModelBuilder::imply_conversions() {
  std::map<ValueId, std::vector<Format>> existing;
  std::set<std::string> names;
  for (const ir::Conversion& conversion : model_.placement.conversions) {
    existing[conversion.value].push_back(conversion.to);
    names.insert(conversion.name);
  }
  std::vector<int> owner = partition_of_nodes(model_.graph, model_.placement);
  auto require = [&](ValueId id, const Format& format, support::Span span) {
    const ir::Value& value = model_.graph.value(id);
    bool is_undecided = value.producer.is_valid() && owner[value.producer.slot()] < 0;
    auto written = written_.find(id);
    Format from = written == written_.end() ? ir::kHostPlain : written->second;
    std::vector<Format>& formats = existing[id];
    if (is_undecided || from == format || std::find(formats.begin(), formats.end(), format) != formats.end()) return;
    formats.push_back(format);
    std::string base = value.name + ".";
    std::copy_if(format.space.begin(), format.space.end(), std::back_inserter(base),
                 [](char c) { return c != '[' && c != ']'; });
    std::string name = base;
    for (int i = 1; model_.graph.find_value(name).is_valid() || names.contains(name); ++i)
      name = base + "." + std::to_string(i);
    names.insert(name);
    model_.placement.conversions.push_back({id, from, format, runtime::Duration(), name, span});
  };
  for (size_t p = 0; p < states_.size(); ++p) {
    if (states_[p].has_body) continue;
    const Partition& partition = model_.placement.partitions[p];
    for (const ir::BoundaryValue& input : partition.inputs) require(input.value, input.format, partition.span);
    for (const ir::BoundaryValue& output : partition.outputs) {
      if (model_.graph.value(output.value).is_output) require(output.value, ir::kHostPlain, partition.span);
    }
  }
}

/// `name` is used before it is defined. If the statement that defines it needs, directly or not, the partition that is
/// being visited, then no order of the statements is valid: reports the cycle.
bool ModelBuilder::report_partition_cycle(const Name& name) {
  if (statement_ >= ast_.statements.size()) return false;
  const auto* here = std::get_if<syntax::PartitionAst>(&ast_.statements[statement_]);
  if (here == nullptr) return false;
  std::map<std::string_view, size_t> definers;
  for (size_t i = 0; i < ast_.statements.size(); ++i) {
    for (const Name& result : results_of(ast_.statements[i])) definers.emplace(result.text, i);
  }
  std::vector<bool> seen(ast_.statements.size(), false);
  std::vector<const Name*> pending = {&name};
  std::vector<const syntax::PartitionAst*> through;
  bool is_cycle = false;
  while (!pending.empty() && !is_cycle) {
    auto definer = definers.find(pending.back()->text);
    pending.pop_back();
    if (definer == definers.end() || seen[definer->second]) continue;
    seen[definer->second] = true;
    is_cycle = definer->second == statement_;
    const syntax::Statement& statement = ast_.statements[definer->second];
    if (const auto* other = std::get_if<syntax::PartitionAst>(&statement); other != nullptr && other != here) {
      through.push_back(other);
    }
    for (const Name* read : reads_of(statement)) pending.push_back(read);
  }
  if (!is_cycle) return false;
  auto error = diags_.error(Code::PartitionCycle, name.span,
                            "partition `@{}` needs `%{}`, which in turn needs a result of `@{}`: neither can run first",
                            here->name.text, name.text, here->name.text);
  for (const syntax::PartitionAst* other : through)
    error.note(other->name.span, "by way of partition `@{}`", other->name.text);
  return true;
}

}  // namespace collage::sema
