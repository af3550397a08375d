// SPDX-License-Identifier: Apache-2.0
// Messages of the language server protocol over streams: `Content-Length: N`, an empty line, N bytes.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

namespace collage::rules_tool::lsp {

struct Incoming {
  enum class Kind {
    Message,  ///< `text` is its body
    Bad,      ///< `text` says what is wrong with its header; reading can go on
    End       ///< no further message
  };
  Kind kind = Kind::End;
  std::string text;
};

/// Reads the next message, whatever the input is: no header is longer, and no body larger, than this module bounds.
Incoming read_message(std::istream& in);

void write_message(std::ostream& out, std::string_view body);

}  // namespace collage::rules_tool::lsp
