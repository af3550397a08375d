// SPDX-License-Identifier: Apache-2.0
// Decides whether any match can satisfy a conjunction of simple conditions, each required to be true or false.
//
//     dim(x, 1) % 8 == 0     dim(x, 1) < 16     dim(x, 1) > 8      =>  no: the multiple of 8 above 8 is 16
//     dtype(x) in {f32}      dtype(x) == dtype(y)   dtype(y) == i8  =>  no
//
// Keeps the possible values of every term (`dim(x, 1)`, `dtype(x)`, `c.group`): bounds and excluded numbers, or a set
// of names; for integer terms also linear inequalities and remainders. "No" is sound: unknown conditions are ignored.
// Comparisons with NaN are false, so a false comparison has consequences only for integers.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/lint/logic/bounds.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {

struct Literal {
  const ir::Expr* expr = nullptr;  ///< of type Bool, not `and`, `or` or `not`
  bool is_true = true;
};

/// Facts about a rule's terms that hold without any condition.
struct RuleFacts {
  CaptureNames names;
  std::set<std::string> whole;     ///< texts of attributes that are integers, or lists of them: `%c.group`, `$lanes`
  std::set<std::string> positive;  ///< texts of attributes that an operator requires to be at least 1
  std::map<int, bool> is_const;    ///< captures that are certainly constants, or certainly not
};

class Facts {
 public:
  Facts(const RuleFacts& rule, const Settings& settings) : rule_(rule), settings_(settings) {}

  void add(const Literal& literal);
  /// Adds that `rank(capture)` is at most this.
  void add_rank_at_most(const ir::Expr& capture, double most);
  /// Assumes that no dimension is 0. Call first.
  void assume_elements() { least_dim_ = 1; }
  /// Returns true if certainly no match satisfies all added facts. Call once, at the end.
  bool are_impossible();

 private:
  /// Names or lists that a term can equal, as text.
  struct Choice {
    std::optional<std::set<std::string>> allowed;
    std::set<std::string> excluded;
  };
  struct Dim {
    std::string capture;  ///< `%x`
    double index;
    int number;
  };
  /// max(list) and min(list), where some condition evaluates one of them: the list has elements then.
  struct Extremes {
    int max = -1;
    int min = -1;
  };
  /// `all(list <= 8)`, `any(list > 8)`
  struct Quantified {
    const ir::Expr* list;
    ir::ExprOp op;
    double constant;
    bool is_all;
  };
  struct Comparison {
    const ir::Expr* left;
    ir::ExprOp op;
    const ir::Expr* right;
  };
  using Linear = NumberFacts::Linear;

  std::string text(const ir::Expr& expr) const { return text_of(expr, rule_.names, settings_); }
  bool is_whole(const ir::Expr& expr) const;
  int number(const ir::Expr& expr);
  int rank_of(const std::string& capture);
  int dim_of(const std::string& capture, double index);
  std::optional<Linear> linear(const ir::Expr& expr);
  KnownRange known(const ir::Expr* except) const;

  bool is_whole_list(const ir::Expr& list) const;
  const Extremes& extremes_of(const ir::Expr& list);
  void quantify(const ir::Expr& call, bool is_true);
  void compare(const ir::Expr& left, ir::ExprOp op, const ir::Expr& right, bool is_true);
  void member(const ir::Expr& expr, const ir::Expr& set, bool is_true);
  void equate_names(const ir::Expr& left, const ir::Expr& right, bool is_equal);
  void equate_lists(const ir::Expr& left, const ir::Expr& right, bool is_equal);
  void equal_elements(const ir::Expr& term, const ir::Expr& literal);
  void choose(const ir::Expr& term, const std::set<std::string>& names, bool is_true);
  Choice& choice(const ir::Expr& term);
  /// The text of a String, DType or list of numbers that is the same for every match.
  std::optional<std::string> constant_name(const ir::Expr& expr) const;

  void link_equal_shapes();
  void link_pinned_ranks();
  void link_elements();
  void link_quantified();
  void link_extremes();
  bool choices_clash();
  bool comparisons_clash() const;

  const RuleFacts& rule_;
  const Settings& settings_;
  bool impossible_ = false;
  double least_dim_ = 0;
  NumberFacts numbers_;
  std::map<std::string, int> index_;
  std::map<int, const ir::Expr*> computed_;  ///< numbers computed from others
  std::vector<Dim> dims_;
  std::map<std::string, int> ranks_;  ///< by capture, as are these:
  std::map<std::string, int> elements_;
  std::map<std::string, Extremes> extremes_;  ///< by the text of the list
  std::vector<Quantified> quantified_;
  std::vector<std::pair<std::string, std::string>> equal_shapes_;
  std::map<std::string, Choice> choices_;
  std::vector<std::pair<std::string, std::string>> equal_choices_;
  std::vector<std::pair<std::string, std::string>> different_choices_;
  std::map<std::string, bool> truths_;
  std::vector<Comparison> comparisons_;
};

}  // namespace collage::lint
