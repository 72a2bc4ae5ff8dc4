// SPDX-License-Identifier: Apache-2.0
//
// Servers that know the work of their customers: a customer who comes first may interrupt another
// (preemption), servers break down and come back, and their number follows shifts. All three are one
// mechanism, since the resource knows what is left of each customer's work (White and Christie,
// "Queuing with preemptive priorities or with breakdown", Operations Research 6, 1958).
//
// As an orrery::Resource, it neither sends events nor calls back. The LP schedules the end of each
// service that has begun, and takes no notice of an end that has become untrue:
//
//   void handle(orrery::Context& context, const Arrival& arrival) {
//     const auto [admission, victim] =
//         crane_.request(context, arrival.job, arrival.work, {.priority = arrival.urgent ? 0 : 1});
//     schedule_ends(context);                        // `victim`: whose service was interrupted
//   }
//   void handle(orrery::Context& context, const End& end) {
//     if (const auto done = crane_.complete(context, end.service)) leave(context, done->customer);
//     schedule_ends(context);
//   }
//   void schedule_ends(orrery::Context& context) {
//     while (const auto begun = crane_.take_begun())
//       context.schedule(context.self(), begun->left, End{begun->service});
//   }
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "orrery/resource_books.h"
#include "orrery/time.h"

namespace orrery {

/// What becomes of a customer whose service is interrupted.
enum class Preempted : std::uint8_t {
  resumes,   ///< waits, and goes on with the work that is left
  restarts,  ///< waits, and does all the work again
  leaves,    ///< gives up
};

/// What becomes of services when servers are taken away.
enum class Removal : std::uint8_t {
  preempts,     ///< the services of the last in order are interrupted
  lets_finish,  ///< servers end what they have begun, and go then
};

/// How a customer's work is done.
struct WorkOptions {
  std::int64_t priority = 0;  ///< smaller comes first
  Preempted preempted = Preempted::resumes;
  bool preempts = true;  ///< interrupts a customer of a larger priority where all servers are busy
};

/// `Customer` is any type that can be copied. `call` is the context, or the time alone if the
/// resource is not observed. Wrong use throws std::invalid_argument or std::logic_error, which end a
/// run as a model fault if the event commits. A call takes O(s + log n) for s busy servers and n
/// waiting customers.
///
/// Customers of a smaller priority come first, then those who came earlier. Whose service is
/// interrupted keeps that place, and waits even where the queue is full. A service whose work is done
/// at this very time is not interrupted: its end is about to be handled.
template <class Customer>
class PreemptiveResource {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  /// A service that has begun or goes on.
  struct Begun {
    std::uint64_t service;  ///< for complete()
    Customer customer;
    Duration left;    ///< until it ends, unless it is interrupted
    Duration waited;  ///< from the request to its first beginning
  };
  /// A customer whose service was interrupted, or who has left.
  struct Victim {
    Customer customer;
    Duration left;              ///< work to do if the customer comes again or waits to go on
    Duration lost;              ///< work done in vain so far
    std::uint32_t preemptions;  ///< of this customer so far
    bool has_left;              ///< false: the customer waits to go on
  };
  struct Done {
    Customer customer;
    Duration lost;
    std::uint32_t preemptions;
  };
  struct Request {
    Admission admission;
    std::optional<Victim> victim;  ///< whom the new customer has interrupted
  };

  /// `servers`: 0 or more. `queue_limit`: most customers that may wait; 0: no queue.
  explicit PreemptiveResource(std::uint64_t servers, std::uint64_t queue_limit = kUnlimited)
      : queue_limit_(queue_limit), capacity_(servers), books_(servers) {}

  /// For start(): records these metrics from now on. All calls must then have a context.
  void observe(OutputContext& context, const ResourceMetrics& metrics) {
    books_.observe(context, metrics);
  }

