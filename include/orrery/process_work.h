// SPDX-License-Identifier: Apache-2.0
//
// Servers that do the work of processes, interrupt it for others, break down and follow shifts:
// PreemptiveResource (orrery/preemptive_resource.h) with co_await. A model includes
// orrery/process.h.
//
//   orrery::PreemptiveServers crane_{*this, 2};
//   ...
//   const orrery::Work unloading = co_await crane_.work(Duration::hours(3), {.priority = 1});
//   if (!unloading) ...                      // not done: preempted for good, or the queue was full
//
// The process waits until all its work is done, also while others are served in its place, and
// needs no code for that. One timer of the process is live while its work goes on.
#pragma once

#include <cstdint>
#include <utility>

#include "orrery/preemptive_resource.h"
#include "orrery/process_host.h"
#include "orrery/process_kernel.h"
#include "orrery/process_waits.h"
#include "orrery/shifts.h"
#include "orrery/time.h"

namespace orrery {

class PreemptiveServers;

/// What has become of a process's work.
struct Work {
  bool is_done = false;  ///< false: it was preempted for good, gave up waiting, or balked
  Admission admission = Admission::served;  ///< served, also after a wait; queued: gave up; balked
  Duration waited;                          ///< until a server began, or the process gave up
  Duration left;                            ///< work that was not done
  Duration lost;                            ///< work that was done in vain
  std::uint32_t preemptions = 0;  ///< how often others, or a loss of servers, have interrupted it

  explicit operator bool() const { return is_done; }
};

namespace detail {

class WorkWait final : public ListedWait {
 public:
  WorkWait(PreemptiveServers& servers, Duration work, const WorkOptions& options, Limit patience)
      : servers_(servers), options_(options), patience_(patience) {
    work_.left = work;
  }
  Work await_resume() const {
    settle();
    return work_;
  }

 private:
  friend class orrery::PreemptiveServers;
  using Resource = PreemptiveResource<WorkWait*>;

  bool begin() override;
  void withdraw() override;
  void expire() override;
  void give_up();
  void service_begins(const Resource::Begun& begun);
  void service_ends(const Resource::Victim& victim);

  PreemptiveServers& servers_;
  const WorkOptions options_;
  const Limit patience_;
  std::uint64_t ticket_ = 0, service_ = 0;  // 0: no service goes on
  Time asked_;
  Work work_;
};

}  // namespace detail

class PreemptiveServers {
 public:
  static constexpr std::uint64_t kUnlimited = detail::WorkWait::Resource::kUnlimited;

  /// `lp`: the LP whose member this is. `servers`: 0 or more. `queue_limit`: most processes that may
  /// wait before their work has begun; 0: none.
  PreemptiveServers(ProcessHost& lp, std::uint64_t servers, std::uint64_t queue_limit = kUnlimited)
      : lp_(lp), resource_(servers, queue_limit) {}

  /// For ProcessHost::observe().
  void observe(OutputContext& context, const ResourceMetrics& metrics) {
    resource_.observe(context, metrics);
  }

  /// `co_await crane.work(duration, {.priority = 1, .preempted = orrery::Preempted::restarts})`
  /// resumes when the work is done or given up. An interrupt of the process gives it up, too.
  [[nodiscard("co_await it")]] detail::WorkWait work(Duration duration,
                                                     const WorkOptions& options = {}) {
    return {*this, duration, options, {}};
  }
  /// The same, giving up if no server has begun after `patience`.
  [[nodiscard("co_await it")]] detail::WorkWait work_for(Duration patience, Duration duration,
                                                         const WorkOptions& options = {}) {
    return {*this, duration, options, {true, patience}};
  }

  /// From now on there are `servers`, 0 or more, apart from those taken out.
  void set_capacity(std::uint64_t servers, Removal removal) {
    tell(resource_.set_capacity(lp_.context(), servers, removal));
  }
  /// Takes `count` servers out, those of a breakdown, until put_back().
  void take_out(std::uint64_t count, Removal removal) {
    tell(resource_.take_out(lp_.context(), count, removal));
  }
  void put_back(std::uint64_t count) {
    resource_.put_back(lp_.context(), count);
    start_services();
  }
  /// A process that sets the capacity by shifts, now and at each change:
  /// `spawn(clerks_.follow(shifts, orrery::Removal::lets_finish))`.
  Process follow(Shifts shifts, Removal removal) {
    for (;;) {
      set_capacity(shifts.servers_at(lp_.now()), removal);
      co_await delay(shifts.until_change(lp_.now()));
    }
  }

  /// As in PreemptiveResource.
  std::uint64_t available() const { return resource_.available(); }
  std::uint64_t capacity() const { return resource_.capacity(); }
  std::uint64_t taken_out() const { return resource_.taken_out(); }
  std::uint64_t busy() const { return resource_.busy(); }
  bool is_free() const { return resource_.is_free(); }
  std::uint64_t waiting() const { return resource_.waiting(); }
  ResourceStatistics statistics(Time now) const { return resource_.statistics(now); }
  void restart_statistics(Time now) { resource_.restart_statistics(now); }

 private:
  friend class detail::WorkWait;
  using Resource = detail::WorkWait::Resource;

  template <class Victims>
  void tell(const Victims& victims) {
    for (const Resource::Victim& victim : victims) victim.customer->service_ends(victim);
    start_services();
  }
  void start_services() {
    while (const auto begun = resource_.take_begun()) begun->customer->service_begins(*begun);
  }

  ProcessHost& lp_;
  Resource resource_;
  detail::WaitList processes_;  // in the queue or served
};

namespace detail {

inline bool WorkWait::begin() {
  ticket_ = servers_.resource_.next_ticket();
  asked_ = now();
  const auto [admission, victim] =
      servers_.resource_.request(kernel().context(), this, work_.left, options_);
  work_.admission = admission;
  if (admission == Admission::balked) return false;
  wait_in(servers_.processes_, admission == Admission::queued ? patience_ : Limit());
  if (victim) victim->customer->service_ends(*victim);
  servers_.start_services();
  return true;
}

inline void WorkWait::service_begins(const Resource::Begun& begun) {
  stop_clock();
  service_ = begun.service;
  work_.admission = Admission::served;
  work_.waited = begun.waited;
  start_clock(begun.left);
}

inline void WorkWait::service_ends(const Resource::Victim& victim) {
  stop_clock();
  service_ = 0;
  work_.left = victim.left;
  work_.lost = victim.lost;
  work_.preemptions = victim.preemptions;
  if (victim.has_left) WaitList::wake(*this);
}

inline void WorkWait::expire() {
  unlink();
  if (service_ == 0) return give_up();
  servers_.resource_.complete(kernel().context(), service_);
  work_.is_done = true;
  work_.left = Duration::zero();
  servers_.start_services();
}

inline void WorkWait::withdraw() {
  leave();
  give_up();
}

inline void WorkWait::give_up() {
  const auto gone = servers_.resource_.leave(kernel().context(), ticket_);
  if (!gone) return;
  if (work_.admission == Admission::queued) work_.waited = now() - asked_;
  work_.left = gone->left;
  work_.lost = gone->lost;
  servers_.start_services();
}

}  // namespace detail
}  // namespace orrery
