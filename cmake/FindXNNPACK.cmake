# XNNPACK, which comes without a CMake or pkg-config file; its header needs that of pthreadpool. Makes XNNPACK::XNNPACK.
find_path(XNNPACK_INCLUDE_DIR xnnpack.h)
find_path(PTHREADPOOL_INCLUDE_DIR pthreadpool.h)
find_library(XNNPACK_LIBRARY XNNPACK)
find_library(PTHREADPOOL_LIBRARY pthreadpool)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XNNPACK REQUIRED_VARS XNNPACK_LIBRARY PTHREADPOOL_LIBRARY XNNPACK_INCLUDE_DIR
                                                        PTHREADPOOL_INCLUDE_DIR)
if(XNNPACK_FOUND AND NOT TARGET XNNPACK::XNNPACK)
  # It names pthreadpool and cpuinfo as what it needs, so that the loader finds them.
  add_library(XNNPACK::XNNPACK SHARED IMPORTED)
  set_target_properties(XNNPACK::XNNPACK PROPERTIES
    IMPORTED_LOCATION ${XNNPACK_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${XNNPACK_INCLUDE_DIR};${PTHREADPOOL_INCLUDE_DIR}")
endif()
mark_as_advanced(XNNPACK_INCLUDE_DIR PTHREADPOOL_INCLUDE_DIR XNNPACK_LIBRARY PTHREADPOOL_LIBRARY)