  /// Asks for `work`, 0 or more.
  Request request(const ResourceCall& call, Customer customer, Duration work,
                  const WorkOptions& options = {}) {
    if (work < Duration::zero())
      throw std::invalid_argument("PreemptiveResource: work must not be below 0.");
    Job job{options.priority,    next_ticket_++,   call.now(), work,
            std::move(customer), options.preempted};
    books_.requested();
    Request outcome{Admission::served, std::nullopt};
    if (serving_.size() < available()) {
      begin(call, std::move(job));
    } else if (options.preempts && (outcome.victim = preempt_for(call, options.priority))) {
      begin(call, std::move(job));
    } else if (queue_.size() >= queue_limit_) {
      outcome.admission = Admission::balked;
      books_.balked(call);
    } else {
      outcome.admission = Admission::queued;
      queue_.push(std::move(job));
    }
    note_levels(call);
    return outcome;
  }

  /// The next service that has begun and was not yet returned here: call this after each other call
  /// until nothing is returned, and schedule an event for the end of each.
  std::optional<Begun> take_begun() {
    if (begun_.empty()) return std::nullopt;
    const Job& job = *find_service(begun_.front());
    begun_.erase(begun_.begin());
    return Begun{job.service, job.customer, job.left, job.waited};
  }

  /// For the event at the end of a service. Returns nothing if that service was interrupted before.
  std::optional<Done> complete(const ResourceCall& call, std::uint64_t service) {
    const auto found = find_service(service);
    if (found == serving_.end()) return std::nullopt;
    if (call.now() - found->since < found->left)
      throw std::logic_error("PreemptiveResource: complete() before the work is done.");
    const Job job = stop(call, found);
    begin_waiting(call);
    return Done{job.customer, job.lost, job.preemptions};
  }

  /// The ticket of the next request, whatever its outcome: for leave().
  std::uint64_t next_ticket() const { return next_ticket_; }

  /// Removes a customer who waits or is served. Returns nothing if there is none with this ticket.
  std::optional<Victim> leave(const ResourceCall& call, std::uint64_t ticket) {
    std::optional<Victim> gone;
    const auto found = std::find_if(serving_.begin(), serving_.end(),
                                    [&](const Job& job) { return job.ticket == ticket; });
    if (found != serving_.end()) {
      gone = leaves(call, stop(call, found));
    } else {
      queue_.remove(ticket, [&](Job&& job) { gone = leaves(call, std::move(job)); });
    }
    if (gone) begin_waiting(call);
    return gone;
  }

  /// From now on there are `servers`, 0 or more, apart from those taken out. Returns the customers
  /// whose service this has interrupted.
  std::vector<Victim> set_capacity(const ResourceCall& call, std::uint64_t servers,
                                   Removal removal) {
    capacity_ = servers;
    return fit(call, removal);
  }
  /// Takes `count` servers out, those of a breakdown, until put_back(). More than there are leave
  /// none, and count when the capacity grows.
  std::vector<Victim> take_out(const ResourceCall& call, std::uint64_t count, Removal removal) {
    taken_out_ += count;
    return fit(call, removal);
  }
  void put_back(const ResourceCall& call, std::uint64_t count) {
    if (count > taken_out_)
      throw std::logic_error("PreemptiveResource: put_back() of servers that were not taken out.");
    taken_out_ -= count;
    begin_waiting(call);
  }

  /// Servers that are there: the capacity without those taken out.
  std::uint64_t available() const { return capacity_ > taken_out_ ? capacity_ - taken_out_ : 0; }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t taken_out() const { return taken_out_; }
  std::uint64_t busy() const { return serving_.size(); }
  bool is_free() const { return busy() < available(); }
  std::uint64_t waiting() const { return queue_.size(); }

  /// Statistics up to `now`.
  ResourceStatistics statistics(Time now) const { return books_.statistics(now); }
  /// Discards the statistics, at the end of a warm-up. Customers stay.
  void restart_statistics(Time now) { books_.restart_statistics(now); }

