// SPDX-License-Identifier: Apache-2.0
//
// The view of a group for other programs (llf_look).
#include <string.h>

#include "llf/segment.h"
#include "llf/sentence.h"
#include "orrery/llf.h"

namespace {

using orrery::llf::Reason;
using orrery::llf::State;
using orrery::llf::state_of;
using orrery::llf::unread_of;

const char* name_of(State state, Reason reason) {
  switch (state) {
    case State::running:
      return "running";
    case State::ready:
      return "ready";
    case State::waiting:
      return "waiting";
    default:
      return reason == Reason::gvt ? "gvt" : reason == Reason::meeting ? "meeting" : "paused";
  }
}

bool runs_before(const llf_view& one, const llf_view& other) {
  const llf_time a = one.lvt < one.unread ? one.lvt : one.unread;
  const llf_time b = other.lvt < other.unread ? other.lvt : other.unread;
  return a < b;
}

/// Inserts a view in order among the `count` before it; `views` has room for `room`.
void insert(llf_view* views, unsigned count, unsigned room, const llf_view& view) {
  unsigned place = count < room ? count : room;
  while (place > 0 && runs_before(view, views[place - 1])) {
    if (place < room) views[place] = views[place - 1];
    --place;
  }
  if (place < room) views[place] = view;
}

}  // namespace

int llf_look(const char* group, llf_view* views, size_t size, unsigned room) {
  if (size != sizeof(llf_view)) {
    orrery::llf::say("llf_look is told that a llf_view has %zu bytes; it has %zu", size,
                     sizeof(llf_view));
    return LLF_ERROR;
  }
  orrery::llf::Segment segment;
  bool exists;
  if (!segment.open(group, exists)) return LLF_ERROR;
  if (!exists) return 0;
  unsigned count = 0;
  orrery::llf::Schedule<orrery::llf::Linux> schedule = segment.schedule();
  schedule.decide(
      [&] {
        for (unsigned i = 0; i < schedule.count(); ++i) {
          const orrery::llf::Word word = schedule.word(i);
          if (state_of(word) == State::free) continue;
          const auto& slot = schedule.slot(i);
          llf_view view = {};
          strcpy(view.name, segment.lives()[i].name);
          view.process = segment.lives()[i].process;
          strcpy(view.state, name_of(state_of(word), slot.reason.get()));
          view.lvt = slot.lvt.load(std::memory_order_relaxed);
          view.unread = unread_of(word);
          insert(views, count++, room, view);
        }
      },
      true);
  return static_cast<int>(count);
}
