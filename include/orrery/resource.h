// SPDX-License-Identifier: Apache-2.0
//
// Servers and their waiting customers as a part of an LP: a resource or station of other simulators
// (Kleinrock, "Queueing Systems", vol. 1, 1975). The LP schedules its own events; the resource
// keeps the queue and the statistics:
//
//   void handle(orrery::Context& context, const Arrival&) {
//     if (desk_.request(context.now(), customer) == orrery::Admission::served)
//       begin_service(context, customer);               // schedules a Departure
//   }
//   void handle(orrery::Context& context, const Departure&) {
//     if (const auto next = desk_.release(context.now())) begin_service(context, next->customer);
//   }
//
// A resource neither calls back nor sends events, so a handler stays the only place of action and a
// resource is plain state: it lies in the LP's memory and is rolled back, copied and moved with it.
// All its counters are integers, and areas (levels times ticks) have 128 bits, so that no sum
// depends on an order, and no run is too long; only the means at the end are divided.
//
// The queue is one vector, a heap ordered by priority and then by arrival: one block to copy at a
// checkpoint. Customers in it should be small.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
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
  queued,  ///< all servers are busy: a release() will return the customer
  balked,  ///< the queue is full: the customer is not in it
};

/// Statistics of a resource between two times.
struct ResourceStatistics {
  __extension__ using Area = unsigned __int128;

  Time from, until;
  std::uint64_t servers = 1;
  std::uint64_t requests = 0;
  std::uint64_t served = 0;   ///< customers whose service has begun
  std::uint64_t delayed = 0;  ///< those of `served` that have waited
  std::uint64_t balked = 0, reneged = 0;
  std::uint64_t longest_queue = 0;
  Area busy_area = 0;     ///< busy servers, summed over ticks
  Area queue_area = 0;    ///< waiting customers, summed over ticks
  Area waited = 0;        ///< ticks waited by the customers in `served`
  Duration longest_wait;  ///< of the customers in `served`

  /// Mean share of busy servers over time. This and the other ratios are 0 for no time at all.
  double utilisation() const { return ratio(busy_area, span() * servers); }
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
/// "desk" gives desk_utilisation, desk_queue, desk_balked and desk_reneged, recorded once for each
/// LP by Resource::record (so they are means over LPs), and desk_wait, which the LP records for
/// each customer and which has quantiles.
class ResourceMetrics {
 public:
  /// `tick_seconds`: length of the model's tick.
  ResourceMetrics(Model& model, const std::string& name, double tick_seconds = 1e-9)
      : wait(model, name + "_wait", "s", "time that a customer waited for a server",
             Keep::histogram),
        utilisation(model, name + "_utilisation", "", "busy servers of an LP, as a share of all"),
        queue(model, name + "_queue", "", "waiting customers of an LP, on average over time"),
        balked(model, name + "_balked", "", "share of an LP's customers that found the queue full"),
        reneged(model, name + "_reneged", "", "share of an LP's customers that gave up waiting"),
        tick_seconds_(tick_seconds) {}

  /// Records how long a customer has waited, in seconds.
  void record_wait(OutputContext& context, Duration waited) const {
    context.record(wait, static_cast<double>(waited.ticks()) * tick_seconds_);
  }

  const Metric wait, utilisation, queue, balked, reneged;

 private:
  double tick_seconds_;
};

/// `Customer` is any movable type. Wrong use throws std::invalid_argument or std::logic_error,
/// which end a run as a model fault if the event commits.
template <class Customer>
class Resource {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  /// A customer who has left the queue, and the time spent there.
  struct Next {
    Customer customer;
    Duration waited;
  };

  /// `servers`: 1 or more. `queue_limit`: most customers that may wait; 0: no queue.
  explicit Resource(std::uint64_t servers, std::uint64_t queue_limit = kUnlimited)
      : queue_limit_(queue_limit) {
    if (servers == 0) throw std::invalid_argument("Resource: there must be at least 1 server.");
    statistics_.servers = servers;
  }
  /// The same; statistics for record() omit the time before `metrics` are observed (a warm-up).
  explicit Resource(const ResourceMetrics& metrics, std::uint64_t servers,
                    std::uint64_t queue_limit = kUnlimited)
      : Resource(servers, queue_limit) {
    observed_from_ = metrics.utilisation.observed_from();
  }

