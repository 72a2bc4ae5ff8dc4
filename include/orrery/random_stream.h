// SPDX-License-Identifier: Apache-2.0
//
// Random streams by name, for comparing variants of a system with common random numbers (Law,
// "Simulation Modeling and Analysis", 5th ed., 2015, section 11.2). If arrivals and service times
// are drawn from separate streams, a variant that needs one more arrival number leaves the service
// numbers unchanged, and two runs with one seed differ only by the change in the model. With the
// LP's own stream, `context.random()`, which serves all purposes, all numbers after the first
// additional draw differ.
//
// A stream is a part of the counter space of Philox (orrery/random.h), chosen by the run's seed,
// the LP and the hash of the name, so names need neither set-up nor registration. The position of a
// stream must be rolled back with its LP, so there is no hidden table of streams. There are three
// forms, which differ in where the position is:
//
//   context.random("service", customer.number)   A part of the stream for each item that the model
//       numbers itself. No position is kept: an item has the same numbers in whatever order items
//       come. Variants stay comparable even if one of them loses or adds items.
//   orrery::RandomStream service_{"service"};    A member of the LP, 40 bytes of its state that
//   context.random(service_)                     checkpoints, snapshots and moves take with them.
//       It continues exactly where the previous event stopped. Reverse handlers do not restore it:
//       the platform does, as for metrics.
//   random("map") in Model::prepare(), random("home", id) in Model::create()
//       See orrery/model.h.
//
// LPs that use none of them pay nothing. Names are hashed to 62 bits. If two names of a run (or a
// name of a run and one of a run with another seed) had the same hash, their numbers would be the
// same: with a thousand names the odds are one in 10^13.
#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/random.h"

namespace orrery {

/// The name of a stream, as its hash (FNV-1a, then the finaliser of MurmurHash3 by A. Appleby):
/// some nanoseconds for a short one, none for a constexpr constant.
class RandomName {
 public:
  constexpr RandomName(const char* name) : RandomName(std::string_view(name)) {}
  /// `number`: for streams that differ by an index, such as those of the servers of a station.
  explicit constexpr RandomName(std::string_view name, std::uint64_t number = 0) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash_ = mixed(mixed(hash) + number * 0x9e3779b97f4a7c15);
  }

  constexpr std::uint64_t hash() const { return hash_; }

 private:
  static constexpr std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
  }
  std::uint64_t hash_ = 0;
};

/// A stream that an LP keeps as a member and draws from by `context.random(stream)`, which supplies
/// seed and LP. Two streams of one name in one LP draw the same numbers.
class RandomStream : private Random {
 public:
  explicit constexpr RandomStream(RandomName name)
      : Random(0, 0, 0, domain_of(name, Kind::member)), name_high_(high_of(name)) {}

  /// Blocks of one item: 2^29 draws, after which the numbers of the next item follow.
  static constexpr std::uint64_t kItemBlocks = std::uint64_t{1} << 28;
  static constexpr std::uint64_t kItemsMax = std::uint64_t{1} << 36;

 private:
  friend class Context;
  friend class Model;

  enum class Kind : std::uint32_t { member = 1, item = 2, model = 3 };

  /// The counter's last word. Its lowest bits keep the forms apart from each other and from an LP's
  /// own stream, whose word is 0.
  static constexpr std::uint32_t domain_of(RandomName name, Kind kind) {
    return static_cast<std::uint32_t>(name.hash()) << 2 | static_cast<std::uint32_t>(kind);
  }
  static constexpr std::uint32_t high_of(RandomName name) {
    return static_cast<std::uint32_t>(name.hash() >> 32);
  }
  /// The rest of the name goes into the key's upper half, where seeds that people choose are 0.
  static constexpr std::uint64_t key_of(std::uint64_t seed, std::uint32_t name_high) {
    return seed ^ std::uint64_t{name_high} << 32;
  }

  /// The numbers of an item, for the seed and LP of `own`.
  static Random item(const Random& own, RandomName name, std::uint64_t number) {
    return item(own.key_, own.lp_, Kind::item, name, number);
  }
  static Random item(std::uint64_t seed, std::uint32_t lp, Kind kind, RandomName name,
                     std::uint64_t number) {
    if (number >= kItemsMax) [[unlikely]]
      refuse_item(number);
    return Random(key_of(seed, high_of(name)), lp, number * kItemBlocks, domain_of(name, kind));
  }
  [[noreturn]] static void refuse_item(std::uint64_t number);

  /// This stream with the seed and LP of `own`; after a fork of the run, with the new seed.
  Random& belonging_to(const Random& own) {
    const std::uint64_t key = key_of(own.key_, name_high_);
    if (key != key_ || own.lp_ != lp_) [[unlikely]]
      begin(key, own.lp_, block_, domain_);
    return *this;
  }

  std::uint32_t name_high_;
};

}  // namespace orrery
