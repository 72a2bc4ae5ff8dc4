# SPDX-License-Identifier: Apache-2.0
#
# orrery_fix_address(TARGET): links a shared object to an address of its own, made from its name, of
# 4096 that are a GiB apart and that nothing else lies at. Then addresses in it mean the same in every
# process, which is what runs need that write snapshots of LPs whose classes lie there. glibc maps a
# shared object where it was linked to if that is free. GNU ld knows how; with another linker the
# object lies anywhere, and snapshots need a system that lets addresses be fixed.
include(CheckLinkerFlag)

function(orrery_fix_address target)
  check_linker_flag(CXX -Wl,-Ttext-segment=0x2b0000000000 ORRERY_LINKER_FIXES_ADDRESSES)
  # The thread sanitizer knows shared objects by their place.
  if(NOT ORRERY_LINKER_FIXES_ADDRESSES OR "${ORRERY_SANITIZE}" MATCHES "thread")
    return()
  endif()
  string(MD5 digits "${target}")
  string(SUBSTRING "${digits}" 0 3 place)
  math(EXPR address "0x2b0000000000 + 0x${place} * 0x40000000" OUTPUT_FORMAT HEXADECIMAL)
  target_link_options(${target} PRIVATE -Wl,-Ttext-segment=${address} -Wl,--build-id)
endfunction()
