# SPDX-License-Identifier: Apache-2.0
#
# Debian packages only; nothing is downloaded. METIS is optional: without it LPs are placed in
# contiguous blocks, and a run of a model with a communication graph says so. So is libdw: without
# it the place of a crash is told as module and offset. And libmicrohttpd: without it there is no
# --live.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)  # headers, without a .pc

find_path(METIS_INCLUDE_DIR metis.h)
find_library(METIS_LIBRARY metis)
if(METIS_INCLUDE_DIR AND METIS_LIBRARY)
  set(ORRERY_HAVE_METIS ON)
else()
  set(ORRERY_HAVE_METIS OFF)
  message(STATUS "METIS not found: LPs are placed in contiguous blocks (package libmetis-dev)")
endif()

find_package(tomlplusplus REQUIRED)
find_package(OpenSSL QUIET COMPONENTS Crypto)
if(OPENSSL_FOUND)
  set(ORRERY_HAVE_LAB ON)
else()
  set(ORRERY_HAVE_LAB OFF)
  message(STATUS "OpenSSL not found: there is no model 'lab' (package libssl-dev)")
endif()

pkg_check_modules(LIBARCHIVE QUIET IMPORTED_TARGET libarchive)  # of the laboratory's roots

pkg_check_modules(MICROHTTPD QUIET IMPORTED_TARGET libmicrohttpd)
if(NOT MICROHTTPD_FOUND)
  message(STATUS "libmicrohttpd not found: there is no --live (package libmicrohttpd-dev)")
endif()

pkg_check_modules(LIBDW QUIET IMPORTED_TARGET libdw)
if(NOT LIBDW_FOUND)
  message(STATUS "libdw not found: crashes of models are told without names of functions "
                 "(package libdw-dev)")
endif()
