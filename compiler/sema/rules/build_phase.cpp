// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_phase.h"

#include <algorithm>

namespace collage::sema {

using support::Code;

bool build_phases(const syntax::BackendAst& ast, ir::Backend* backend, support::Diagnostics& diags) {
  bool ok = true;
  for (const syntax::PhaseAst& phase_ast : ast.phases) {
    const std::string& name = phase_ast.name.text;
    if (name != "pre" && name != "post") {
      ok = diags.error(Code::UnknownName, phase_ast.name.span, "there is no phase `{}`", name)
               .note("`phase pre` runs before candidates are searched, `phase post` on each partition of the backend");
      continue;
    }
    if (const ir::Phase* first = backend->find_phase(name == "post")) {
      ok = diags.error(Code::DuplicateName, phase_ast.name.span, "`phase {}` is stated twice", name)
               .note(first->span, "the first is here");
      continue;
    }
    ir::Phase phase;
    phase.is_post = name == "post";
    phase.span = phase_ast.name.span;
    for (const syntax::Word& pass : phase_ast.passes) {
      ir::PhaseItem item{pass.text, pass.span};
      auto first = std::find_if(phase.items.begin(), phase.items.end(),
                                [&](const ir::PhaseItem& other) { return other.pass == item.pass; });
      if (first != phase.items.end()) {
        ok = diags.error(Code::DuplicateName, item.span, "`{}` is in this phase twice", item.pass)
                 .note(first->span, "the first is here");
        continue;
      }
      phase.items.push_back(std::move(item));
    }
    backend->phases.push_back(std::move(phase));
  }
  return ok;
}

}  // namespace collage::sema
