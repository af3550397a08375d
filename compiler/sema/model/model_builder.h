// SPDX-License-Identifier: Apache-2.0
// Implements build_graph.h. Visits statements in the order of the text. A name denotes a Binding: a logical value in
// one format. The Graph has only logical values; formats are in the Placement.
//
// After an error a name is bound to a poisoned value (invalid id), which suppresses errors that follow from the first.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/model/constants.h"

namespace collage::sema {

class ModelBuilder {
 public:
  ModelBuilder(const syntax::ModelAst& ast, const std::string& model_dir, const support::FileAccess& access,
               support::Diagnostics& diags, Elements elements = Elements::Needed)
      : ast_(ast), diags_(diags), constants_(model_dir, access, diags, elements) {}

  std::optional<Model> build();
  /// Builds what is right, without the elements of constants that no shape depends on; returns the types of all names.
  std::vector<NamedType> types();

 private:
  struct Binding {
    ir::ValueId value;  ///< invalid: poisoned
    ir::Format format;
    support::Span span;
    int partition = -1;           ///< that produces the value; -1: a model input, a constant, a node without partition
    bool is_visible = true;       ///< false: inside a body and not among its results
    bool is_converted = false;    ///< by a `convert`
    bool is_placeholder = false;  ///< used and never defined so far
    bool is_undecided = false;    ///< produced by a node without partition: the search chooses the format
  };

  /// Parts of a written partition that ir::Partition does not have.
  struct PartitionState {
    bool has_body = false;
    std::map<ir::ValueId, ir::Format> input_formats;
  };

  // model_builder.cpp
  void add_inputs();
  void add_outputs();
  void visit(const syntax::OpAst& op);
  void visit(const syntax::ConstAst& constant);
  std::optional<ir::Constant> make_constant(const syntax::ConstAst& ast);
  bool check_results(const std::vector<syntax::Name>& results);
  bool resolve_operands(const syntax::OpAst& op, std::vector<ir::ValueId>* operands);
  std::optional<ir::AttrMap> build_attrs(const syntax::OpAst& op, const ir::OpDef& def);
  std::optional<ir::Pin> build_pin(const syntax::OpAst& op);
  void check_types(const syntax::OpAst& op, ir::NodeId node);
  void bind_results(const syntax::OpAst& op, ir::NodeId node, int partition);
  const Binding* find(const syntax::Name& name);
  void report_undefined(const syntax::Name& name);
  void bind(const syntax::Name& name, Binding binding);
  std::string near_name(std::string_view name) const;

  // build_placement.cpp
  void visit(const syntax::ConvertAst& convert);
  void visit(const syntax::PartitionAst& partition);
  void find_aliases();
  std::optional<int> declare(const syntax::PartitionAst& ast);
  void add_partition_inputs(const syntax::PartitionAst& ast, int index);
  void visit_body(const syntax::PartitionAst& ast, int index);
  /// Index of a node's partition, or -1; nullopt after an error.
  std::optional<int> membership_of(const syntax::OpAst& op);
  std::optional<ir::Format> build_format(const syntax::FormatAst& ast, const ir::TensorType& type);
  void finish_partitions();
  void build_split(ir::Partition& partition, int index);
  void imply_conversions();
  bool report_partition_cycle(const syntax::Name& name);

  const syntax::ModelAst& ast_;
  support::Diagnostics& diags_;
  ConstantMaker constants_;
  Model model_;
  std::map<std::string, Binding, std::less<>> scope_;
  std::map<std::string, std::string, std::less<>> aliases_;  ///< name of a value -> name of the output it becomes
  std::map<std::string, int, std::less<>> partition_names_;
  std::vector<PartitionState> states_;
  std::vector<std::pair<int, const syntax::PartitionSplitAst*>> splits_;  ///< by partition, as written
  std::map<ir::ValueId, ir::Format> written_;       ///< format in which a partition produces a value
  std::set<std::string, std::less<>> body_inputs_;  ///< names that the current body may read
  int current_ = -1;                                ///< partition whose body is visited
  size_t statement_ = 0;
  int suggestions_left_ = 20;  ///< finding similar names takes time
  bool only_types_ = false;
  std::vector<NamedType> types_;  ///< where only they are wanted
};

}  // namespace collage::sema
