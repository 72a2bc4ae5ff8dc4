// SPDX-License-Identifier: Apache-2.0
#include "calendar.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include "../guest_error.h"
#include "kernel/lab_shared.h"

namespace orrery::lab {
namespace {

enum Operation : std::uint32_t {
  kAcknowledge,
  kStart,
  kRequest,
  kWait,
  kGet,
  kUpdate,
  kRun,
  kFreeUntil,
  kGetTimeOfDay,
  kBroadcast
};

constexpr std::uint32_t kPageVersion = 2;
constexpr std::uint32_t kSharesTime = 1;  ///< a client's capability bit
constexpr std::uint32_t kWantsToRun = 1;  ///< a client's flag bit
constexpr std::uint16_t kOurs = 0, kGuests = 1, kClients = 2;

}  // namespace

/// Layout of the kernel's um_timetravel_schedshm.
struct Calendar::Page {
  struct Client {
    std::atomic<std::uint32_t> capabilities, flags;
    std::atomic<std::uint64_t> request, name;
    std::byte reserved[104];
  };
  static_assert(sizeof(Client) == 128);

  std::uint32_t version, bytes;
  std::atomic<std::uint64_t> free_until, now;
  std::atomic<std::uint16_t> running;
  std::uint16_t most_clients;
  std::byte reserved[4096 - 28];
  Client clients[kClients];
  std::byte gap[LAB_SHARED_OFFSET - 4096 - kClients * sizeof(Client)];
  lab_shared shared;
};

Calendar::Calendar(std::int64_t start_of_day_ns) : start_of_day_ns_(start_of_day_ns) {
  static_assert(offsetof(Page, clients) == 4096 && offsetof(Page, shared) == LAB_SHARED_OFFSET);
  // The guest gets the file. If the guest could truncate it, reading the page would kill us.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  page_file_ = File(memfd_create("orrery-lab-time", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!page_file_.is_open() || ftruncate(page_file_.get(), sizeof(Page)) != 0 ||
      fcntl(page_file_.get(), F_ADD_SEALS, kSeals) != 0)
    throw std::system_error(errno, std::generic_category(), "a page for a guest's time");
  void* const mapping =
      mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, page_file_.get(), 0);
  if (mapping == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "a page for a guest's time");
  page_ = static_cast<Page*>(mapping);
  page_->version = kPageVersion;
  page_->bytes = sizeof(Page);
  page_->most_clients = kClients;
  page_->running = kGuests;
  page_->clients[kOurs].capabilities = kSharesTime;
  page_->shared.magic = LAB_SHARED_MAGIC;
}

Calendar::~Calendar() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
}

void Calendar::attach(File socket) {
  channel_ = Channel(std::move(socket));
  const auto start = channel_.take<Message>();
  if (start.operation != kStart) throw GuestError("its first message is no START");
  const File log(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Message answer{kAcknowledge, start.sequence, kGuests};
  const std::array files{page_file_.get(), log.get()};
  channel_.send(std::as_bytes(std::span(&answer, 1)), files);
}

void Calendar::acknowledge(const Message& message, std::uint64_t time) const {
  channel_.put(Message{kAcknowledge, message.sequence, time});
}

void Calendar::advance(std::uint64_t time) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // leaves room to add delays
  if (time < static_cast<std::uint64_t>(now_) || time >= kMost)
    throw GuestError("its time went from " + std::to_string(now_) + " ns to " +
                     std::to_string(time) + " ns");
  now_ = static_cast<std::int64_t>(time);
}

void Calendar::receive() {
  const auto message = channel_.take<Message>();
  switch (message.operation) {
    case kAcknowledge:
      return;
    case kWait:
      waits_ = true;
      return;  // with a shared page, a WAIT is not acknowledged
    case kRequest:
      page_->clients[kGuests].request = message.time;
      page_->clients[kGuests].flags |= kWantsToRun;
      return acknowledge(message, 0);
    case kGet:
      return acknowledge(message, static_cast<std::uint64_t>(now()));
    case kUpdate:
      advance(message.time);
      return acknowledge(message, 0);
    case kGetTimeOfDay:
      return acknowledge(message, static_cast<std::uint64_t>(start_of_day_ns_ + now()));
    case kBroadcast:
      return acknowledge(message, 0);  // there are no other clients
    default:
      throw GuestError("it sent a message " + std::to_string(message.operation) +
                       " about its time, which it cannot");
  }
}

