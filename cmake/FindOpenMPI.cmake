# OpenMPI, where Debian puts it beside MPICH: FindMPI.cmake finds one MPI alone. Makes OpenMPI::OpenMPI.
find_path(OPENMPI_INCLUDE_DIR mpi.h PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib /usr/local/lib /usr/local
          PATH_SUFFIXES openmpi/include NO_DEFAULT_PATH)
find_library(OPENMPI_LIBRARY mpi PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib /usr/local/lib /usr/local
             PATH_SUFFIXES openmpi/lib NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenMPI REQUIRED_VARS OPENMPI_LIBRARY OPENMPI_INCLUDE_DIR)
if(OpenMPI_FOUND AND NOT TARGET OpenMPI::OpenMPI)
  add_library(OpenMPI::OpenMPI SHARED IMPORTED)
  set_target_properties(OpenMPI::OpenMPI PROPERTIES
    IMPORTED_LOCATION ${OPENMPI_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OPENMPI_INCLUDE_DIR})
endif()
mark_as_advanced(OPENMPI_INCLUDE_DIR OPENMPI_LIBRARY)
