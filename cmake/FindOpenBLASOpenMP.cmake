# The OpenMP build of OpenBLAS, where Debian puts it beside the pthread one: two thread pools on one machine collapse
# (OpenBLAS's own and libgomp's, which generated code and oneDNN use), so the default alternative will not do.
# Makes OpenBLASOpenMP::OpenBLASOpenMP; programs that link it find it by run path.
find_path(OPENBLAS_OPENMP_INCLUDE_DIR cblas.h PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp
          NO_CMAKE_FIND_ROOT_PATH)
find_library(OPENBLAS_OPENMP_LIBRARY openblas PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLASOpenMP REQUIRED_VARS OPENBLAS_OPENMP_LIBRARY OPENBLAS_OPENMP_INCLUDE_DIR)
if(OpenBLASOpenMP_FOUND AND NOT TARGET OpenBLASOpenMP::OpenBLASOpenMP)
  add_library(OpenBLASOpenMP::OpenBLASOpenMP SHARED IMPORTED)
  set_target_properties(OpenBLASOpenMP::OpenBLASOpenMP PROPERTIES
    IMPORTED_LOCATION ${OPENBLAS_OPENMP_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OPENBLAS_OPENMP_INCLUDE_DIR})
endif()
mark_as_advanced(OPENBLAS_OPENMP_INCLUDE_DIR OPENBLAS_OPENMP_LIBRARY)
