# `cmake --install`: programs, libraries, headers, rules and man pages; `find_package(Collage COMPONENTS compiler runtime)` and
# pkg-config for those who build against them; `cpack` for Debian packages, of Collage and of its Python package. An installation
# can be moved: everything in it is found relative to the programs and libraries.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME collage)

# Every program.
get_property(folders DIRECTORY compiler/tools PROPERTY SUBDIRECTORIES)
get_property(runtime_folders DIRECTORY runtime/tools PROPERTY SUBDIRECTORIES)
foreach(folder IN LISTS folders runtime_folders)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL EXECUTABLE)
      install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
  endforeach()
endforeach()

install(DIRECTORY rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/collage/rules FILES_MATCHING PATTERN "*.rules")
install(DIRECTORY include/collage DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man DESTINATION ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/bash-completion DESTINATION ${CMAKE_INSTALL_DATADIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# With COLLAGE_SHARED=OFF the libraries are for add_subdirectory alone.
if(COLLAGE_SHARED)
  set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Collage)
  set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  # From the folder of the .pc files to the prefix: ../.. or ../../..
  file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${pkgconfig_folder} /prefix)
  foreach(component IN ITEMS runtime compiler)
    set_target_properties(collage_shared_${component} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS collage_shared_${component} EXPORT Collage_${component} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT Collage_${component} NAMESPACE Collage:: FILE Collage_${component}.cmake DESTINATION ${cmake_folder})
    configure_file(cmake/package/collage-${component}.pc.in ${PROJECT_BINARY_DIR}/package/collage-${component}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/package/collage-${component}.pc DESTINATION ${pkgconfig_folder})
  endforeach()
  configure_package_config_file(cmake/package/CollageConfig.cmake.in ${PROJECT_BINARY_DIR}/package/CollageConfig.cmake
    INSTALL_DESTINATION ${cmake_folder})
  # A minor version may change the ABI until 1.0 (include/collage/README.md).
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/CollageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/CollageConfig.cmake ${PROJECT_BINARY_DIR}/package/CollageConfigVersion.cmake
    DESTINATION ${cmake_folder})
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME collage)
set(CPACK_PACKAGE_CONTACT "The Collage authors <collage@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compiler that places deep-learning models over several backends")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# A package for each component: collage, and python3-collage (python/CMakeLists.txt).
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL collage)
set(CPACK_DEBIAN_COLLAGE_PACKAGE_NAME collage)
if(TARGET collage_python)
  list(APPEND CPACK_COMPONENTS_ALL python3)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_NAME python3-collage)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
  set(CPACK_COMPONENT_PYTHON3_DESCRIPTION "Collage for Python 3")
  # The module is built for one minor version of Python.
  execute_process(
    COMMAND ${COLLAGE_PYTHON_EXECUTABLE} -c "import sys; a, b = sys.version_info[:2]; print(f'python3 (>= {a}.{b}), python3 (<< {a}.{b + 1})')"
    OUTPUT_VARIABLE python_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS "collage (= ${PROJECT_VERSION}), ${python_version}, python3-numpy")
endif()
# The modules for MPI need MPI, which a program that nobody starts with `mpirun` does not.
if(COLLAGE_HAS_OPENMPI OR COLLAGE_HAS_MPICH)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME collage-mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "Execution of Collage's packages over several hosts by MPI")
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "collage (= ${PROJECT_VERSION})")
endif()
# libcollage_compiler needs libcollage_runtime, which is in the same package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
if(TARGET OpenBLASOpenMP::OpenBLASOpenMP)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0-openmp)
endif()
include(CPack)
