// SPDX-License-Identifier: Apache-2.0
//
// What LPs that must not roll back do outside of their memory, where no engine can undo it: each
// event is counted there, so one that is executed twice, or after it was rolled back, shows; LPs of
// kind committed also write to one pipe, whose bytes are then in the order of all their events.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "orrery/orrery.h"

namespace orrery::testing {

class Witness {
 public:
  /// `stay`: those that are not speculative stay on their thread. `writes`: somebody reads.
  explicit Witness(LpId lps, bool stay = false, bool writes = true)
      : stay_(stay), writes_(writes), lps_(lps) {
    if (pipe(ends_.data()) != 0) throw std::runtime_error("no pipe");
    fcntl(ends_[1], F_SETPIPE_SZ, 1 << 20);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness() {
    for (const int end : ends_) close(end);
  }

  static LpExecution kind(LpId id) {
    return id % 5 == 0   ? LpExecution::committed
           : id % 5 <= 2 ? LpExecution::confined
                         : LpExecution::speculative;
  }
  bool stays(LpId) const { return stay_; }

  /// An LP handles its event number `events`. Without a word that allocates.
  void see(const Context& context, std::uint64_t events, std::uint64_t value) {
    const LpExecution kind = Witness::kind(context.self());
    if (kind == LpExecution::speculative) return;
    Lp& lp = lps_[context.self()];
    if (++lp.events != events) throw std::runtime_error("executed more than once");
    lp.digest = (lp.digest ^ value) * 0x9e3779b97f4a7c15u +
                static_cast<std::uint64_t>(context.now().ticks());
    if (events == 1) lp.thread = std::this_thread::get_id();
    if (stay_ && lp.thread != std::this_thread::get_id())
      throw std::runtime_error("executed by another thread");
    if (kind != LpExecution::committed || !writes_) return;
    const std::array<std::uint64_t, 2> record{context.self(), lp.digest};
    if (write(ends_[1], record.data(), sizeof record) != sizeof record)
      throw std::runtime_error("the pipe is full");
  }

  // ---- After a run

  struct Seen {
    std::vector<std::uint64_t> pipe;     ///< of LPs that act on the outside
    std::vector<std::uint64_t> digests;  ///< of all that must not roll back
  };
  Seen take() {
    Seen seen;
    std::array<std::uint64_t, 512> part;
    for (ssize_t got; (got = ::read(ends_[0], part.data(), sizeof part)) > 0;)
      seen.pipe.insert(seen.pipe.end(), part.begin(), part.begin() + got / 8);
    for (Lp& lp : lps_) seen.digests.push_back(lp.digest);
    lps_.assign(lps_.size(), Lp{});
    return seen;
  }

 private:
  struct alignas(64) Lp {
    std::uint64_t events = 0, digest = 0;
    std::thread::id thread;
  };
  const bool stay_, writes_;
  std::vector<Lp> lps_;
  std::array<int, 2> ends_{};
};

/// A model of these tests, some of whose LPs must not roll back.
template <class Base>
class Witnessed : public Base {
 public:
  template <class Options>
  explicit Witnessed(const Options& chosen, bool stay = false)
      : Base(chosen), outside(this->options.lps, stay) {
    this->witness = &outside;
  }
  LpExecution execution_of(LpId id) const override { return Witness::kind(id); }
  bool stays_on_thread(LpId id) const override { return outside.stays(id); }

  mutable Witness outside;
};

}  // namespace orrery::testing
