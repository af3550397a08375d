// SPDX-License-Identifier: Apache-2.0
// The state of one import: a graph of a file, or a stage of it (stage.h), on its way into an ir::Graph. For this folder
// only.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/compositions/composition.h"
#include "compiler/import/emitter.h"
#include "compiler/import/functions.h"
#include "compiler/import/names.h"
#include "compiler/import/onnx.h"
#include "compiler/import/proto.h"
#include "compiler/import/sequences.h"

namespace collage::import {

class OnnxImporter {
 public:
  /// `proto`: the graph of the file, or a graph inside it.
  OnnxImporter(const OnnxFile& file, const onnx::GraphProto& proto, const OnnxOptions& options, ModelNames names,
               support::Diagnostics& diags)
      : file_(file.path()),
        external_(file.folder(), &file.access()),
        model_(file.proto()),
        proto_(proto),
        options_(options),
        diags_(diags),
        emitter_(graph_, std::move(names), diags) {}

  std::optional<ir::Graph> run();
  std::optional<ImportedStage> run_first_stage();
  std::optional<ImportedStage> run_stage(const StageRequest& request);
  /// Returns the indices of the nodes, operands first, otherwise as written; nullopt, after errors, on a cycle or a
  /// name that is defined twice.
  std::optional<std::vector<int>> node_order();

 private:
  /// Returns the version of the standard's operators, or nullopt, after an error, if it is not known.
  std::optional<int> read_opset(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);
  /// Reads opset and functions. False after an error.
  bool read_header();
  void add_initializers(const onnx::GraphProto& proto);
  void add_inputs();
  void add_input(const onnx::ValueInfoProto& input, const ir::ClosedShapes& shapes);
  /// The value of this name; in a stage also one that is known from outside of it.
  ir::ValueId find_operand(const std::string& name);
  void add_node(const onnx::NodeProto& node);
  /// Adds the node. False, after an error here or in what it reads, if its results do not exist.
  bool make_node(const onnx::NodeProto& node, const std::string& place);
  /// In a stage: adds the node, or puts it off. False after an error.
  bool add_or_put_off(int index, ImportedStage* stage);
  enum class Attempt { Added, NeedsValues, Failed };
  Attempt attempt(const onnx::NodeProto& node);
  void put_off(const onnx::NodeProto& node);
  void mark_stage_outputs(ImportedStage* stage);
  bool add_constant_node(const onnx::NodeProto& node, const std::string& where);
  /// Replaces an If whose condition is constant by the nodes of its branch.
  bool add_branch(const onnx::NodeProto& node, const std::string& where);
  /// Adds the nodes of a graph inside a node, on values of these names, which gives values of those.
  bool add_body(const onnx::GraphProto& body, const std::vector<std::string>& operands,
                const std::vector<std::string>& results, const std::string& where, const std::string& origin);
  /// Whether the node is a Loop or Scan of the standard.
  static bool is_loop(const onnx::NodeProto& node);
  /// Whether all that is needed to know how often a loop runs is known before a run.
  bool knows_turns(const onnx::NodeProto& node) const;
  /// Replaces a loop by the nodes of its turns. An error if only a run knows how many these are, or if they are many.
  bool add_turns(const onnx::NodeProto& node, PendingNode pending);
  bool add_loop(const onnx::NodeProto& node, const PendingNode& pending);
  bool add_scan(const onnx::NodeProto& node, const PendingNode& pending);
  struct LoopBody;
  /// The body with its constants, which all turns share, added to the graph. Returns nullopt after an error.
  std::optional<LoopBody> open_body(const onnx::NodeProto& node, const onnx::GraphProto& body,
                                    const PendingNode& pending);
  /// Adds the nodes of one turn. Returns the names of the body's results, nullopt after an error.
  std::optional<std::vector<std::string>> add_turn(const LoopBody& loop, int64_t turn,
                                                   const std::vector<std::string>& operands);
  /// The constant that an input of the body stands for in a turn. Returns its name, or "" where nothing reads it.
  std::string add_number(const LoopBody& loop, int64_t turn, int input, ir::Tensor value);
  /// Returns the axis of each operand of a Scan after its states, and how long these are; nullopt after an error.
  std::optional<std::vector<size_t>> scanned_axes(const PendingNode& node, size_t states, int64_t* turns);
  /// Adds the slices of a scanned operand, one for each turn. Returns their names, nullopt after an error.
  std::optional<std::vector<std::string>> add_slices(const LoopBody& loop, ir::ValueId scanned, size_t axis,
                                                     const std::string& input);
  /// Appends the last of what a turn gave to the rows of the results from `first` on.
  bool take_rows(const LoopBody& loop, const std::vector<std::string>& given, size_t first,
                 std::vector<std::vector<ir::ValueId>>& rows);
  bool report_no_tensor(const LoopBody& loop, const std::string& name);
  /// Gives a result of the loop what the last turn left of a state.
  bool add_state(const LoopBody& loop, const std::string& state, const std::string& result);
  /// Gives a result of the loop the rows of all turns, along a new axis.
  bool add_rows(const LoopBody& loop, const std::vector<ir::ValueId>& rows, int64_t axis, const std::string& result);
  bool add_results(const LoopBody& loop, const std::vector<std::string>& states,
                   const std::vector<std::vector<ir::ValueId>>& rows, const std::vector<int64_t>& axes);
  /// The elements of a value where they are known now; null elsewhere.
  const ir::Tensor* known_tensor(const std::string& name) const;
  /// The condition of a loop where it is known now; one that is left out is true.
  std::optional<bool> known_condition(const std::string& name) const;
  /// Adds the nodes of a FlexAttention, and those of the graphs that it holds.
  bool add_flex_attention(const onnx::NodeProto& node, PendingNode pending);
  /// What the graph `name` of the node makes of a value; the value itself where the node has no such graph.
  ir::ValueId add_modification(const onnx::NodeProto& node, const std::string& name, Composition& c, ir::ValueId value);
  /// Adds the nodes of a function of the model.
  bool add_call(const onnx::NodeProto& node, const onnx::FunctionProto& function, const std::string& where);
  /// Gives the node its attributes, but those of the names `except`. False after an error.
  bool read_attributes(const onnx::NodeProto& node, PendingNode& pending, const NameSet& except = {});
  /// Adds a node of an operator, as it is or composed of others.
  bool add_operator(const onnx::NodeProto& node, PendingNode pending);
  bool report_unknown(const onnx::NodeProto& node, const std::string& where);
  /// Adds a tensor as constant `name`; if that is an output of the model, as the operand of an Identity of that name.
  bool add_constant(const std::string& name, ir::Tensor tensor, const std::string& where);
  void mark_outputs();
  void check_output_type(const onnx::ValueInfoProto& output, const ir::TensorType& type);

