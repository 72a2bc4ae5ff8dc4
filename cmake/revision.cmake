# SPDX-License-Identifier: Apache-2.0
#
# Writes the source revision that the command is built from into OUTPUT, at each build, and touches
# the file only if it has changed. Where there is no Git repository (a source archive) it is empty.
#
#   cmake -DOUTPUT=FILE -DSOURCE=FOLDER -P revision.cmake
set(revision "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --abbrev=40 --exclude=* --dirty=+changes
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(text "// SPDX-License-Identifier: Apache-2.0
#include \"cli/revision.h\"

namespace orrery {

const char* const kRevision = \"${revision}\";

}  // namespace orrery
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
