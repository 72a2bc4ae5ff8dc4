// SPDX-License-Identifier: Apache-2.0
//
// What all resources count: customers, levels and areas between two times (ResourceStatistics), and
// the metrics that show them during the run (ResourceMetrics). A model includes
// orrery/resource.h, orrery/preemptive_resource.h or orrery/process.h.
//
// All counters are integers, and areas (levels times ticks) have 128 bits, so that no sum depends on
// an order, and no run is too long; only the means at the end are divided.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "orrery/context.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

/// The outcome of a request.
enum class Admission : std::uint8_t {
  served,  ///< a server was idle and is now busy
  queued,  ///< all servers are busy: the customer waits
  balked,  ///< the queue is full: the customer is not in it
};

/// Statistics of a resource between two times.
struct ResourceStatistics {
  __extension__ using Area = unsigned __int128;

  Time from, until;
  std::uint64_t requests = 0;
  std::uint64_t served = 0;   ///< customers whose service has begun
  std::uint64_t delayed = 0;  ///< those of `served` that have waited
  std::uint64_t balked = 0, reneged = 0;
  std::uint64_t preempted =
      0;  ///< services that were broken off, by other customers or a loss of servers
  std::uint64_t longest_queue = 0;
  Area busy_area = 0;      ///< busy servers, summed over ticks
  Area queue_area = 0;     ///< waiting customers, summed over ticks
  Area capacity_area = 0;  ///< servers, busy or ready, summed over ticks
  Area waited = 0;         ///< ticks waited by the customers in `served` until their service began
  Area lost = 0;           ///< ticks of work that were done in vain
  Duration longest_wait;   ///< of the customers in `served`

  /// Mean share of busy servers over time. This and the other ratios are 0 for no time at all.
  double utilisation() const { return ratio(busy_area, capacity_area); }
  /// Mean number of busy servers over time.
  double mean_busy() const { return ratio(busy_area, span()); }
  /// Mean number of waiting customers over time.
  double mean_queue() const { return ratio(queue_area, span()); }
  /// Mean ticks that customers waited until their service began.
  double mean_wait_ticks() const { return ratio(waited, served); }
  double share_delayed() const { return ratio(delayed, served); }
  /// Shares of the requests.
  double share_balked() const { return ratio(balked, requests); }
  double share_reneged() const { return ratio(reneged, requests); }

