# The JavaScript libraries that the page of `collagec --report` carries: d3 and dagre as Debian's node-d3 and node-dagre-layout have
# them, one file each, and the licences of all that these files are made of. Sets ReportLibraries_FOUND and
# ReportLibraries_FILES, a list of NAME=PATH.
include(FindPackageHandleStandardArgs)
set(report_library_folders /usr/share/nodejs /usr/share/javascript)
find_file(ReportLibraries_D3 NAMES d3/dist/d3.min.js d3/d3.min.js PATHS ${report_library_folders})
find_file(ReportLibraries_DAGRE NAMES dagre/dist/dagre.min.js dagre/dagre.min.js PATHS ${report_library_folders})
mark_as_advanced(ReportLibraries_D3 ReportLibraries_DAGRE)

set(ReportLibraries_FILES "d3.min.js=${ReportLibraries_D3}" "dagre.min.js=${ReportLibraries_DAGRE}")
set(ReportLibraries_HAS_LICENCES TRUE)
file(GLOB report_library_modules RELATIVE /usr/share/doc /usr/share/doc/node-d3-*)
foreach(package IN ITEMS node-d3 ${report_library_modules} node-dagre-layout node-graphlibrary node-lodash)
  if(EXISTS /usr/share/doc/${package}/copyright)
    list(APPEND ReportLibraries_FILES "licence of ${package}=/usr/share/doc/${package}/copyright")
  else()
    set(ReportLibraries_HAS_LICENCES FALSE)
  endif()
endforeach()
find_package_handle_standard_args(ReportLibraries
  REQUIRED_VARS ReportLibraries_D3 ReportLibraries_DAGRE ReportLibraries_HAS_LICENCES)
