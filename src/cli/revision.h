// SPDX-License-Identifier: Apache-2.0
//
// The source revision that this command was built from, for the reports of its runs. Each build
// makes this text anew (cmake/revision.cmake). Only the command has it, so that a commit costs the
// linking of one program.
#pragma once

namespace orrery {

/// A commit of Git in full, with "+changes" behind it if files differed from it; empty if the
/// command was built outside of a repository.
extern const char* const kRevision;

}  // namespace orrery
