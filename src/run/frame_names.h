// SPDX-License-Identifier: Apache-2.0
//
// Names for where a crash was (core/frames.h): functions, and lines where the code was compiled
// with -g. By libdw of elfutils, which reads symbol tables and debug information as debuggers do;
// without it, module and offset, for addr2line. Takes milliseconds, so only for what ends a run.
#pragma once

#include <string>
#include <vector>

#include "core/frames.h"

namespace orrery {

/// Whether functions have names here.
bool can_name_frames();

/// Of the model's part of the way there, innermost first: up to where the platform called it.
/// "pcs::Cell::admit(orrery::Context&) (pcs.cpp:120)".
std::vector<std::string> name_frames(const Frames& frames);

/// The same as lines for the end of a sentence, each begun by a line feed; empty if there is
/// nothing to say.
std::string frame_lines(const Frames& frames);

}  // namespace orrery
