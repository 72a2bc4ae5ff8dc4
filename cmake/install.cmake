# SPDX-License-Identifier: Apache-2.0
#
# The installed package: the command, the public headers, the data of the models, and a CMake
# package for out-of-tree models. Models resolve the library's symbols from the command that loads
# them, so there is no library to install.
include(CMakePackageConfigHelpers)
install(TARGETS orrery RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(ORRERY_HAVE_LAB)
  install(PROGRAMS models/lab/orrery-lab DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/orrery DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/models
  FILES_MATCHING PATTERN "*.tntp" PATTERN "*.toml" PATTERN "*.ini" PATTERN "*.py"
  PATTERN "__pycache__" EXCLUDE)
configure_package_config_file(cmake/orrery-config.cmake.in
  ${CMAKE_BINARY_DIR}/orrery-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/orrery-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/orrery-config.cmake
  ${CMAKE_BINARY_DIR}/orrery-config-version.cmake
  cmake/orrery-fixed-address.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)
