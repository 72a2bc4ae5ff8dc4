// SPDX-License-Identifier: Apache-2.0
//
// A group in shared memory: how it is made, entered, left and removed.
//
// The segment's name contains the user, so groups of two users do not meet. Making, entering and
// leaving are exclusive, by flock on the segment, which the system releases when its owner dies; a
// lock inside the segment could not show whether the segment is complete. A federate that enters a
// segment without a living federate has found the rest of a dead run: it removes that segment and
// makes a new one. The last federate to leave removes the segment, too.
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
  std::uint32_t asked_tokens;  ///< 0: one for each core
  std::int32_t maker;          ///< process number
  std::uint32_t sealed;        ///< not 0: its name is removed
  Shared<Linux> shared;
};

class Segment {
 public:
  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { close(); }

  /// Opens the group's segment and locks it. If no federate lives in it, makes a new one with
  /// `slots` and `tokens`. False after an error; the sentence is in said().
  bool open_or_make(const char* group, std::uint32_t slots, std::uint32_t tokens);
  /// Opens the segment and locks it. `exists`: there is a complete segment. False after an error;
  /// the sentence is in said().
  bool open(const char* group, bool& exists);
  /// Releases the lock.
  void unlock();
  bool lock();
  /// Removes the segment's name. Call it with the lock.
  void remove();
  /// The same while federates live in the segment; they keep running.
  void seal();
  /// May be called if the segment was never opened.
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
