// SPDX-License-Identifier: Apache-2.0
//
// The modified PHOLD by which the cache-aware memory manager was measured (Vitali, Pellegrini,
// Cerasuolo: Cache-aware memory manager for optimistic simulations, SIMUTools 2012): the state of
// an LP is a number of linked lists of buffers of varied sizes, and an event reads and writes a
// share of it, breadth first: the first buffers of all lists, then the second ones, and so on.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Parameter;

struct Ball {};

class Lists final : public orrery::Model {
 public:
  Parameter<std::int64_t> lps{
      *this, "lps", 2048, {.help = "logical processes", .minimum = 1, .maximum = 1 << 24}};
  Parameter<std::int64_t> lists{
      *this, "lists", 8, {.help = "linked lists of an LP", .minimum = 1, .maximum = 1024}};
  Parameter<std::int64_t> bytes{
      *this, "bytes", 4096, {.help = "state of an LP", .minimum = 64, .maximum = 1 << 28}};
  Parameter<double> touched{*this,
                            "touched",
                            0.25,
                            {.help = "share touched by an event", .minimum = 0.0, .maximum = 1.0}};
  Parameter<double> local{
      *this, "local", 0.0, {.help = "share of events that stay", .minimum = 0.0, .maximum = 1.0}};

  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId id) const override;
};

struct Buffer {
  std::unique_ptr<Buffer> next;
  std::vector<std::uint64_t> words;
};

class Node final : public orrery::LogicalProcess<Node, Ball> {
 public:
  Node(const Lists& model, LpId id) : model_(model), heads_(lists()) {
    std::int64_t left = model.bytes;
    std::uint64_t size = id;
    for (std::size_t at = 0; left > 0; at = (at + 1) % heads_.size()) {
      size = size * 6364136223846793005u + 1442695040888963407u;
      auto buffer = std::make_unique<Buffer>();
      buffer->words.resize(4 + (size >> 33) % 29);  // 32 to 256 bytes
      left -= static_cast<std::int64_t>(sizeof(Buffer) + buffer->words.size() * 8);
      buffer->next = std::move(heads_[at]);
      heads_[at] = std::move(buffer);
    }
  }
  ~Node() override {
    // One by one: a list is as long as the state is large.
    for (auto& head : heads_)
      while (head != nullptr) head = std::move(head->next);
  }
  void start(Context& context) override { throw_ball(context); }
  void handle(Context& context, const Ball&) {
    touch(context.random().uniform() < 0.5 ? 1 : 3);
    throw_ball(context);
  }
  void finish(orrery::FinalContext& context) override { context.state(read_); }

 private:
  std::size_t lists() const { return static_cast<std::size_t>(model_.lists.value()); }

  void touch(std::uint64_t value) {
    auto left = static_cast<std::int64_t>(model_.touched * static_cast<double>(model_.bytes));
    front_.clear();
    for (const auto& head : heads_) front_.push_back(head.get());
    while (left > 0 && !front_.empty()) {
      std::size_t kept = 0;
      for (Buffer* buffer : front_) {
        if (left <= 0 || buffer == nullptr) break;
        for (std::size_t i = 0; i < buffer->words.size(); i += 4)  // each half of a cache line
          read_ += buffer->words[i] += value;
        left -= static_cast<std::int64_t>(sizeof(Buffer) + buffer->words.size() * 8);
        if (buffer->next != nullptr) front_[kept++] = buffer->next.get();
      }
      front_.resize(kept);
    }
  }
  void throw_ball(Context& context) {
    const bool stays = context.random().uniform() < model_.local;
    const auto to =
        stays ? context.self() : static_cast<LpId>(context.random().below(context.lp_count()));
    const double seconds = context.random().exponential(1.0);
    context.schedule(to, Duration::from_seconds(seconds), Ball{});
  }

  const Lists& model_;
  std::vector<std::unique_ptr<Buffer>> heads_;
  std::vector<Buffer*> front_;
  std::uint64_t read_ = 0;
};

std::unique_ptr<orrery::LogicalProcessBase> Lists::create(LpId id) const {
  return std::make_unique<Node>(*this, id);
}

ORRERY_MODEL(Lists, "cache_lists", "PHOLD whose state is linked lists of buffers");

}  // namespace
