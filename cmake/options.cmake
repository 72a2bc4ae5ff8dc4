# SPDX-License-Identifier: Apache-2.0
#
# What every target of ours is compiled with. No contraction of floating-point expressions: results
# must have the same bits on machines with and without fused multiply-add. -Wno-restrict: gcc 12 sees
# overlaps in `"text" + string` that are not there (GCC bug 105651).
add_library(orrery_options INTERFACE)
target_compile_options(orrery_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-restrict -ffp-contract=off -fno-omit-frame-pointer)
if(ORRERY_WERROR)
  target_compile_options(orrery_options INTERFACE -Werror)
endif()
if(ORRERY_SANITIZE)
  # With the address sanitizer a target can ask to be compiled plainly: what takes longer to compile
  # than it runs.
  set(level 1)
  if(ORRERY_SANITIZE MATCHES "address")
    set(level $<IF:$<BOOL:$<TARGET_PROPERTY:ORRERY_PLAIN>>,0,1>)
  endif()
  target_compile_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE} -g1 -O${level})
  target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE})
  if(ORRERY_SANITIZE MATCHES "undefined")
    target_compile_options(orrery_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