 private:
  struct Job {
    std::int64_t priority;
    std::uint64_t ticket;
    Time since;  // of the request; later, of the beginning of the service
    Duration work;
    Customer customer;
    Preempted preempted;
    Duration left = work;
    Duration lost = {}, waited = {};
    std::uint64_t service = 0;  // 0: has not begun. Another number each time that it goes on
    std::uint32_t preemptions = 0;
  };
  using Line = WaitingLine<Job>;
  using Place = typename std::vector<Job>::iterator;

  Place find_service(std::uint64_t service) {
    return std::find_if(serving_.begin(), serving_.end(),
                        [&](const Job& job) { return job.service == service; });
  }

  void begin(const ResourceCall& call, Job job) {
    if (job.service == 0) {
      job.waited = call.now() - job.since;
      books_.served(call, job.waited);
    }
    job.since = call.now();
    job.service = ++services_;
    begun_.push_back(job.service);
    const auto place = std::upper_bound(
        serving_.begin(), serving_.end(), job,
        [](const Job& one, const Job& other) { return Line::comes_later(other, one); });
    serving_.insert(place, std::move(job));
  }
  Job stop(const ResourceCall& call, Place place) {
    Job job = std::move(*place);
    serving_.erase(place);
    std::erase(begun_, job.service);
    job.left -= call.now() - job.since;
    return job;
  }
  void begin_waiting(const ResourceCall& call) {
    while (serving_.size() < available() && !queue_.is_empty()) begin(call, queue_.pop());
    note_levels(call);
  }
  void note_levels(const ResourceCall& call) {
    books_.change(call, {available(), serving_.size(), queue_.size()});
  }

  /// The last in order of those with work left.
  Place find_victim(Time now) {
    for (Place place = serving_.end(); place != serving_.begin();)
      if (--place; now - place->since < place->left) return place;
    return serving_.end();
  }
  std::optional<Victim> preempt_for(const ResourceCall& call, std::int64_t priority) {
    if (serving_.size() > available())
      return std::nullopt;  // a server that is let finish is no gain
    const Place victim = find_victim(call.now());
    if (victim == serving_.end() || victim->priority <= priority) return std::nullopt;
    return preempt(call, victim);
  }
  Victim preempt(const ResourceCall& call, Place place) {
    Job job = stop(call, place);
    ++job.preemptions;
    books_.preempted();
    if (job.preempted == Preempted::leaves) return leaves(call, std::move(job));
    if (job.preempted == Preempted::restarts) lose_work(job);
    Victim victim = victim_of(job, false);
    queue_.push(std::move(job));
    return victim;
  }
  /// A customer who is neither in the queue nor served any more.
  Victim leaves(const ResourceCall& call, Job job) {
    if (job.service == 0) books_.reneged(call);
    lose_work(job);
    return victim_of(job, true);
  }
  void lose_work(Job& job) {
    const Duration done = job.work - job.left;
    job.lost += done;
    job.left = job.work;
    books_.lost(done);
  }
  static Victim victim_of(const Job& job, bool has_left) {
    return {job.customer, job.left, job.lost, job.preemptions, has_left};
  }

  std::vector<Victim> fit(const ResourceCall& call, Removal removal) {
    std::vector<Victim> victims;
    while (removal == Removal::preempts && serving_.size() > available()) {
      const Place victim = find_victim(call.now());
      if (victim == serving_.end()) break;
      victims.push_back(preempt(call, victim));
    }
    begin_waiting(call);
    return victims;
  }

  std::uint64_t queue_limit_, capacity_, taken_out_ = 0;
  std::uint64_t next_ticket_ = 1, services_ = 0;
  Line queue_;
  std::vector<Job> serving_;          // in the order of the queue: victims are at its end
  std::vector<std::uint64_t> begun_;  // services, until take_begun(); empty between events
  ResourceBooks books_;
};

}  // namespace orrery
