# Writes a .cpp file that defines collage::page::page_assets (page_assets.h):
#
#   cmake -DOUTPUT=FILE.cpp "-DFILES=NAME=PATH;NAME=PATH…" -P page_assets.cmake
#
# A byte each, so that neither the length of string literals nor their encoding matters. Without FILES there are no assets.
set(arrays "")
set(rows "")
set(count 0)
foreach(file IN LISTS FILES)
  string(FIND "${file}" "=" equals)
  string(SUBSTRING "${file}" 0 ${equals} name)
  math(EXPR begin "${equals} + 1")
  string(SUBSTRING "${file}" ${begin} -1 path)
  file(READ ${path} bytes HEX)
  if(bytes MATCHES "3c2f736372697074" AND name MATCHES "[.]js$")
    message(FATAL_ERROR "${path} has `</script` in it and cannot stand in a page")
  endif()
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "const unsigned char kAsset${count}[] = {\n${bytes}};\n")
  string(APPEND rows "    {\"${name}\", {reinterpret_cast<const char*>(kAsset${count}), sizeof kAsset${count}}},\n")
  math(EXPR count "${count} + 1")
endforeach()
set(body "  return {};\n")
set(space "")
if(count GREATER 0)
  set(space "namespace {\n${arrays}}\n")
  set(body "  static const PageAsset assets[] = {\n${rows}  };\n  return assets;\n")
endif()
file(WRITE ${OUTPUT} "#include \"compiler/page/page_assets.h\"\nnamespace collage::page {\n${space}\
std::span<const PageAsset> page_assets() {\n${body}}\n}\n")