  std::string at(const std::string& kind, const std::string& name) const {
    return fmt::format("{}: {} '{}'", file_, kind, name);
  }

  /// Nodes that calls of functions and loops become: calls of calls multiply.
  static constexpr int64_t kMostUnfolded = 300'000;

  const std::string file_;
  const ExternalData external_;
  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  const OnnxOptions& options_;
  support::Diagnostics& diags_;
  ir::Graph graph_;
  Emitter emitter_;
  Sequences sequences_{emitter_};
  FunctionTable functions_;
  std::vector<const onnx::FunctionProto*> calls_;  ///< the functions whose nodes are added now, outermost first
  int64_t unfolded_ = 0;                           ///< nodes of all calls and turns of loops so far
  std::optional<int64_t> left_to_unroll_;          ///< nodes that turns of the outermost loop may still become
  int opset_ = 0;                                  ///< of the nodes that are added now
  NameSet failed_;                                 ///< values that do not exist because of an error
  NameSet unfinished_;                             ///< results of the nodes that are added now
  const StageRequest* request_ = nullptr;          ///< of a later stage
  bool is_in_stages_ = false;                      ///< what follows a node may be run on the host
  NameSet put_off_;                                ///< in a stage: values of nodes that are not in it
  NameSet unsupported_;                            ///< operators reported already
};

}  // namespace collage::import
