# `cmake --install`: the tools, the public headers and the shipped rules.
include(GNUInstallDirs)
install(TARGETS collagec collage-check-certificate collage-measure collage-rules RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/collage/rules FILES_MATCHING PATTERN "*.rules")
install(DIRECTORY include/collage DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
