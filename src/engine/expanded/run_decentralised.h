// SPDX-License-Identifier: Apache-2.0
//
// ExpandedRun: blocks in which every worker serves the slots. Included by run.h only.
//
// The lock is a flag, taken with acquire and given back with release, so that each holder sees the
// previous holder's changes of the schedule, the history and the server's side of all slots. A
// worker whose results another holder has taken (see Slot::served) must return without using them:
// the block may be over, and then the coordinator uses the schedule without the lock.
#pragma once

#include <time.h>

namespace orrery::expanded {

template <class Pending>
bool ExpandedRun<Pending>::run_decentralised() {
  Slot& own = slots_[0];
  const std::uint32_t events = tuner_.batch();
  decentralised_.plan = {events, events, 1};
  decentralised_.closing = false;
  own.publish(Command::serve);
  std::uint32_t last = own.word.load(std::memory_order_relaxed);
  {
    // A late worker of the last block may hold the lock, only to find that it has been served.
    lock_block();
    const Unlock unlock{decentralised_};
    serve_all(0);
  }
  for (;;) {
    const std::uint32_t word = wait_for_word(0, last);
    last = word;
    if (Slot::command_of(word) != Command::serve) break;
    const std::uint32_t before = own.done.load(std::memory_order_relaxed);
    execute_given(0, word);
    if (own.done.load(std::memory_order_relaxed) != before) serve(0);
  }
  return decentralised_.closing;
}

template <class Pending>
void ExpandedRun<Pending>::lock_block() {
  for (unsigned tries = 0; decentralised_.locked.exchange(true, std::memory_order_acquire);
       ++tries) {
    if (tries < 500 && !team_.crowded()) {
      SpinThenYield::relax();
    } else {
      sched_yield();
    }
  }
}

/// Called after a worker has published results: returns when this worker or another has taken them
/// and dealt new events.
template <class Pending>
void ExpandedRun<Pending>::serve(unsigned worker) {
  const Slot& slot = slots_[worker];
  const auto served = [&] { return !slot.has_results(); };
  const auto try_lock = [this] {
    return !decentralised_.locked.exchange(true, std::memory_order_acquire);
  };
  for (std::uint32_t tries = 1; !served(); ++tries) {
    if (!decentralised_.locked.load(std::memory_order_relaxed) && try_lock()) {
      const Unlock unlock{decentralised_};
      if (!served()) serve_all(worker);
      return;
    }
    if (!team_.crowded() && tries < 500) {
      SpinThenYield::relax();
    } else if (tries < 520) {
      sched_yield();
    } else {  // the holder has no core
      const timespec pause{0, 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

/// Called under the lock: collects results and deals events. Ends the block when it is over or no
/// event is left.
template <class Pending>
void ExpandedRun<Pending>::serve_all(unsigned self) {
  collect_all();
  decentralised_.closing = decentralised_.closing || block_is_over();
  if (!decentralised_.closing) {
    deal(decentralised_.plan, self);
    if (slots_[self].given != slots_[self].published) slots_[self].publish(command_);
  }
  if (schedule_.in_progress() == 0) slots_[0].publish(Command::wait);
}

}  // namespace orrery::expanded
