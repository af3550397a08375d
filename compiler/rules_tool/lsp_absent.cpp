// SPDX-License-Identifier: Apache-2.0
// What a build without the language server says of it.
#include "compiler/rules_tool/lsp/serve.h"
#include "runtime/core/built_without.h"

namespace collage::rules_tool::lsp {

#if !COLLAGE_HAS_LANGUAGE_SERVER
bool serve(std::istream&, std::ostream&, support::Diagnostics& diags) {
  return diags.error_at(support::Code::BadOption, "lsp", "{}",
                        runtime::built_without("the language server", "LANGUAGE_SERVER"));
}
#endif

}  // namespace collage::rules_tool::lsp
