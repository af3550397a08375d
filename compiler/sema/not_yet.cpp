// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/not_yet.h"

namespace collage::sema {
namespace {

bool refuse(support::Span span, std::string_view what, support::Diagnostics& diags) {
  return diags.error(support::Code::NotYetSupported, span, "{} does not work yet", what);
}

}  // namespace

bool check_not_yet(const syntax::RuleAst& ast, support::Diagnostics& diags) {
  bool ok = true;
  for (const syntax::FormatItemAst& item : ast.formats) {
    if (item.packed_for) ok = refuse(item.packed_for->span, "a packed format", diags);
  }
  return ok;
}

}  // namespace collage::sema
