// SPDX-License-Identifier: Apache-2.0
//
// Waits that combine: any_of ends with the first of several waits, all_of with the last. A model
// includes orrery/process.h.
//
//   const auto got = co_await any_of(desk_.acquire(), closing_.wait(), delay(Duration::minutes(5)));
//   if (got.index() == 2) co_return;                  // five minutes have passed
//
// The parts lie in the frame of the process, as temporaries of the statement with co_await, and
// stand in the same lists as they would alone. A group only is where they report to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "orrery/process_kernel.h"
#include "orrery/process_waits.h"

namespace orrery {
namespace detail {

/// A delay as a part of a group: it ends by a timer, which can be cancelled.
class TimedWait final : public ListedWait {
 public:
  explicit TimedWait(const Delay& delay) : duration_(delay.duration_), phase_(delay.phase_) {}
  void await_resume() const { settle(); }

 private:
  bool begin() override {
    start_clock(duration_, phase_);
    wait();
    return true;
  }
  const Duration duration_;
  const std::optional<Phase> phase_;
};

template <class Part>
using PartOf = std::conditional_t<std::is_same_v<Part, Delay>, TimedWait, Part&>;

/// What a part returns; std::monostate for nothing.
template <class Part>
auto value_of(Part& part) {
  if constexpr (std::is_void_v<decltype(part.await_resume())>) {
    part.await_resume();
    return std::monostate();
  } else {
    return part.await_resume();
  }
}
template <class Part>
using ValueOf = decltype(value_of(std::declval<std::remove_reference_t<PartOf<Part>>&>()));

template <class... Parts>
class GroupOf : public WaitGroup {
 protected:
  GroupOf(bool needs_all, Parts&... parts)
      : WaitGroup(needs_all),
        parts_(parts...),
        list_(std::apply([](auto&... each) { return List{&each...}; }, parts_)) {}
  ~GroupOf() override = default;

  std::tuple<PartOf<Parts>...> parts_;

 private:
  using List = std::array<ListedWait*, sizeof...(Parts)>;
  std::span<ListedWait* const> parts() final { return list_; }
  List list_;
};

template <class... Parts>
class AnyOf final : public GroupOf<Parts...> {
 public:
  using Value = std::variant<ValueOf<Parts>...>;
  explicit AnyOf(Parts&... parts) : GroupOf<Parts...>(false, parts...) {}
  Value await_resume() {
    this->settle();
    return value<0>();
  }

 private:
  template <std::size_t i>
  Value value() {
    if constexpr (i + 1 < sizeof...(Parts))
      if (this->first() != i) return value<i + 1>();
    return Value(std::in_place_index<i>, value_of(std::get<i>(this->parts_)));
  }
};

template <class... Parts>
class AllOf final : public GroupOf<Parts...> {
 public:
  explicit AllOf(Parts&... parts) : GroupOf<Parts...>(true, parts...) {}
  std::tuple<ValueOf<Parts>...> await_resume() {
    this->settle();
    return std::apply(
        [](auto&... each) { return std::tuple<ValueOf<Parts>...>{value_of(each)...}; },
        this->parts_);
  }
};

template <class Part>
constexpr bool is_part = std::is_base_of_v<ListedWait, Part> || std::is_same_v<Part, Delay>;

template <class... Parts>
constexpr void check_parts() {
  static_assert(sizeof...(Parts) > 0 && sizeof...(Parts) <= 64, "a group has 1 to 64 parts");
  static_assert((is_part<std::remove_cvref_t<Parts>> && ...),
                "any_of() and all_of() take waits such as delay(d), servers.acquire(), "
                "mailbox.receive(); of a coroutine, ended(spawn(...))");
  static_assert((!std::is_lvalue_reference_v<Parts> && ...),
                "any_of() and all_of() take waits that are written in the call itself");
}

inline bool WaitGroup::begin() {
  is_looping_ = true;
  for (ListedWait* part : parts()) {
    part->process_ = process_;
    part->group_ = this;
    if (!part->begin()) mark(begun_);
    ++begun_;
    if (!needs_all_ && fulfilled_ != 0) break;
  }
  is_looping_ = false;
  if (end_if_over()) return false;
  wait();
  return true;
}

inline void WaitGroup::mark(std::size_t part) {
  if (fulfilled_ == 0) first_ = part;
  fulfilled_ |= std::uint64_t{1} << part;
}

/// Returns whether the group is fulfilled; ends the other parts then.
inline bool WaitGroup::end_if_over() {
  const auto all =
      parts().size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << parts().size()) - 1;
  if (needs_all_) return fulfilled_ == all;
  if (fulfilled_ == 0) return false;
  end_parts(first_);
  return true;
}

/// Ends all parts but one.
inline void WaitGroup::end_parts(std::size_t kept) {
  is_looping_ = true;
  for (std::size_t i = 0; i < begun_; ++i) {
    if (i == kept) continue;
    ListedWait* const part = parts()[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    (fulfilled_ & bit) != 0 ? part->give_back() : part->withdraw();
    fulfilled_ &= ~bit;
  }
  is_looping_ = false;
}

inline void WaitGroup::part_fulfilled(const ListedWait& part) {
  const auto all = parts();
  mark(static_cast<std::size_t>(std::find(all.begin(), all.end(), &part) - all.begin()));
  if (!is_looping_ && end_if_over()) fulfil();
}

inline bool WaitGroup::on_clock() {
  is_looping_ = true;
  for (std::size_t i = 0; i < begun_; ++i) {
    ListedWait* const part = parts()[i];
    if ((fulfilled_ >> i & 1) != 0 || !part->on_clock()) continue;
    part->woken_ = Woken::by_clock;
    mark(i);
    break;
  }
  is_looping_ = false;
  return end_if_over();
}

inline void WaitGroup::withdraw() {
  end_parts(begun_);
}
inline void WaitGroup::give_back() {
  end_parts(begun_);
}

}  // namespace detail

/// `co_await any_of(waits...)`: resumes with the first that is fulfilled; the others are withdrawn,
/// as if their process had given up waiting. Returns a std::variant with the value of that wait at
/// its place: `index()` says which. Of several that are fulfilled at once the first in the list is
/// taken. A wait without a value has std::monostate.
template <class... Parts>
[[nodiscard("co_await it")]] detail::AnyOf<std::remove_cvref_t<Parts>...> any_of(Parts&&... parts) {
  detail::check_parts<Parts...>();
  return detail::AnyOf<std::remove_cvref_t<Parts>...>(parts...);
}

/// `co_await all_of(waits...)`: resumes when all are fulfilled, with their values as a std::tuple.
/// What is fulfilled early is held meanwhile. If the process is interrupted before the last, servers
/// are released, received values are the next in their mailbox again, and amounts return to their
/// container.
template <class... Parts>
[[nodiscard("co_await it")]] detail::AllOf<std::remove_cvref_t<Parts>...> all_of(Parts&&... parts) {
  detail::check_parts<Parts...>();
  return detail::AllOf<std::remove_cvref_t<Parts>...>(parts...);
}

namespace detail {
// Found without `orrery::`, since the waits are of this namespace.
using orrery::all_of;
using orrery::any_of;
}  // namespace detail
}  // namespace orrery
