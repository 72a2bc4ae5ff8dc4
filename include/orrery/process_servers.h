// SPDX-License-Identifier: Apache-2.0
//
// Servers that processes of an LP wait for: Resource (orrery/resource.h), which keeps the queue and
// the statistics, with co_await. A model includes orrery/process.h.
//
// A process holds a server as long as the value of co_await lives. So every way out of the block,
// including an interrupt, releases the server.
#pragma once

#include <cstdint>
#include <utility>

#include "orrery/process_kernel.h"
#include "orrery/resource.h"
#include "orrery/time.h"

namespace orrery {

class Servers;

namespace detail {
class Acquire;
}

/// A server that a process holds, or the outcome of a request that got none.
class [[nodiscard("a server is given back where this value ends")]] Server {
 public:
  Server(Server && other) noexcept
      : kernel_(std::exchange(other.kernel_, nullptr)),
        servers_(other.servers_),
        ticket_(other.ticket_),
        admission_(other.admission_),
        waited_(other.waited_) {}
  Server& operator=(Server&& other) {
    release();
    kernel_ = std::exchange(other.kernel_, nullptr);
    servers_ = other.servers_;
    ticket_ = other.ticket_;
    admission_ = other.admission_;
    waited_ = other.waited_;
    return *this;
  }
  /// Releases the server, unless the LP itself is being destroyed.
  ~Server() {
    if (kernel_ != nullptr && kernel_->is_in_event()) release();
  }

  /// Whether the process holds the server: false if the queue was full, if it has given up waiting,
  /// and after release().
  explicit operator bool() const {
    return kernel_ != nullptr;
  }
  /// The queue was full.
  bool has_balked() const {
    return admission_ == Admission::balked;
  }
  /// How long the process has waited, whether it got the server or not.
  Duration waited() const {
    return waited_;
  }
  /// Releases the server before this value is destroyed.
  void release();

 private:
  friend class detail::Acquire;
  Server(ProcessKernel * kernel, Servers & servers, std::uint64_t ticket, Admission admission,
         Duration waited)
      : kernel_(kernel),
        servers_(&servers),
        ticket_(ticket),
        admission_(admission),
        waited_(waited) {}

  ProcessKernel* kernel_;  // null: no server to release
  Servers* servers_;
  std::uint64_t ticket_;
  Admission admission_;
  Duration waited_;
};

namespace detail {

class Acquire final : public ListedWait {
 public:
  Acquire(Servers& servers, std::int64_t priority, Limit patience)
      : servers_(servers), priority_(priority), patience_(patience) {}
  /// Refuses `co_await servers.acquire();` without a name, which gives the server back at once.
  ~Acquire() override;
  [[nodiscard]] Server await_resume();

 private:
  friend class orrery::Servers;
  friend class orrery::Server;

  bool begin() override;
  void withdraw() override;
  void expire() override;
  void give_back() override;
  void renege();

  Servers& servers_;
  const std::int64_t priority_;
  const Limit patience_;
  Admission admission_ = Admission::queued;
  std::uint64_t ticket_ = 0;
  std::uint64_t turn_ = 0;  // in which the process got its Server
  Duration waited_;
};

}  // namespace detail

class Servers {
 public:
  static constexpr std::uint64_t kUnlimited = Resource<detail::Acquire*>::kUnlimited;

  /// `servers`: 1 or more. `queue_limit`: most processes that may wait; 0: no queue.
  explicit Servers(std::uint64_t servers, std::uint64_t queue_limit = kUnlimited)
      : resource_(servers, queue_limit) {}

  /// For ProcessHost::observe().
  void observe(OutputContext& context, const ResourceMetrics& metrics) {
    resource_.observe(context, metrics);
  }

  /// `const Server server = co_await desk.acquire();` Smaller priorities come first, equal
  /// priorities in order of arrival. Without a queue limit the process always gets a server.
  [[nodiscard("co_await it")]] detail::Acquire acquire(std::int64_t priority = 0) {
    return {*this, priority, {}};
  }
  /// The same, waiting at most `patience`.
  [[nodiscard("co_await it")]] detail::Acquire acquire_for(Duration patience,
                                                           std::int64_t priority = 0) {
    return {*this, priority, {true, patience}};
  }

  std::uint64_t servers() const { return resource_.servers(); }
  std::uint64_t busy() const { return resource_.busy(); }
  bool is_free() const { return resource_.is_free(); }
  std::uint64_t waiting() const { return resource_.waiting(); }

  /// As in Resource.
  ResourceStatistics statistics(Time now) const { return resource_.statistics(now); }
  void restart_statistics(Time now) { resource_.restart_statistics(now); }

 private:
  friend class detail::Acquire;
  friend class Server;

  void release(Context& context, std::uint64_t ticket) {
    last_released_ = ticket;
    const auto next = resource_.release(context);
    if (!next) return;
    next->customer->admission_ = Admission::served;
    next->customer->waited_ = next->waited;
    waiting_.wake(*next->customer);
  }

  Resource<detail::Acquire*> resource_;
  std::uint64_t last_released_ = 0;  // ticket
  detail::WaitList waiting_;         // processes in the queue
};

inline void Server::release() {
  ProcessKernel* const kernel = std::exchange(kernel_, nullptr);
  if (kernel != nullptr) servers_->release(kernel->context(), ticket_);
}

namespace detail {

inline bool Acquire::begin() {
  ticket_ = servers_.resource_.next_ticket();
  admission_ = servers_.resource_.request(kernel().context(), this, priority_);
  if (admission_ != Admission::queued) return false;
  wait_in(servers_.waiting_, patience_);
  return true;
}

inline void Acquire::withdraw() {
  leave();
  renege();
}
inline void Acquire::expire() {
  unlink();
  renege();
}
inline void Acquire::renege() {
  if (const auto gone = servers_.resource_.renege(kernel().context(), ticket_))
    waited_ = gone->waited;
}
inline void Acquire::give_back() {
  if (admission_ == Admission::served) servers_.release(kernel().context(), ticket_);
}

inline Server Acquire::await_resume() {
  settle();
  const bool served = admission_ == Admission::served;
  if (served) turn_ = kernel().turn();
  return Server(served ? &kernel() : nullptr, servers_, ticket_, admission_, waited_);
}

/// This temporary lives to the end of the statement, a Server with a name longer.
inline Acquire::~Acquire() {
  if (turn_ == 0 || turn_ != kernel().turn() || servers_.last_released_ != ticket_) return;
  kernel().refuse(
      "a process gives its server back in the statement that got it: give the Server a name, "
      "`const orrery::Server server = co_await servers.acquire();`");
}

}  // namespace detail
}  // namespace orrery
