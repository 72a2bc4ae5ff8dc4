// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment of a thread: rounding mode, trapped exceptions, flush-to-zero,
// precision. It belongs to the thread, not to an LP, so changes by model code would alter the
// results of other LPs and of the merging of metrics on the thread. Hence all model code starts in
// the default environment on every engine, and the platform restores it afterwards.
//
// The check after each handler must cost next to nothing: it stores and compares two words of the
// processor, and writes only a changed environment (which waits for the pipeline). The flags of
// raised exceptions are not restored: nearly every operation raises "inexact", and clearing it
// would be such a write for each event.
#pragma once

#include <cfenv>
#include <cstdint>
#include <string>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orrery {

/// The control bits of the environment.
struct FloatControl {
#if defined(__x86_64__)
  static constexpr std::uint32_t kSseMask = 0xffc0;  ///< MXCSR without the flags
  std::uint32_t sse = 0x1f80;
  std::uint16_t x87 = 0x037f;  ///< the whole control word

  [[gnu::always_inline]] static FloatControl now() {
    std::uint16_t word;
    asm volatile("fnstcw %0" : "=m"(word));
    return {_mm_getcsr() & kSseMask, word};
  }
#else
  int rounding = FE_TONEAREST;

  static FloatControl now() {
    return {std::fegetround()};
  }
#endif
  bool operator==(const FloatControl&) const = default;
};

/// The last changed environment that this thread has restored after model code: for the checker,
/// which reports it.
struct FloatsLeft {
  bool seen = false;
  FloatControl control;
};
FloatsLeft& floats_left();

/// "the rounding mode upward", for messages.
std::string describe(const FloatControl& control);

/// Restores the default environment, flags included, and notes the changed one.
[[gnu::cold, gnu::noinline]] void restore_default_floats();

[[gnu::always_inline]] inline void ensure_default_floats() {
  if (FloatControl::now() != FloatControl{}) [[unlikely]]
    restore_default_floats();
}

/// Restores the default environment after a call of model code, also after an exception.
class FloatGuard {
 public:
  FloatGuard() = default;
  FloatGuard(const FloatGuard&) = delete;
  FloatGuard& operator=(const FloatGuard&) = delete;
  [[gnu::always_inline]] ~FloatGuard() { ensure_default_floats(); }
};

}  // namespace orrery
