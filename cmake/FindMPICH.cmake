# MPICH, where Debian puts it beside OpenMPI: FindMPI.cmake finds one MPI alone. Makes MPICH::MPICH.
find_path(MPICH_INCLUDE_DIR mpi.h PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} /usr/include /usr/local/include
          PATH_SUFFIXES mpich NO_DEFAULT_PATH)
find_library(MPICH_LIBRARY mpich)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MPICH REQUIRED_VARS MPICH_LIBRARY MPICH_INCLUDE_DIR)
if(MPICH_FOUND AND NOT TARGET MPICH::MPICH)
  add_library(MPICH::MPICH SHARED IMPORTED)
  set_target_properties(MPICH::MPICH PROPERTIES
    IMPORTED_LOCATION ${MPICH_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${MPICH_INCLUDE_DIR})
endif()
mark_as_advanced(MPICH_INCLUDE_DIR MPICH_LIBRARY)
