// SPDX-License-Identifier: Apache-2.0
#include "transport/ranks/rank_transport.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/ranks/bytes.h"

namespace orrery::transport {
namespace {

constexpr std::chrono::microseconds kLongestWait{2000};

std::string own_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// A text that no other process on the host has, nor this process at another time.
std::string own_group() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return "orrery." + std::to_string(getpid()) + "." + std::to_string(now.count());
}

}  // namespace

RankTransport::RankTransport(std::unique_ptr<Wire> wire, std::size_t credit_bytes)
    : wire_(std::move(wire)),
      rank_(wire_->rank()),
      ranks_(wire_->ranks()),
      looks_are_cheap_(wire_->looks_are_cheap()),
      credit_bytes_(credit_bytes),
      outgoing_(std::make_unique<Outgoing[]>(std::size_t{ranks_} * kCreditLanes)),
      incoming_(std::size_t{ranks_} * kCreditLanes),
      sent_(ranks_),
      bulk_(ranks_) {
  meet();
}

RankTransport::~RankTransport() {
  for (Posted* one = posted_.load(std::memory_order_acquire); one != nullptr;)
    delete std::exchange(one, one->next);
}

void RankTransport::meet() {
  ByteWriter own;
  own.put(own_host());
  own.put(own_group());
  std::vector<std::string> groups;
  for (const Parcel& parcel : gather_everywhere(own.take())) {
    ByteReader reader(parcel);
    hosts_.push_back(reader.get_text());
    groups.push_back(reader.get_text());
  }
  const auto here = [this](const std::string& host) { return host == hosts_[rank_]; };
  const auto own_place = hosts_.begin() + rank_;
  ranks_on_host_ = static_cast<unsigned>(std::count_if(hosts_.begin(), hosts_.end(), here));
  index_on_host_ = static_cast<unsigned>(std::count_if(hosts_.begin(), own_place, here));
  group_ = groups[std::find_if(hosts_.begin(), hosts_.end(), here) - hosts_.begin()];
}

std::string RankTransport::place(unsigned rank) const {
  return "rank " + std::to_string(rank) + " on host " + hosts_[rank];
}

// ---- By any thread

