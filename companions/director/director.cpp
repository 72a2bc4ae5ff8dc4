// SPDX-License-Identifier: Apache-2.0
#include "director/director.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "director/clock_now.h"
#include "director/groups.h"
#include "orrery/error.h"

namespace orrery::director {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kBetweenMeetings = 50'000'000;
constexpr std::size_t kMoreViews = 64;           // for threads that come later
constexpr Nanoseconds kTickAtRest = 10'000'000;  // while all threads are idle

void sleep_until(Nanoseconds time) {
  const timespec wanted{.tv_sec = time / kSecond, .tv_nsec = time % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, nullptr) == EINTR) {
  }
}

cpu_set_t usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    throw UsageError(
        fmt::format("the usable cores cannot be found out: {} (there may be {} at "
                    "most)",
                    std::strerror(errno), CPU_SETSIZE));
  return cores;
}

/// Each thread has three open files.
void allow_many_files() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void require_processes(const Selection& selection) {
  for (const pid_t process : selection.processes) {
    if (process == getpid()) throw UsageError("a director cannot direct itself");
    if (threads_of(process).empty() || name_of(process, process).empty())
      throw UsageError(fmt::format("there is no process {}", process));
  }
}

}  // namespace

Director::Director(Orders orders)
    : orders_(std::move(orders)),
      cores_(usable_cores()),
      scanner_(orders_.selection),
      tick_(orders_.tick) {
  sem_init(&hurry_, 0, 0);
  allow_many_files();
  cores_number_ = static_cast<unsigned>(CPU_COUNT(&cores_));
  require_processes(orders_.selection);
  found_ = scanner_.scan();
  if (orders_.selection.group.empty() &&
      std::none_of(found_.begin(), found_.end(), [](const Found& one) { return !one.is_helper; }))
    throw UsageError(fmt::format("no thread of these processes has a name like '{}'",
                                 orders_.selection.pattern));
  if (!orders_.only_watch) {
    require_right();
    require_counters();
    choose_ceiling();
    roll_ = std::make_unique<Roll>();
    const Nanoseconds still =
        std::max<Nanoseconds>(200'000'000, 10 * std::max(orders_.tick, orders_.most_tick));
    guardian_ = std::make_unique<Guardian>(*roll_, static_cast<int>(still / 1'000'000));
  }
  beat_ = std::make_unique<Beat>(orders_, ceiling_, cores_, roll_.get(), &samples_,
                                 orders_.publishes_clocks ? &board_ : nullptr);
  figures_ = beat_->figures();
}

Director::~Director() {
  stop();
  sem_destroy(&hurry_);
}

/// Tries a change, since capabilities, resource limits and groups all decide about it.
void Director::require_right() const {
  Scheduling mine;
  int error = read_scheduling(0, mine);
  if (error == 0) error = set_scheduling(0, scheduling_of(Level::director));
  if (error == 0) error = set_scheduling(0, mine);
  if (error == 0) return;
  throw UsageError(fmt::format(
      "this process may not set real-time priorities ({}): run it as root or with the capability "
      "CAP_SYS_NICE, in a control group whose cpu.rt_runtime_us is not 0; '--watch' measures "
      "without that right",
      std::strerror(error)));
}

void Director::require_counters() const {
  for (const Found& one : found_) {
    if (one.thread.clock() || one.thread.state() == 'X') continue;
    throw UsageError(fmt::format(
        "the time that thread {} ('{}') of process {} consumes cannot be counted ({}): run the "
        "director as root or with the capability CAP_PERFMON, or allow it by "
        "'sysctl kernel.perf_event_paranoid=2'; '--watch' measures without that right",
        one.thread.id().thread, one.thread.name(), one.thread.id().process,
        std::strerror(one.thread.clock().error())));
  }
}

