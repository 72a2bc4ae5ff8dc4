// SPDX-License-Identifier: Apache-2.0
//
// Event types. To a model an event is a plain struct. This header gives each such struct its
// identity (a hash of its qualified name, computed at compile time), so that event types need no
// registration, mean the same in every translation unit, shared object and rank, and may enter the
// fingerprint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace orrery {

/// Number of a logical process: 0 .. Model::lp_count() - 1.
using LpId = std::uint32_t;

/// Identity of an event type. 0 is reserved for "start of the run".
using EventTypeId = std::uint32_t;

namespace detail {

template <class T>
constexpr std::string_view type_name() {
  // gcc prints "... [with T = X; ...]", clang "... [T = X]": take X.
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::size_t start = text.find("T = ") + 4;
  constexpr std::size_t semicolon = text.find(';', start);
  constexpr std::size_t end = semicolon == std::string_view::npos ? text.rfind(']') : semicolon;
  return text.substr(start, end - start);
}

/// FNV-1a, 32 bit. Skips anonymous namespaces, since compilers spell them differently.
constexpr EventTypeId hash_type_name(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  while (!name.empty()) {
    bool skipped = false;
    for (const std::string_view spelling : {"{anonymous}::", "(anonymous namespace)::"}) {
      if (!name.starts_with(spelling)) continue;
      name.remove_prefix(spelling.size());
      skipped = true;
    }
    if (skipped) continue;
    hash = (hash ^ static_cast<unsigned char>(name.front())) * 16777619u;
    name.remove_prefix(1);
  }
  return hash == 0 ? 1 : hash;
}

/// The name without its namespaces.
constexpr std::string_view unqualified(std::string_view name) {
  const std::size_t end = name.find('<');
  const std::size_t colon = name.substr(0, end).rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

}  // namespace detail

/// An event type is a trivially copyable struct of any size; schedule() copies its bytes, which are
/// never shared.
template <class E>
concept EventPayload = std::is_trivially_copyable_v<E> && std::is_class_v<E>;

namespace detail {

/// Reports a wrong event type in one sentence, before any other error of the compiler.
template <class E>
constexpr bool check_event() {
  constexpr bool complete = requires {
    sizeof(E);
  };
  static_assert(complete, "define the event type before the class that lists it");
  if constexpr (complete) {
    static_assert(std::is_class_v<E>, "an event type is a struct: wrap the value in one");
    static_assert(!std::is_class_v<E> || std::is_trivially_copyable_v<E>,
                  "an event type must be trivially copyable: its bytes are copied, so it cannot "
                  "hold a std::string, a std::vector or anything else that owns memory; use "
                  "numbers and arrays of fixed size (char[32], std::array)");
    return EventPayload<E>;
  }
  return false;
}

}  // namespace detail

template <EventPayload E>
inline constexpr std::string_view event_type_name = detail::unqualified(detail::type_name<E>());

template <EventPayload E>
inline constexpr EventTypeId event_type_id = detail::hash_type_name(detail::type_name<E>());

/// Payload bytes of an event of this type: 0 for an empty struct.
template <EventPayload E>
inline constexpr std::uint32_t event_payload_bytes = std::is_empty_v<E> ? 0 : sizeof(E);

/// Whether the type has `static constexpr bool silent = true;`. Silent events do not enter the
/// fingerprint, neither their occurrence nor their time. They are for events that only help
/// execution (a poll for work); the rows and values that their handlers emit and record count as
/// usual.
template <EventPayload E>
inline constexpr bool event_is_silent = [] {
  if constexpr (requires { E::silent; }) return bool{E::silent};
  return false;
}();

/// Of the events at one instant, those of a lower phase come first, whatever their senders; 0 to 15.
class Phase {
 public:
  static constexpr unsigned kMost = 15;

  /// Throws std::invalid_argument for other numbers.
  constexpr explicit Phase(unsigned number) : number_(number) {
    if (number > kMost) refuse(number);
  }
  constexpr unsigned number() const { return number_; }

 private:
  [[noreturn]] static void refuse(unsigned number);
  unsigned number_;
};

namespace detail {

/// In place of a phase: none is named.
inline constexpr int kNoPhase = -1;

/// Whether the type has a static member `phase`: its address is no pointer to member.
template <class E>
concept HasStaticPhase = requires {
  requires std::is_convertible_v<decltype(&E::phase), const void*>;
};

}  // namespace detail

/// N if the type has `static constexpr unsigned phase = N;`: the phase of all events of the type that
/// name no other. Else detail::kNoPhase.
template <EventPayload E>
inline constexpr int event_phase = [] {
  if constexpr (detail::HasStaticPhase<E>) {
    if constexpr (std::is_same_v<decltype(E::phase), const Phase>)
      return static_cast<int>(E::phase.number());
    else
      return static_cast<int>(E::phase);
  } else {
    return detail::kNoPhase;
  }
}();

/// Whether equal values have equal bytes (no padding, no floating point). Only then do the bytes
/// enter the fingerprint.
template <EventPayload E>
inline constexpr bool event_payload_is_hashed =
    !std::is_empty_v<E> && std::has_unique_object_representations_v<E>;

}  // namespace orrery
