// SPDX-License-Identifier: Apache-2.0
#include "trace/difference.h"

#include <fmt/format.h>

#include "core/duration_text.h"
#include "core/fingerprint.h"

namespace orrery::trace {
namespace {

constexpr std::size_t kEventsBefore = 4;

/// start() calls of all LPs have the same key, so the LP decides.
bool is_before(const ReadEvent& x, const ReadEvent& y) {
  return x.key != y.key ? x.key < y.key : x.lp < y.lp;
}
bool is_same_place(const ReadEvent& x, const ReadEvent& y) {
  return x.key == y.key && x.lp == y.lp;
}

void check(const TraceReader& a, const TraceReader& b) {
  const Facts &x = a.facts(), &y = b.facts();
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("'{}' and '{}' cannot be compared: {}", a.path(), b.path(), why));
  };
  if (x.model != y.model) refuse(fmt::format("one is of model {}, one of {}", x.model, y.model));
  if (x.scope.lps != y.scope.lps)
    refuse(fmt::format("one is of LPs {}, one of {}", text_of(x.scope.lps), text_of(y.scope.lps)));
  if (x.scope.from != y.scope.from || x.scope.to != y.scope.to)
    refuse("they are of different times");
}

/// The difference between two events of the same place.
std::string what_differs(const ReadEvent& a, const ReadEvent& b) {
  if (a.type != b.type) return fmt::format("it is {} in A and {} in B", a.type, b.type);
  if (a.payload_bytes != b.payload_bytes)
    return fmt::format("its payload has {} bytes in A and {} in B", a.payload_bytes,
                       b.payload_bytes);
  if (a.duration_ticks != b.duration_ticks)
    return fmt::format("it lasts {} ticks in A and {} in B", a.duration_ticks, b.duration_ticks);
  if (a.sends != b.sends || a.first_send != b.first_send)
    return fmt::format("it sends {} events in A and {} in B", a.sends, b.sends);
  return "its payload differs, or what it did at the LP (the LP's fingerprints after it are not "
         "the same)";
}

/// Finds the last events at the LP before `place`, and the event's cause.
void look_back(TraceReader& a, Difference& difference) {
  const ReadEvent event = difference.event();
  a.rewind();
  for (std::uint64_t at = 0; at < difference.place; ++at) {
    const std::optional<ReadEvent> one = a.next();
    if (one->is_cause_of(event)) difference.cause = one;
    if (one->lp != event.lp) continue;
    if (difference.before.size() == kEventsBefore)
      difference.before.erase(difference.before.begin());
    difference.before.push_back(*one);
  }
}

/// Reads to the end, so that `tail` is known.
void read_rest(TraceReader& reader) {
  while (reader.next()) {
  }
}

}  // namespace

const ReadEvent& Difference::event() const {
  if (!a) return *b;
  if (!b) return *a;
  return is_before(*b, *a) ? *b : *a;
}

Comparison compare(TraceReader& a, TraceReader& b) {
  check(a, b);
  Comparison result;
  Difference difference;
  for (;; ++difference.place) {
    difference.a = a.next();
    difference.b = b.next();
    if (!difference.a || !difference.b || *difference.a != *difference.b) break;
    if (!difference.a->is_start()) ++result.equal;
  }
  const bool both_end = !difference.a && !difference.b;
  const bool a_is_cut = !difference.a && !a.tail().whole,
             b_is_cut = !difference.b && !b.tail().whole;
  if (both_end || a_is_cut || b_is_cut) {
    if (a_is_cut || b_is_cut)
      result.limit =
          fmt::format("the size of '{}' was limited, so nothing is known of what follows",
                      a_is_cut ? a.path() : b.path());
    return result;
  }
  if (difference.a && difference.b && is_same_place(*difference.a, *difference.b)) {
    difference.what = what_differs(*difference.a, *difference.b);
  } else {
    const bool is_of_a = !difference.b || (difference.a && is_before(*difference.a, *difference.b));
    difference.what = is_of_a ? "it is missing in B" : "it is missing in A";
  }
  look_back(a, difference);
  read_rest(a);
  read_rest(b);
  result.difference = std::move(difference);
  return result;
}

std::uint64_t add_event(std::uint64_t hash, const ReadEvent& event) {
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(event.key.time().ticks()), event.key.upper_word(),
        std::uint64_t{event.key.lower_word()}, std::uint64_t{event.lp}, event.payload_bytes,
        static_cast<std::uint64_t>(event.duration_ticks), event.fingerprint, event.first_send,
        event.sends})
    hash = fingerprint::add_word(hash, word);
  return fingerprint::add_bytes(hash, event.type.data(), event.type.size());
}

std::string text_of(const ReadEvent& event, const TraceReader& reader) {
  const std::string who = reader.lp_text(event.lp);
  if (event.is_start()) return who + ", start of the run";
  return fmt::format("{}, {} at {} (tick {}), send {} of {}", who, event.type,
                     duration_text(event.key.time() - Time::zero(), reader.facts().tick_seconds),
                     event.key.time().ticks(), event.key.sequence(),
                     reader.lp_text(event.key.sender()));
}

}  // namespace orrery::trace