std::int64_t Calendar::requested() const {
  const Page::Client& guest = page_->clients[kGuests];
  if ((guest.flags.load() & kWantsToRun) == 0) return kNever;
  const std::uint64_t time = guest.request.load();
  return static_cast<std::int64_t>(std::min(time, static_cast<std::uint64_t>(kNever)));
}

std::int64_t Calendar::now() {
  if (!waits_) advance(page_->now.load());
  return now_;
}

std::int64_t Calendar::reached() const {
  const std::uint64_t claimed = page_->now.load();
  return std::max(now_,
                  static_cast<std::int64_t>(std::min(claimed, static_cast<std::uint64_t>(until_))));
}

void Calendar::run(std::int64_t now, std::int64_t until) {
  advance(static_cast<std::uint64_t>(now));
  until_ = until;
  page_->free_until = static_cast<std::uint64_t>(until);
  page_->now = static_cast<std::uint64_t>(now);
  page_->running = kGuests;
  waits_ = false;
  channel_.put(Message{kRun, ++sequence_, static_cast<std::uint64_t>(now)});
}

void Calendar::hold(std::int64_t now) {
  advance(static_cast<std::uint64_t>(now));
  page_->now = static_cast<std::uint64_t>(now);
  page_->running = kOurs;
}

void Calendar::limit(std::int64_t until) {
  until_ = std::min(until_, until);
  const auto time = static_cast<std::uint64_t>(until);
  if (time < page_->free_until.load()) page_->free_until = time;
}

// Relaxed: the guest does not run during these calls, and the messages order what it wrote before
// it stopped.

namespace {

template <class Word>
Word load(Word& word) {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}
template <class Word>
void store(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

}  // namespace

bool Calendar::interrupt(unsigned device, unsigned queue) {
  lab_shared& shared = page_->shared;
  if (device >= LAB_MOST_DEVICES || (load(shared.takes) >> device & 1) == 0) return false;
  store(shared.interrupts, load(shared.interrupts) | __u64{1} << (2 * device + queue));
  return true;
}

bool Calendar::takes_arrival(unsigned device) const {
  lab_shared& shared = page_->shared;
  return device < LAB_MOST_DEVICES && (load(shared.takes) >> device & 1) != 0 &&
         given_ - load(shared.arrived) < LAB_MOST_ARRIVALS;
}

void Calendar::arrival(std::int64_t time, unsigned device, std::uint16_t index) {
  lab_shared& shared = page_->shared;
  shared.arrival[given_ % LAB_MOST_ARRIVALS] = {static_cast<std::uint64_t>(time),
                                                static_cast<std::uint16_t>(device), index, 0};
  store(shared.given, ++given_);
}

std::int64_t Calendar::next_arrival() const {
  lab_shared& shared = page_->shared;
  const std::uint32_t arrived = load(shared.arrived);
  if (given_ - arrived > LAB_MOST_ARRIVALS)
    throw GuestError("it has seen more frames than there were");
  if (arrived == given_) return kNever;
  return static_cast<std::int64_t>(shared.arrival[arrived % LAB_MOST_ARRIVALS].time);
}

bool Calendar::was_switched_off() const {
  return load(page_->shared.ended) != 0;
}

void Calendar::set_quiet(std::uint32_t devices) {
  store(page_->shared.quiet, devices);
}

std::optional<Calendar::Notice> Calendar::next_notice() {
  lab_shared& shared = page_->shared;
  const std::uint32_t kicks = load(shared.kicks);
  if (kicks > LAB_MOST_KICKS || taken_ > kicks)
    throw GuestError("it notes more about its devices than there is room for");
  if (taken_ == kicks) {
    if (kicks > 0) store(shared.kicks, __u32{0});
    taken_ = 0;
    return std::nullopt;
  }
  lab_kick& kick = shared.kick[taken_++];
  advance(load(kick.time));
  return Notice{now_, load(kick.device), load(kick.queue), load(kick.index)};
}

}  // namespace orrery::lab
