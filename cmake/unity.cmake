# SPDX-License-Identifier: Apache-2.0
#
# Up to this many files of a target are compiled as one, so that what they include is read once: a
# whole build takes half the time. For who edits all day there is -DORRERY_UNITY=OFF, where a file
# that has changed is compiled by itself. Helpers in unnamed namespaces need names of their own
# (docs/contributing.md, Builds).
set(CMAKE_UNITY_BUILD ${ORRERY_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# Files of TARGET whose path matches REGEX are compiled one by one if optimised: those on the way of
# events, since a compiler inlines less in large files.
function(orrery_compile_apart target regex)
  if(CMAKE_BUILD_TYPE STREQUAL Debug)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "${regex}")
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target}
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
