// SPDX-License-Identifier: Apache-2.0
//
// Servers and their waiting customers as a part of an LP: a resource or station of other simulators
// (Kleinrock, "Queueing Systems", vol. 1, 1975). The LP schedules its own events; the resource
// keeps the queue and the statistics:
//
//   void handle(orrery::Context& context, const Arrival&) {
//     if (desk_.request(context, customer) == orrery::Admission::served)
//       begin_service(context, customer);               // schedules a Departure
//   }
//   void handle(orrery::Context& context, const Departure&) {
//     if (const auto next = desk_.release(context)) begin_service(context, next->customer);
//   }
//
// A resource neither calls back nor sends events, so a handler stays the only place of action and a
// resource is plain state: it lies in the LP's memory and is rolled back, copied and moved with it.
// Customers should be small. Where customers have work that others may interrupt, or servers come
// and go, see orrery/preemptive_resource.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "orrery/resource_books.h"
#include "orrery/time.h"

namespace orrery {

/// `Customer` is any movable type. `call` is the context, or the time alone if the resource is not
/// observed. Wrong use throws std::invalid_argument or std::logic_error, which end a run as a model
/// fault if the event commits.
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
      : queue_limit_(queue_limit), books_(servers) {
    if (servers == 0) throw std::invalid_argument("Resource: there must be at least 1 server.");
  }

  /// For start(): records these metrics from now on. All calls must then have a context.
  void observe(OutputContext& context, const ResourceMetrics& metrics) {
    books_.observe(context, metrics);
  }

  /// Requests a server for a customer. Waiting customers are served by smaller priority, then in
  /// order of arrival. O(log n) for n waiting customers.
  Admission request(const ResourceCall& call, Customer customer, std::int64_t priority = 0) {
    const std::uint64_t ticket = next_ticket_++;
    books_.requested();
    if (is_free()) {
      books_.served(call, Duration::zero());
      set_levels(call, busy() + 1);
      return Admission::served;
    }
    if (waiting() >= queue_limit_) {
      books_.balked(call);
      return Admission::balked;
    }
    queue_.push({priority, ticket, call.now(), std::move(customer)});
    set_levels(call, busy());
    return Admission::queued;
  }

  /// Ends a service. The server goes on with the returned customer, or is idle. Throws
  /// std::logic_error if no server was busy. O(log n).
  std::optional<Next> release(const ResourceCall& call) {
    if (busy() == 0) throw std::logic_error("Resource: release() where no server is busy.");
    std::optional<Next> next;
    if (!queue_.is_empty()) {
      next = left(queue_.pop(), call);
      books_.served(call, next->waited);
    }
    set_levels(call, next ? busy() : busy() - 1);
    return next;
  }

  /// The ticket of the next request, whatever its outcome: for a timer set before the request.
  std::uint64_t next_ticket() const { return next_ticket_; }

  /// Removes a customer that gives up waiting from the queue. Returns nothing if no customer with
  /// this ticket is in the queue. O(n).
  std::optional<Next> renege(const ResourceCall& call, std::uint64_t ticket) {
    std::optional<Next> gone;
    if (!queue_.remove(ticket, [&](Waiting&& one) { gone = left(std::move(one), call); }))
      return gone;
    books_.reneged(call);
    set_levels(call, busy());
    return gone;
  }

  std::uint64_t servers() const { return books_.levels().servers; }
  std::uint64_t busy() const { return books_.levels().busy; }
  bool is_free() const { return busy() < servers(); }
  std::uint64_t waiting() const { return books_.levels().waiting; }

  /// Statistics up to `now`.
  ResourceStatistics statistics(Time now) const { return books_.statistics(now); }
  /// Discards the statistics, at the end of a warm-up. Customers stay; the waits of those in the
  /// queue still count from their arrival.
  void restart_statistics(Time now) { books_.restart_statistics(now); }

 private:
  struct Waiting {
    std::int64_t priority;
    std::uint64_t ticket;
    Time since;
    Customer customer;
  };

  static Next left(Waiting&& one, const ResourceCall& call) {
    return {std::move(one.customer), call.now() - one.since};
  }
  void set_levels(const ResourceCall& call, std::uint64_t busy) {
    books_.change(call, {servers(), busy, queue_.size()});
  }

  std::uint64_t queue_limit_;
  std::uint64_t next_ticket_ = 1;
  WaitingLine<Waiting> queue_;
  ResourceBooks books_;
};

}  // namespace orrery
