# SPDX-License-Identifier: Apache-2.0
#
# The Debian package, made by `./dev package` from what install.cmake installs. Everything is in one
# package: a model is compiled on the machine where it runs. What the command itself needs is found
# from its binary (debian/settings.cmake); a compiler is recommended only, since the models that ship
# need none, and so is the server of --live; the libraries of MPI are suggested. Both are for plugins
# that are loaded by runs that want them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_VENDOR "Orrery")
# Debian's tools want an address, and there is none.
set(CPACK_PACKAGE_CONTACT "The Orrery authors <authors@orrery.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:12), cmake (>= 3.25), make | ninja-build")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "discrete-event simulation with equal results on all engines")
set(CPACK_PACKAGE_DESCRIPTION
  "Orrery runs discrete-event simulations. A model is ordinary C++, written once:
logical processes with state of any kind, and events between them. It runs
unchanged on a sequential engine, on conservative and optimistic (Time Warp)
parallel ones, on any number of threads, and every run commits the same results
to the last bit.
.
This package holds the command orrery with models of road traffic, wireless
networks, mobile calls and epidemics, studies with confidence intervals, the
headers and the CMake package for models of your own, and liborrery-llf, which
schedules the processes of any simulator by their virtual times.")
# liborrery-llf lies where ld.so looks.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/triggers)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/debian/settings.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/finish.cmake)
# For the two of them.
set(CPACK_ORRERY_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_ORRERY_PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
include(CPack)