  /// Requests a server for a customer. Waiting customers are served by smaller priority, then in
  /// order of arrival. O(log n) for n waiting customers.
  Admission request(Time now, Customer customer, std::int64_t priority = 0) {
    advance(now);
    ++statistics_.requests;
    const std::uint64_t ticket = next_ticket_++;
    if (busy_ < statistics_.servers) {
      ++busy_;
      ++statistics_.served;
      return Admission::served;
    }
    if (queue_.size() >= queue_limit_) {
      ++statistics_.balked;
      return Admission::balked;
    }
    queue_.push_back({priority, ticket, now, std::move(customer)});
    std::push_heap(queue_.begin(), queue_.end(), comes_later);
    statistics_.longest_queue = std::max<std::uint64_t>(statistics_.longest_queue, queue_.size());
    return Admission::queued;
  }

  /// Ends a service. The server goes on with the returned customer, or is idle. Throws
  /// std::logic_error if no server was busy. O(log n).
  std::optional<Next> release(Time now) {
    if (busy_ == 0) throw std::logic_error("Resource: release() where no server is busy.");
    advance(now);
    if (queue_.empty()) {
      --busy_;
      return std::nullopt;
    }
    std::pop_heap(queue_.begin(), queue_.end(), comes_later);
    Next next = take_last(now);
    ++statistics_.served;
    if (next.waited > Duration::zero()) ++statistics_.delayed;
    statistics_.waited += static_cast<ResourceStatistics::Area>(next.waited.ticks());
    statistics_.longest_wait = std::max(statistics_.longest_wait, next.waited);
    return next;
  }

  /// The ticket of the next request, whatever its outcome: for a timer set before the request.
  std::uint64_t next_ticket() const { return next_ticket_; }

  /// Removes a customer that gives up waiting from the queue. Returns nothing if no customer with
  /// this ticket is in the queue. O(n).
  std::optional<Next> renege(Time now, std::uint64_t ticket) {
    const auto found = std::find_if(queue_.begin(), queue_.end(), [ticket](const Waiting& waiting) {
      return waiting.ticket == ticket;
    });
    if (found == queue_.end()) return std::nullopt;
    advance(now);
    std::swap(*found, queue_.back());
    Next next = take_last(now);
    std::make_heap(queue_.begin(), queue_.end(), comes_later);
    ++statistics_.reneged;
    return next;
  }

  std::uint64_t servers() const { return statistics_.servers; }
  std::uint64_t busy() const { return busy_; }
  bool is_free() const { return busy_ < statistics_.servers; }
  std::uint64_t waiting() const { return queue_.size(); }

  /// Statistics up to `now`.
  ResourceStatistics statistics(Time now) const {
    ResourceStatistics seen = begins_by(now) ? begun_at(observed_from_) : statistics_;
    extend(seen, now);
    return seen;
  }

  /// Discards the statistics, at the end of a warm-up. Customers stay; the waits of those in the
  /// queue still count from their arrival.
  void restart_statistics(Time now) { statistics_ = begun_at(now); }

  /// For finish(): records the statistics except the waits, which are recorded one by one.
  void record(FinalContext& context, const ResourceMetrics& metrics) const {
    const ResourceStatistics seen = statistics(context.now());
    context.record(metrics.utilisation, seen.utilisation(), seen.from);
    context.record(metrics.queue, seen.mean_queue(), seen.from);
    context.record(metrics.balked, seen.share_balked(), seen.from);
    context.record(metrics.reneged, seen.share_reneged(), seen.from);
  }

 private:
  struct Waiting {
    std::int64_t priority;
    std::uint64_t ticket;
    Time since;
    Customer customer;
  };

  static bool comes_later(const Waiting& a, const Waiting& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.ticket > b.ticket;
  }

  Next take_last(Time now) {
    Waiting& last = queue_.back();
    Next next{std::move(last.customer), now - last.since};
    queue_.pop_back();
    return next;
  }

  ResourceStatistics begun_at(Time time) const {
    ResourceStatistics begun;
    begun.servers = statistics_.servers;
    begun.from = begun.until = time;
    begun.longest_queue = queue_.size();
    return begun;
  }
  /// Whether the observed time begins between the last change and `now`.
  bool begins_by(Time now) const {
    return statistics_.from < observed_from_ && observed_from_ <= now;
  }
  /// Adds the time since `seen.until`, in which the levels were constant.
  void extend(ResourceStatistics& seen, Time now) const {
    const auto ticks = static_cast<ResourceStatistics::Area>((now - seen.until).ticks());
    seen.busy_area += ticks * busy_;
    seen.queue_area += ticks * queue_.size();
    seen.until = now;
  }
  void advance(Time now) {
    if (begins_by(now)) [[unlikely]]
      statistics_ = begun_at(observed_from_);
    extend(statistics_, now);
  }

  std::uint64_t queue_limit_;
  Time observed_from_;
  std::uint64_t busy_ = 0;
  std::uint64_t next_ticket_ = 1;
  std::vector<Waiting> queue_;
  ResourceStatistics statistics_;  // `until`: time of the last update
};

}  // namespace orrery