/// If real-time threads reach the system's bound, the system stops a core for long, and each core
/// at another time. So the ceiling stays below the bound, which only serves if the director fails.
void Director::choose_ceiling() {
  constexpr double kMargin = 0.03;  // for other real-time threads
  most_ceiling_ = Orders::kMostCeiling;
  const RealTimeShare system = share_of_system();
  for (const pid_t process : scanner_.processes()) {
    const std::optional<RealTimeShare> group = share_of_group(process);
    if (!system.is_bound() && (!group || !group->is_bound()))
      throw UsageError(fmt::format(
          "nothing would keep real-time threads from taking all cores: {} is -1, and process {} is "
          "in no control group with a bound; write 950000 there",
          system.where, process));
    const RealTimeShare& least =
        group && group->is_bound() && (!system.is_bound() || group->share < system.share) ? *group
                                                                                          : system;
    if (least.share < Orders::kLeastCeiling + kMargin)
      throw UsageError(fmt::format(
          "process {} may have {:.0f} % of a core in real time, which is too little; {} says so, "
          "'echo 950000 > {}' makes it 95 % of a second if the groups above have as much",
          process, 100 * least.share, least.where, least.where));
    if (least.share - kMargin >= most_ceiling_) continue;
    most_ceiling_ = least.share - kMargin;
    ceiling_reason_ = fmt::format("{} allows {:.0f} %", least.where, 100 * least.share);
  }
  ceiling_ = std::min(orders_.ceiling, most_ceiling_);
  if (orders_.ceiling <= most_ceiling_) ceiling_reason_.clear();
}

std::vector<std::pair<ThreadId, TaskClock>> Director::task_clocks() const {
  std::vector<std::pair<ThreadId, TaskClock>> clocks;
  for (const Found& one : found_)
    if (!one.is_helper) clocks.emplace_back(one.thread.id(), one.thread.clock());
  return clocks;
}

void Director::start() {
  views_.reserve(found_.size() + kMoreViews);
  thread_ = std::thread([this] { keep_beat(Role::beat); });
}

void Director::keep_beat(Role role) {
  try {
    become_real_time(role);
    if (role == Role::beat) {
      begin();
      if (roll_ && cores_number_ > 1) deputy_ = std::thread([this] { keep_beat(Role::deputy); });
    }
    tick_until_stopped(role);
  } catch (...) {
    const std::lock_guard lock(ticking_);
    if (!has_failed_) failure_ = std::current_exception();
    has_failed_ = true;
  }
  if (role == Role::deputy) return;
  if (deputy_.joinable()) deputy_.join();
  // This thread does it, since the others may have no core until it is done.
  if (roll_) roll_->give_all_back();
}

void Director::become_real_time(Role role) const {
  prctl(PR_SET_NAME, role == Role::beat ? "orrery-beat" : "orrery-deputy");
  if (!roll_) return;
  stay_on_core(role);
  mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);  // useful, but not necessary
  if (const int error = set_scheduling(0, scheduling_of(Level::director)); error != 0)
    throw UsageError(fmt::format("the director's own thread cannot be a real-time thread: {}",
                                 std::strerror(error)));
}

/// The first of the director's cores, or the last for the deputy. If that fails, the thread is not
/// bound.
void Director::stay_on_core(Role role) const {
  unsigned left = role == Role::beat ? 0 : cores_number_ - 1;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores_) || left-- > 0) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    sched_setaffinity(0, sizeof only, &only);
    return;
  }
}

void Director::begin() {
  {
    // This thread does it, right before the first tick: what the threads run before that is not
    // directed.
    const std::lock_guard lock(meeting_);
    meet();
  }
  start_ = clock_now();
  next_.store(start_ + tick_, std::memory_order_relaxed);
}

void Director::sleep_until_due(Role role) {
  const Nanoseconds due = next_.load(std::memory_order_relaxed);
  if (role == Role::deputy) return sleep_until(due + tick_ / 4);
  const timespec wanted{.tv_sec = due / kSecond, .tv_nsec = due % kSecond};
  while (sem_clockwait(&hurry_, CLOCK_MONOTONIC, &wanted) != 0 && errno == EINTR) {
  }
}

