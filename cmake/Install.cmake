# `cmake --install`: programs with their manual pages and completions, libraries, headers and rules; `find_package(Collage
# COMPONENTS compiler runtime)` and pkg-config for those who build against them. An installation can be moved: everything in it is
# found relative to the programs and libraries. The target `collage_install` builds what is installed, and nothing else.
#
#   component   holds
#   runtime     collage-run and libcollage_runtime
#   collage     the compiler: the other programs, libcollage_compiler, the rules
#   dev         headers, and what finds the libraries
#   python3     ../python/CMakeLists.txt
#   mpi         ../runtime/cluster/CMakeLists.txt; not installed where it is not built
include(CMakePackageConfigHelpers)
set(COLLAGE_PACKAGE_FOLDER ${PROJECT_BINARY_DIR}/package)
add_custom_target(collage_install)

# What has to be built, as lines `COMPONENT FILE`: check_built.cmake reads it.
set(required "")

# Manual pages and completions are printed by the programs themselves.
set(texts "")
function(collage_install_program program component)
  set(page ${PROJECT_BINARY_DIR}/share/man/man1/${program}.1)
  set(completion ${PROJECT_BINARY_DIR}/share/bash-completion/completions/${program})
  add_custom_command(OUTPUT ${page} ${completion}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share/man/man1 ${PROJECT_BINARY_DIR}/share/bash-completion/completions
    COMMAND ${program} --man > ${page}
    COMMAND ${program} --bash-completion > ${completion}
    DEPENDS ${program} VERBATIM)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${component})
  set(texts ${texts} ${page} ${completion} PARENT_SCOPE)
  set(required "${required}${component} $<TARGET_FILE:${program}>\n${component} ${page}\n${component} ${completion}\n" PARENT_SCOPE)
endfunction()

foreach(tools IN ITEMS runtime/tools compiler/tools)
  set(component collage)
  if(tools STREQUAL "runtime/tools")
    set(component runtime)
  endif()
  get_property(folders DIRECTORY ${tools} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(kind ${target} TYPE)
      if(kind STREQUAL "EXECUTABLE")
        collage_install_program(${target} ${component})
      endif()
    endforeach()
  endforeach()
endforeach()
add_custom_target(program_texts ALL DEPENDS ${texts})
add_dependencies(collage_install program_texts)

install(DIRECTORY rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/collage/rules COMPONENT collage FILES_MATCHING PATTERN "*.rules")
install(DIRECTORY include/collage DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# With COLLAGE_SHARED=OFF the libraries are for add_subdirectory alone.
if(COLLAGE_SHARED)
  set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Collage)
  set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  # From the folder of the .pc files to the prefix: ../.. or ../../..
  file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${pkgconfig_folder} /prefix)
  set(component_of_runtime runtime)
  set(component_of_compiler collage)
  foreach(library IN ITEMS runtime compiler)
    set(target collage_shared_${library})
    set(component ${component_of_${library}})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${target} EXPORT Collage_${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      COMPONENT ${component} NAMELINK_COMPONENT dev)
    install(EXPORT Collage_${library} NAMESPACE Collage:: FILE Collage_${library}.cmake DESTINATION ${cmake_folder} COMPONENT dev)
    configure_file(cmake/package/collage-${library}.pc.in ${COLLAGE_PACKAGE_FOLDER}/collage-${library}.pc @ONLY)
    install(FILES ${COLLAGE_PACKAGE_FOLDER}/collage-${library}.pc DESTINATION ${pkgconfig_folder} COMPONENT dev)
    add_dependencies(collage_install ${target})
    string(APPEND required "${component} $<TARGET_FILE:${target}>\n")
  endforeach()
  configure_package_config_file(cmake/package/CollageConfig.cmake.in ${COLLAGE_PACKAGE_FOLDER}/CollageConfig.cmake
    INSTALL_DESTINATION ${cmake_folder})
  # A minor version may change the ABI until 1.0 (include/collage/README.md).
  write_basic_package_version_file(${COLLAGE_PACKAGE_FOLDER}/CollageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${COLLAGE_PACKAGE_FOLDER}/CollageConfig.cmake ${COLLAGE_PACKAGE_FOLDER}/CollageConfigVersion.cmake
    DESTINATION ${cmake_folder} COMPONENT dev)
endif()

if(TARGET collage_python)
  add_dependencies(collage_install collage_python)
  string(APPEND required "python3 $<TARGET_FILE:collage_python>\n")
endif()
foreach(name IN ITEMS openmpi mpich)
  if(TARGET collage_mpi_${name})
    add_dependencies(collage_install collage_mpi_${name})
  endif()
endforeach()
file(GENERATE OUTPUT ${COLLAGE_PACKAGE_FOLDER}/required_$<CONFIG>.txt CONTENT "${required}")