 private:
  Area span() const { return static_cast<Area>((until - from).ticks()); }
  /// Each conversion rounds once, as IEEE 754 asks.
  static double ratio(Area part, Area whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

/// The usual metrics of a resource, declared as a member of the model, like a Metric. The name
/// "desk" gives the levels desk_queue, desk_busy and desk_utilisation, desk_wait, which has
/// quantiles, and the shares desk_balked and desk_reneged. An LP names them once for its resource,
/// `desk_.observe(context, metrics)` in start(); the resource then records them by itself.
class ResourceMetrics {
 public:
  /// `tick_seconds`: length of the model's tick.
  ResourceMetrics(Model& model, const std::string& name, double tick_seconds = 1e-9)
      : wait(model, name + "_wait", "s", "time that a customer waited until the service began",
             Keep::histogram),
        queue(model, name + "_queue", "", "waiting customers of an LP", Keep::level),
        busy(model, name + "_busy", "", "busy servers of an LP", Keep::level),
        utilisation(model, name + "_utilisation", "", "busy servers of an LP, as a share of all",
                    Keep::level),
        balked(model, name + "_balked", "", "share of customers that found the queue full"),
        reneged(model, name + "_reneged", "", "share of customers that gave up waiting"),
        tick_seconds_(tick_seconds) {}

  const Metric wait, queue, busy, utilisation, balked, reneged;

 private:
  friend class ResourceBooks;
  double tick_seconds_;
};

/// When a resource is called, and the context of the call, which a resource with metrics needs.
class ResourceCall {
 public:
  ResourceCall(Time now) : now_(now) {}  // NOLINT: time and context convert on purpose
  ResourceCall(OutputContext& context) : now_(context.now()), context_(&context) {}  // NOLINT

  Time now() const { return now_; }
  OutputContext& context() const {
    if (context_ == nullptr) [[unlikely]]
      throw std::logic_error(
          "a resource that has metrics is called with the context, not with context.now(): "
          "desk_.request(context, customer)");
    return *context_;
  }

 private:
  Time now_;
  OutputContext* context_ = nullptr;
};

/// The counters of a resource and, if it is observed, its metrics.
class ResourceBooks {
 public:
  struct Levels {
    std::uint64_t servers = 0, busy = 0, waiting = 0;
    friend bool operator==(const Levels&, const Levels&) = default;
  };

  explicit ResourceBooks(std::uint64_t servers) { levels_.servers = servers; }

  const Levels& levels() const { return levels_; }

  void observe(OutputContext& context, const ResourceMetrics& metrics) {
    metrics_ = &metrics;
    tell_levels(context, {~levels_.servers, ~levels_.busy, ~levels_.waiting});
  }

  /// The levels are these from now on.
  void change(const ResourceCall& call, const Levels& next) {
    extend(statistics_, call.now());
    const Levels before = std::exchange(levels_, next);
    statistics_.longest_queue = std::max(statistics_.longest_queue, next.waiting);
    if (metrics_ != nullptr && next != before) tell_levels(call.context(), before);
  }

  void requested() { ++statistics_.requests; }
  void balked(const ResourceCall& call) {
    ++statistics_.balked;
    if (metrics_ != nullptr) call.context().record(metrics_->balked, 1);
  }
  void reneged(const ResourceCall& call) {
    ++statistics_.reneged;
    if (metrics_ != nullptr) tell_shares(call.context(), 1);
  }
  /// The service of a customer begins for the first time.
  void served(const ResourceCall& call, Duration waited) {
    ++statistics_.served;
    if (waited > Duration::zero()) ++statistics_.delayed;
    statistics_.waited += static_cast<ResourceStatistics::Area>(waited.ticks());
    statistics_.longest_wait = std::max(statistics_.longest_wait, waited);
    if (metrics_ == nullptr) return;
    tell_shares(call.context(), 0);
    call.context().record(metrics_->wait,
                          static_cast<double>(waited.ticks()) * metrics_->tick_seconds_);
  }
  void preempted() { ++statistics_.preempted; }
  void lost(Duration work) {
    statistics_.lost += static_cast<ResourceStatistics::Area>(work.ticks());
  }

  ResourceStatistics statistics(Time now) const {
    ResourceStatistics seen = statistics_;
    extend(seen, now);
    return seen;
  }
  void restart_statistics(Time now) {
    statistics_ = {};
    statistics_.from = statistics_.until = now;
    statistics_.longest_queue = levels_.waiting;
  }

 private:
  /// Adds the time since `seen.until`, in which the levels were constant.
  void extend(ResourceStatistics& seen, Time now) const {
    const auto ticks = static_cast<ResourceStatistics::Area>((now - seen.until).ticks());
    seen.busy_area += ticks * levels_.busy;
    seen.queue_area += ticks * levels_.waiting;
    seen.capacity_area += ticks * capacity(levels_);
    seen.until = now;
  }
  /// Servers that finish their work after they were taken away count as long as they are busy.
  static std::uint64_t capacity(const Levels& levels) {
    return std::max(levels.servers, levels.busy);
  }
  static double utilisation(const Levels& levels) {
    const std::uint64_t all = capacity(levels);
    return all == 0 ? 0 : static_cast<double>(levels.busy) / static_cast<double>(all);
  }

  void tell_levels(OutputContext& context, const Levels& before) const {
    if (levels_.waiting != before.waiting)
      context.level(metrics_->queue, static_cast<double>(levels_.waiting));
    if (levels_.busy != before.busy)
      context.level(metrics_->busy, static_cast<double>(levels_.busy));
    if (levels_.busy != before.busy || levels_.servers != before.servers)
      context.level(metrics_->utilisation, utilisation(levels_));
  }
  void tell_shares(OutputContext& context, double reneged) const {
    context.record(metrics_->balked, 0);
    context.record(metrics_->reneged, reneged);
  }

  Levels levels_;
  const ResourceMetrics* metrics_ = nullptr;  // a member of the model, which lives longer
  ResourceStatistics statistics_;             // `until`: time of the last change
};

/// Waiting customers: smaller `priority` first, then smaller `ticket`. One vector, a heap: one block
/// to copy at a checkpoint.
template <class Entry>
class WaitingLine {
 public:
  std::size_t size() const { return entries_.size(); }
  bool is_empty() const { return entries_.empty(); }

  void push(Entry entry) {
    entries_.push_back(std::move(entry));
    std::push_heap(entries_.begin(), entries_.end(), comes_later);
  }
  /// The first one. The line must not be empty.
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end(), comes_later);
    return take_last();
  }
  /// Whether an entry with this ticket was in the line, which is then in `taken`. O(n).
  template <class Take>
  bool remove(std::uint64_t ticket, Take&& take) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.ticket == ticket; });
    if (found == entries_.end()) return false;
    std::swap(*found, entries_.back());
    take(take_last());
    std::make_heap(entries_.begin(), entries_.end(), comes_later);
    return true;
  }

  static bool comes_later(const Entry& a, const Entry& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.ticket > b.ticket;
  }

 private:
  Entry take_last() {
    Entry last = std::move(entries_.back());
    entries_.pop_back();
    return last;
  }

  std::vector<Entry> entries_;
};

}  // namespace orrery