void Director::hurry() {
  const Nanoseconds now = clock_now();
  Nanoseconds due = next_.load(std::memory_order_relaxed);
  if (due <= now + tick_) return;
  while (due > now && !next_.compare_exchange_weak(due, now, std::memory_order_relaxed)) {
  }
  sem_post(&hurry_);
}

/// A thread that finds the other one at work sleeps, since the other one may have no core for a
/// while.
void Director::tick_until_stopped(Role role) {
  while (!stops_.load(std::memory_order_relaxed) && !has_failed_ && !is_over_) {
    sleep_until_due(role);
    if (std::unique_lock lock(ticking_, std::try_to_lock); lock) {
      tick();
      continue;
    }
    sleep_until(clock_now() + tick_ / 4);
  }
}

/// Does the tick, if it is due.
void Director::tick() {
  const Nanoseconds now = clock_now(), due = next_.load(std::memory_order_relaxed);
  if (now < due || is_over_ || has_failed_) return;
  if (orders_.duration > 0 && now - start_ > orders_.duration) is_over_ = true;
  if (is_over_) return;
  beat_->tick(due, now);
  if (roll_) roll_->heartbeat().fetch_add(1, std::memory_order_relaxed);
  if (now - met_ >= kBetweenMeetings && meeting_.try_lock()) {
    const std::lock_guard lock(meeting_, std::adopt_lock);
    meet();
    met_ = now;
  }
  const Nanoseconds tick = tick_, missed = std::max<Nanoseconds>(0, (clock_now() - due) / tick);
  beat_->count_missed(static_cast<std::uint64_t>(missed));
  const Nanoseconds pause = beat_->is_at_rest() ? std::max(tick, kTickAtRest) : tick;
  next_.store(due + missed * tick + pause, std::memory_order_relaxed);
}

void Director::change(const Change& change) {
  const std::lock_guard lock(meeting_);
  changes_.push_back(change);
  if (change.ceiling) ceiling_ = std::min(*change.ceiling, most_ceiling_);
}

void Director::meet() {
  for (const Change& change : changes_) {
    if (change.tick) {
      tick_ = *change.tick;
      beat_->set_tick(*change.tick);
    }
    if (change.ceiling) beat_->set_ceiling(ceiling_);
    if (change.weight) beat_->set_weight(change.weight->first, change.weight->second);
  }
  changes_.clear();
  beat_->take_in(found_);
  beat_->show(views_);
  figures_ = beat_->figures();
  is_empty_ = beat_->is_empty();
}

bool Director::look() {
  if (has_failed_) {
    stop();
    std::rethrow_exception(failure_);
  }
  if (guardian_ && !guardian_->is_alive()) {
    stop();
    throw UsageError(
        "another program has ended the director's guardian; all threads have been given "
        "their scheduling back");
  }
  if (is_over_) return false;
  std::vector<Found> found = scanner_.scan();
  const std::lock_guard lock(meeting_);
  for (Found& one : found) found_.push_back(std::move(one));
  views_.reserve(views_.size() + found_.size() + kMoreViews);
  return !is_empty_ || !found_.empty() || !orders_.selection.group.empty();
}

void Director::stop() {
  stops_ = true;
  if (thread_.joinable()) {
    thread_.join();
    beat_->show(views_);
    figures_ = beat_->figures();
  }
  if (!guardian_) return;
  roll_->give_all_back();
  roll_->give_back_to_children();
  guardian_.reset();
}

Figures Director::figures() {
  const std::lock_guard lock(meeting_);
  return *figures_;
}

std::vector<ThreadView> Director::views() {
  const std::lock_guard lock(meeting_);
  return views_;
}

}  // namespace orrery::director
