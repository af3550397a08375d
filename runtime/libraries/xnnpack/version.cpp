// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/xnnpack/version.h"

#include <link.h>

#include <cstring>
#include <string_view>

namespace collage::runtime::xnnpack {
namespace {

size_t padded(size_t bytes) {
  return (bytes + 3) & ~size_t{3};
}

std::string hexadecimal(const unsigned char* bytes, size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  return text;
}

/// The first build ID in a segment of notes: header, name, what it says, each padded to four bytes.
std::string build_id_in(const unsigned char* notes, size_t bytes) {
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t says = at + sizeof note + padded(note.n_namesz), end = says + padded(note.n_descsz);
    if (end > bytes) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + at + sizeof note, "GNU", 4) == 0)
      return hexadecimal(notes + says, note.n_descsz);
    at = end;
  }
  return "";
}

int look_at(dl_phdr_info* object, size_t, void* result) {
  if (std::string_view(object->dlpi_name).find("libXNNPACK") == std::string_view::npos) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr);  // NOLINT
    std::string id = build_id_in(notes, segment.p_memsz);
    if (id.empty()) continue;
    *static_cast<std::string*>(result) = std::move(id);
    return 1;
  }
  return 0;
}

}  // namespace

std::string build_id() {
  std::string id = "unknown";
  ::dl_iterate_phdr(look_at, &id);
  return id;
}

}  // namespace collage::runtime::xnnpack
