// SPDX-License-Identifier: Apache-2.0
//
// Names for the call stacks of crashes (core/frames.h): functions, and lines if the code was
// compiled with -g. Uses libdw of elfutils, which reads symbol tables and debug information;
// without it gives module and offset, for addr2line. Takes milliseconds, so only for faults that
// end a run.
#pragma once

#include <string>
#include <vector>

#include "core/frames.h"

namespace orrery {

/// Whether functions have names in this build.
bool can_name_frames();

/// The model's part of the call stack, innermost first, up to the platform's call.
/// "pcs::Cell::admit(orrery::Context&) (pcs.cpp:120)".
std::vector<std::string> name_frames(const Frames& frames);

/// The same as lines for the end of a sentence, each preceded by a line feed; empty if there are no
/// names.
std::string frame_lines(const Frames& frames);

}  // namespace orrery
