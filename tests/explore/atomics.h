// SPDX-License-Identifier: Apache-2.0
//
// The policy that the production headers get instead of transport::StandardAtomics: an atomic whose
// every operation is a point at which another thread of the scenario may go on. It offers what the
// protocols use, with the order always given: a protocol that asks for more does not compile.
#pragma once

#include <atomic>
#include <type_traits>

#include "explore/execution.h"

namespace orrery::explore {

template <class T>
class Atomic {
  static_assert(std::is_integral_v<T> && sizeof(T) <= 8);

 public:
  Atomic(T initial = {}) : at_(word(initial)) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order) const { return static_cast<T>(run().load(at_, order)); }
  void store(T value, std::memory_order order) { run().store(at_, word(value), order); }
  T fetch_add(T operand, std::memory_order order) {
    return modify(Operation::Kind::fetch_add, operand, order);
  }
  T fetch_or(T operand, std::memory_order order) {
    return modify(Operation::Kind::fetch_or, operand, order);
  }
  T fetch_and(T operand, std::memory_order order) {
    return modify(Operation::Kind::fetch_and, operand, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    std::uint64_t found = word(expected);
    const bool exchanged = run().compare_exchange(at_, found, word(desired), order);
    expected = static_cast<T>(found);
    return exchanged;
  }

 private:
  static std::uint64_t word(T value) { return static_cast<std::uint64_t>(value); }
  static Execution& run() { return Execution::active(); }
  T modify(Operation::Kind kind, T operand, std::memory_order order) {
    return static_cast<T>(run().modify(at_, kind, word(operand), order));
  }

  mutable Location at_;
};

struct Atomics {
  template <class T>
  using atomic = Atomic<T>;
};

}  // namespace orrery::explore
