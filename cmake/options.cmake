# SPDX-License-Identifier: Apache-2.0
#
# What every target of ours is compiled with. No contraction of floating-point expressions: results
# must have the same bits on machines with and without fused multiply-add. -Wno-restrict: gcc 12 sees
# overlaps in `"text" + string` that are not there (GCC bug 105651).
add_library(orrery_options INTERFACE)
target_compile_options(orrery_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-restrict -ffp-contract=off -fno-omit-frame-pointer)
# Without this, gcc turns a prefetch for writing into one for reading, and the line of an event from
# another worker crosses between cores twice. Processors of x86-64 without the instruction ignore it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  target_compile_options(orrery_options INTERFACE -mprfchw)
endif()
if(ORRERY_WERROR)
  target_compile_options(orrery_options INTERFACE -Werror)
endif()
# What takes longer to compile than it runs, such as tests and the command line, asks to be compiled
# plainly by the property ORRERY_PLAIN: with -O1 in a release, not optimised with the address sanitizer.
# ORRERY_PLAIN_SANITIZED is for the latter only.
target_compile_options(orrery_options INTERFACE
  $<$<AND:$<CONFIG:Release>,$<BOOL:$<TARGET_PROPERTY:ORRERY_PLAIN>>>:-O1>)
if(ORRERY_SANITIZE)
  set(level 1)
  if(ORRERY_SANITIZE MATCHES "address")
    set(level $<IF:$<OR:$<BOOL:$<TARGET_PROPERTY:ORRERY_PLAIN>>,$<BOOL:$<TARGET_PROPERTY:ORRERY_PLAIN_SANITIZED>>>,0,1>)
  endif()
  target_compile_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE} -g1 -O${level})
  target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE})
  # Left out are checks of each access to memory that double the time to compile, and whose findings
  # the address sanitizer reports too. What is compiled plainly does not check alignment either.
  if(ORRERY_SANITIZE MATCHES "undefined")
    target_compile_options(orrery_options INTERFACE -fno-sanitize-recover=undefined
      -fno-sanitize=null,vptr,object-size,pointer-overflow
      $<$<BOOL:$<TARGET_PROPERTY:ORRERY_PLAIN>>:-fno-sanitize=alignment>)
  endif()
endif()
