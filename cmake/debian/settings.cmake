# SPDX-License-Identifier: Apache-2.0
#
# What the package depends on, when CPack makes it. CPack's own call of dpkg-shlibdeps would make
# everybody install the libraries of MPI, because a plugin needs them. What --live needs is recommended.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps REQUIRED)
set(folder ${CPACK_PACKAGE_DIRECTORY}/shlibdeps)
file(WRITE ${folder}/debian/control "Source: orrery\nPackage: orrery\nArchitecture: any\n")
file(GLOB plugins ${CPACK_ORRERY_PROGRAMS}/orrery-mpi-*.so ${CPACK_ORRERY_PROGRAMS}/orrery-llf-*.so)
list(TRANSFORM plugins PREPEND -e)
file(GLOB live ${CPACK_ORRERY_PROGRAMS}/orrery-live.so)
list(TRANSFORM live PREPEND -e)
execute_process(
  COMMAND ${DPKG_SHLIBDEPS} -O -dDepends -e${CPACK_ORRERY_PROGRAMS}/orrery -dRecommends ${live} -dSuggests ${plugins}
  WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE found ERROR_VARIABLE warnings
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "dpkg-shlibdeps does not tell what orrery needs: ${warnings}")
endif()
file(REMOVE_RECURSE ${folder})

set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, python3, python3-matplotlib, python3-pandas")
if(found MATCHES "shlibs:Depends=([^\n]*)")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
endif()
if(found MATCHES "shlibs:Recommends=([^\n]*)")
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", ${CMAKE_MATCH_1}")
endif()
if(found MATCHES "shlibs:Suggests=([^\n]*)")
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", ${CMAKE_MATCH_1}")
endif()