void RankTransport::post(unsigned to, Lane lane, Parcel parcel) {
  parcel.head().lane = lane;
  auto* const one = new Posted{to, std::move(parcel), posted_.load(std::memory_order_relaxed)};
  while (!posted_.compare_exchange_weak(one->next, one, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

bool RankTransport::try_progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && progress();
}

// ---- By the thread that holds the lock

void RankTransport::forward_posted() {
  if (posted_.load(std::memory_order_relaxed) == nullptr) return;
  Posted* newest = posted_.exchange(nullptr, std::memory_order_acquire);
  Posted* oldest = nullptr;
  while (newest != nullptr) {
    Posted* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  while (oldest != nullptr) {
    const std::unique_ptr<Posted> one(std::exchange(oldest, oldest->next));
    const Lane lane = one->parcel.head().lane;
    send(one->to, lane, std::move(one->parcel));
  }
}

void RankTransport::send(unsigned to, Lane lane, Parcel parcel) {
  parcel.head().lane = lane;
  if (!has_credit(lane)) return put_on_wire(to, std::move(parcel));
  Outgoing& out = outgoing(to, lane);
  out.waiting_bytes.fetch_add(parcel.image_bytes(), std::memory_order_relaxed);
  out.waiting.push_back(std::move(parcel));
  send_waiting(out, to);
}

void RankTransport::put_on_wire(unsigned to, Parcel parcel) {
  std::uint8_t& sent = sent_[to];
  sent = std::max(sent,
                  has_credit(parcel.head().lane) ? std::uint8_t{kCredited} : std::uint8_t{kUrgent});
  has_sent_ = true;
  wire_->send(to, std::move(parcel));
}

/// A parcel larger than the whole credit is sent alone.
void RankTransport::send_waiting(Outgoing& out, unsigned to) {
  while (!out.waiting.empty()) {
    const std::uint64_t bytes = out.waiting.front().image_bytes();
    if (out.on_the_way > 0 && out.on_the_way + bytes > credit_bytes_) return;
    out.on_the_way += bytes;
    out.waiting_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    put_on_wire(to, std::move(out.waiting.front()));
    out.waiting.pop_front();
  }
}

void RankTransport::give_back(unsigned from, Lane lane, std::uint64_t bytes) {
  Incoming& in = incoming(from, lane);
  in.owed += bytes;
  owes_ = true;
  if (in.owed >= credit_bytes_ / 4) return_credit(from, lane);
}

void RankTransport::return_credit(unsigned from, Lane lane) {
  Incoming& in = incoming(from, lane);
  Parcel parcel(sizeof in.owed);
  parcel.append(&in.owed, sizeof in.owed);
  in.owed = 0;
  parcel.head().kind = kCredit;
  parcel.head().word = static_cast<std::uint32_t>(lane);
  send(from, Lane::control, std::move(parcel));
}

void RankTransport::return_all_credit() {
  for (unsigned from = 0; from < ranks_; ++from)
    for (const Lane lane : {Lane::events, Lane::rows})
      if (incoming(from, lane).owed > 0) return_credit(from, lane);
  owes_ = false;
}

/// Small amounts of credit are returned when there is nothing else to do, since a sender may wait
/// for the last of them.
bool RankTransport::progress() {
  forward_posted();
  const bool moved =
      wire_->progress([this](unsigned from, Parcel parcel) { deliver(from, std::move(parcel)); });
  if (!moved && owes_) return_all_credit();
  return moved;
}

void RankTransport::deliver(unsigned from, Parcel parcel) {
  const Lane lane = parcel.head().lane;
  if (lane == Lane::control) return take_control(from, std::move(parcel));
  if (lane == Lane::bulk) {
    bulk_[from].push_back(std::move(parcel));
    return;
  }
  const auto at = static_cast<std::size_t>(lane);
  if (receive_[at]) return receive_[at](from, std::move(parcel));
  kept_[at].emplace_back(from, std::move(parcel));
}

void RankTransport::receive_with(Lane lane, Receive receive) {
  const auto at = static_cast<std::size_t>(lane);
  receive_[at] = std::move(receive);
  if (!receive_[at]) return;
  for (auto kept = std::exchange(kept_[at], {}); !kept.empty(); kept.pop_front())
    receive_[at](kept.front().first, std::move(kept.front().second));
}

void RankTransport::take_control(unsigned from, Parcel parcel) {
  if (parcel.head().kind == kCredit) {
    Outgoing& out = outgoing(from, static_cast<Lane>(parcel.head().word));
    std::uint64_t bytes;
    std::memcpy(&bytes, parcel.data(), sizeof bytes);
    out.on_the_way -= bytes;
    return send_waiting(out, from);
  }
  const unsigned number = parcel.head().word;
  if (number < reductions_.size() && reductions_[number] != nullptr)
    return reductions_[number]->take(from, parcel.head().kind, parcel);
  early_.emplace_back(from, std::move(parcel));
}

// ---- While no other thread uses it

void RankTransport::wait_until(const std::function<bool()>& done) {
  for (;;) {
    bool moved;
    {
      const std::lock_guard lock(mutex_);
      moved = progress();
      if (done()) return;
    }
    if (!moved) wire_->wait(kLongestWait);
  }
}

Parcel RankTransport::take_bulk(unsigned from) {
  wait_until([&] { return !bulk_[from].empty(); });
  const std::lock_guard lock(mutex_);
  Parcel parcel = std::move(bulk_[from].front());
  bulk_[from].pop_front();
  return parcel;
}

std::vector<Parcel> RankTransport::gather(Parcel own) {
  std::vector<Parcel> all;
  if (rank_ != 0) {
    const std::lock_guard lock(mutex_);
    send(0, Lane::bulk, std::move(own));
    return all;
  }
  all.push_back(std::move(own));
  for (unsigned from = 1; from < ranks_; ++from) all.push_back(take_bulk(from));
  return all;
}

std::vector<Parcel> RankTransport::gather_everywhere(Parcel own) {
  std::vector<Parcel> all = gather(std::move(own));
  if (rank_ != 0) {
    const Parcel whole = take_bulk(0);
    ByteReader reader(whole);
    for (unsigned i = 0; i < ranks_; ++i) {
      const std::vector<std::byte> bytes = reader.get_list<std::byte>();
      all.emplace_back(bytes.size()).append(bytes.data(), bytes.size());
    }
    return all;
  }
  for (unsigned to = 1; to < ranks_; ++to) {
    ByteWriter whole;
    for (const Parcel& one : all)
      whole.put(std::string_view(reinterpret_cast<const char*>(one.data()), one.size()));
    const std::lock_guard lock(mutex_);
    send(to, Lane::bulk, whole.take());
  }
  return all;
}

/// From the first step on the other ranks may be further, and may have ended.
void RankTransport::part() {
  {
    const std::lock_guard lock(mutex_);
    wire_->part();
  }
  gather_everywhere({});
  wait_until([this] { return wire_->is_drained(); });
}

// ---- Collectives

Reduction::Reduction(RankTransport& transport, std::size_t words, Combine combine)
    : transport_(transport),
      words_(words),
      combine_(std::move(combine)),
      few_(transport.ranks_ <= RankTransport::kFewRanks),
      has_part_(few_ ? transport.ranks_ : 0),
      of_next_(has_part_.size()) {
  const std::lock_guard lock(transport_.mutex_);
  number_ = static_cast<unsigned>(transport_.reductions_.size());
  transport_.reductions_.push_back(this);
  auto early = std::exchange(transport_.early_, {});
  for (auto& [from, parcel] : early) transport_.take_control(from, std::move(parcel));
}

Reduction::~Reduction() {
  const std::lock_guard lock(transport_.mutex_);
  transport_.reductions_[number_] = nullptr;
}

void Reduction::contribute(std::span<const Word> own) {
  busy_ = true;
  add(own.data());
  for (unsigned other = 0; few_ && other < transport_.ranks_; ++other)
    if (other != transport_.rank_)
      transport_.send(other, Lane::control, parcel(RankTransport::kAcross, own.data()));
  go_on();
}

void Reduction::add(const Word* one) {
  if (parts_++ == 0) {
    sum_.assign(one, one + words_);
  } else {
    combine_(sum_.data(), one);
  }
}

Parcel Reduction::parcel(std::uint8_t kind, const Word* words) const {
  Parcel parcel(words_ * sizeof(Word));
  parcel.append(words, words_ * sizeof(Word));
  parcel.head().kind = kind;
  parcel.head().word = number_;
  return parcel;
}

void Reduction::take(unsigned from, std::uint8_t kind, const Parcel& parcel) {
  const auto* const words = reinterpret_cast<const Word*>(parcel.data());
  if (kind == RankTransport::kAcross) return take_across(from, words);
  if (kind == RankTransport::kDown) return finish(words);
  add(words);
  go_on();
}

/// Another rank is at most one sum ahead: its next sum needs this rank's contribution.
void Reduction::take_across(unsigned from, const Word* words) {
  if (has_part_[from] != 0) {
    of_next_[from].assign(words, words + words_);
    return;
  }
  has_part_[from] = 1;
  add(words);
  go_on();
}

unsigned Reduction::parts_of_all() const {
  return few_ ? transport_.ranks_ : 1 + transport_.end_child() - transport_.first_child();
}

/// A child can be one sum ahead only after this rank has sent the result down, so parts of one sum
/// never mix with those of the next.
void Reduction::go_on() {
  if (!busy_ || parts_ != parts_of_all()) return;
  if (transport_.rank_ == 0 || few_) {
    const std::vector<Word> sum = sum_;
    return finish(sum.data());
  }
  transport_.send(transport_.parent(), Lane::control, parcel(RankTransport::kUp, sum_.data()));
}

void Reduction::finish(const Word* result) {
  result_.assign(result, result + words_);
  parts_ = 0;
  busy_ = false;
  if (few_) {
    std::fill(has_part_.begin(), has_part_.end(), 0);
    for (unsigned from = 0; from < of_next_.size(); ++from)
      if (const auto next = std::exchange(of_next_[from], {}); !next.empty())
        take_across(from, next.data());
    return;
  }
  for (unsigned child = transport_.first_child(); child < transport_.end_child(); ++child)
    transport_.send(child, Lane::control, parcel(RankTransport::kDown, result));
}

}  // namespace orrery::transport
