# `cpack`: a Debian package for each component of Install.cmake, or (`cpack -G TGZ`) one archive that can be unpacked anywhere, with
# install.sh. Both hold what `collage_install` built; package/generator.cmake.in has what differs between them.
set(COLLAGE_HOMEPAGE "https://collage.example" CACHE STRING "Where users find Collage, for packages")
set(COLLAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>" CACHE STRING "Who answers for the packages, as NAME <ADDRESS>")
if(COLLAGE_MAINTAINER STREQUAL " <>")
  set(COLLAGE_MAINTAINER "The Collage authors <authors@collage.example>")
endif()

set(CPACK_PACKAGE_NAME collage)
set(CPACK_PACKAGE_CONTACT ${COLLAGE_MAINTAINER})
set(CPACK_PACKAGE_HOMEPAGE_URL ${COLLAGE_HOMEPAGE})
set(CPACK_SYSTEM_NAME ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${COLLAGE_PACKAGE_FOLDER}/generator.cmake)
configure_file(cmake/package/generator.cmake.in ${CPACK_PROJECT_CONFIG_FILE} @ONLY)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Libraries of Collage that are in another package: CPACK_COMPONENT_…_DEPENDS names that.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
# Programs of others that link the libraries get their dependencies from these.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

# collage_deb(COMPONENT PACKAGE SECTION [ON component…] [DEPENDS package…] [SUGGESTS package…] DESCRIPTION summary line…)
set(CPACK_COMPONENTS_ALL "")
macro(collage_deb component package section)
  cmake_parse_arguments(ARG "" "" "ON;DEPENDS;SUGGESTS;DESCRIPTION" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DEPENDS ${ARG_ON})
  list(JOIN ARG_DEPENDS ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS)
  list(JOIN ARG_SUGGESTS ", " CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS)
  list(JOIN ARG_DESCRIPTION "\n" CPACK_COMPONENT_${upper}_DESCRIPTION)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright COMPONENT ${component})
endmacro()

# The alternative that is linked is not the one that the library's own dependency asks for.
set(openblas "")
if(COLLAGE_HAS_OPENBLAS)
  set(openblas libopenblas0-openmp)
endif()
collage_deb(runtime collage-runtime libs DEPENDS ${openblas} SUGGESTS collage
  DESCRIPTION "Runs deep-learning models that Collage compiled"
  "Collage compiles a deep-learning model for several backends at once: generated code,"
  "oneDNN, OpenBLAS, XNNPACK and accelerators."
  "."
  "This package has collage-run, which runs compiled models (.collage), and"
  "libcollage_runtime, with which programs in C and C++ run them. Nothing of the"
  "compiler is needed.")
collage_deb(collage collage devel ON runtime DEPENDS ${openblas} SUGGESTS libcollage-dev python3-collage
  DESCRIPTION "Compiler that places deep-learning models over several backends"
  "Collage compiles a deep-learning model, in ONNX or in its own text format, for several"
  "backends at once: generated code, oneDNN, OpenBLAS, XNNPACK and accelerators. It finds"
  "the fastest way to run the model over all of them together and proves how good that is."
  "."
  "This package has the compiler collagec, its library, the rules of the backends that"
  "ship, collage-rules for backends of your own, and the checkers of certificates.")
if(COLLAGE_SHARED)
  collage_deb(dev libcollage-dev libdevel ON runtime collage SUGGESTS pkgconf cmake
    DESCRIPTION "Collage in programs: headers, and files for CMake and pkg-config"
    "Programs in C and C++ compile models with libcollage_compiler and run them with"
    "libcollage_runtime, which alone is enough for models that are compiled already."
    "."
    "This package has what building such programs takes: headers, the CMake package"
    "Collage, and collage-compiler and collage-runtime for pkg-config.")
endif()
if(TARGET collage_python)
  # The module is built for one minor version of Python.
  execute_process(
    COMMAND ${COLLAGE_PYTHON_EXECUTABLE} -c "import sys; a, b = sys.version_info[:2]; print(f'python3 (>= {a}.{b});python3 (<< {a}.{b + 1})')"
    OUTPUT_VARIABLE python_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  collage_deb(python3 python3-collage python ON collage DEPENDS ${python_version} python3-numpy
    DESCRIPTION "Collage for Python 3"
    "Collage compiles a deep-learning model for several backends at once. This package has"
    "the module collage: it compiles models, runs them on NumPy arrays, and says why each"
    "operator is where it is.")
endif()
# The modules for MPI need MPI, which a program that nobody starts with `mpirun` does not.
if(TARGET collage_mpi_openmpi OR TARGET collage_mpi_mpich)
  collage_deb(mpi collage-mpi libs ON runtime
    DESCRIPTION "Execution of Collage's models over several hosts by MPI"
    "Under mpirun, collage-run runs a model that was compiled for a cluster: each process"
    "runs the part of its host. This package has the modules that it loads for that.")
endif()

# The archive alone: install.sh, and in share/collage/libraries.txt which libraries of the system it needs, from which packages.
install(PROGRAMS cmake/package/install.sh DESTINATION . COMPONENT archive EXCLUDE_FROM_ALL)
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/cmake/package/needed_libraries.sh \${root}
    OUTPUT_FILE \${root}/${CMAKE_INSTALL_DATADIR}/collage/libraries.txt COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT archive EXCLUDE_FROM_ALL)
include(CPack)
