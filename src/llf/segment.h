// SPDX-License-Identifier: Apache-2.0
//
// A group in shared memory: how it is made, entered, left and removed.
//
// The name of the segment has the user in it, so groups of two users do not meet. Making, entering
// and leaving are one at a time, by flock on the segment, which the system gives back when its
// owner dies; no lock that is in the segment could say whether the segment is whole. Whoever enters
// a segment in which nobody lives has found what a dead run left, removes it and makes another; the
// last to leave removes it, too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llf/cores.h"
#include "llf/schedule.h"
#include "llf/system.h"

namespace orrery::llf {

struct Header {
  std::uint64_t magic;  ///< written last
  std::uint32_t version;
  std::uint32_t slots;
  std::uint32_t asked_tokens;  ///< 0: as many as there are cores
  std::int32_t maker;          ///< a process
  std::uint32_t sealed;        ///< not 0: it has no name any more
  Cores cores;                 ///< of all who have joined
  Shared<Linux> shared;
};

class Segment {
 public:
  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { close(); }

  /// Opens the group's segment and locks it; if nobody lives in it, it is made, with room for
  /// `slots` and for as many tokens as asked. False: a sentence has been said.
  bool open_or_make(const char* group, std::uint32_t slots, std::uint32_t tokens);
  /// Opens it as it is, and locks it. `exists` is whether there is one and it was completed; false:
  /// a sentence was said.
  bool open(const char* group, bool& exists);
  /// What is in it is for others again.
  void unlock();
  bool lock();
  /// The system forgets it; for whoever has it locked.
  void remove();
  /// The same, while federates live in it, who go on.
  void seal();
  /// Also where it was never opened.
  void close();

  bool is_open() const { return file_ >= 0; }
  bool anybody_lives();
  Header& header() const { return *static_cast<Header*>(memory_); }
  Schedule<Linux> schedule() const;
  Life* lives() const;

 private:
  enum class Found { ready, blank, gone, failed };
  Found find(const char* group, bool may_make);
  Found look(const char* group);
  bool map(std::size_t bytes, const char* group);
  bool make(const char* group, std::uint32_t slots, std::uint32_t tokens);

  char name_[128] = {};
  int file_ = -1;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace orrery::llf
