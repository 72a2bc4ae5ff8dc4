# SPDX-License-Identifier: Apache-2.0
#
# The installed package: the command, the public headers, the data of the models, and a CMake
# package for out-of-tree models. Models resolve the library's symbols from the command that loads
# them, so there is no library to install. Manual pages and completion are what the command itself
# writes, when it is installed. liborrery-llf is for other simulators; pkg-config knows it, with the
# prefix that the installation has, whatever that of the configuration was.
include(CMakePackageConfigHelpers)
install(TARGETS orrery RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(ORRERY_HAVE_LAB)
  install(PROGRAMS models/lab/orrery-lab DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS orrery_llf_shared orrery_llf_static DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(CODE "
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/cmake/orrery-llf.pc.in\" \"${PROJECT_BINARY_DIR}/orrery-llf.pc\" @ONLY)
  file(INSTALL \"${PROJECT_BINARY_DIR}/orrery-llf.pc\"
    DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")")
install(DIRECTORY include/orrery DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/models USE_SOURCE_PERMISSIONS
  FILES_MATCHING PATTERN "*.tntp" PATTERN "*.toml" PATTERN "*.ini" PATTERN "*.py" PATTERN "*.ns2"
  PATTERN "*.xml" PATTERN "README.md"
  PATTERN "__pycache__" EXCLUDE
  # What the laboratory's hosts are built from.
  PATTERN "uml" EXCLUDE PATTERN "guest" EXCLUDE PATTERN "olsr" EXCLUDE)
install(FILES src/output/report.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery)
install(PROGRAMS tools/plot_trace.py DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/tools)
install(FILES tools/trace_packets.py DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/tools)
file(RELATIVE_PATH ORRERY_PREFIX_FROM_CONFIG "/${CMAKE_INSTALL_LIBDIR}/cmake/orrery" "/")
configure_package_config_file(cmake/orrery-config.cmake.in
  ${CMAKE_BINARY_DIR}/orrery-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/orrery-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/orrery-config.cmake
  ${CMAKE_BINARY_DIR}/orrery-config-version.cmake
  cmake/orrery-fixed-address.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)

install(CODE "
  set(command \"$<TARGET_FILE:orrery>\")
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  set(manual \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")")
install(CODE [[
  execute_process(COMMAND ${command} manual --into "${manual}" COMMAND_ERROR_IS_FATAL ANY)
  set(bash "${share}/bash-completion/completions/orrery")
  set(zsh "${share}/zsh/site-functions/_orrery")
  foreach(shell bash zsh)
    cmake_path(GET ${shell} PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    execute_process(COMMAND ${command} completion ${shell} OUTPUT_FILE "${${shell}}"
      COMMAND_ERROR_IS_FATAL ANY)
    message(STATUS "Installing: ${${shell}}")
  endforeach()
  message(STATUS "Installing: ${manual}/orrery.1 and those of its commands")]])
