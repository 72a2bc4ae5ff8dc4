// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment of a thread: rounding mode, trapped exceptions, flush-to-zero,
// precision. It belongs to the thread, not to an LP, so what model code leaves in it would change
// the results of whatever runs there next, other LPs and the merging of metrics. Hence all model
// code starts in the default environment on every engine, and whatever it leaves is put back.
//
// Looked at after each handler, so it must cost next to nothing: two words of the processor are
// stored and compared, and only a changed environment is written (which waits for the pipeline).
// The flags of exceptions that were raised are not put back: nearly every operation raises
// "inexact", and clearing it would be such a write for each event.
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

/// What model code has left that was put back, by this thread: for the checker, which tells.
struct FloatsLeft {
  bool seen = false;
  FloatControl control;
};
FloatsLeft& floats_left();

/// "the rounding mode upward", for messages.
std::string describe(const FloatControl& control);

/// Puts the default environment back, flags included, and notes what there was.
[[gnu::cold, gnu::noinline]] void restore_default_floats();

[[gnu::always_inline]] inline void ensure_default_floats() {
  if (FloatControl::now() != FloatControl{}) [[unlikely]]
    restore_default_floats();
}

/// Around a call of model code, however it ends.
class FloatGuard {
 public:
  FloatGuard() = default;
  FloatGuard(const FloatGuard&) = delete;
  FloatGuard& operator=(const FloatGuard&) = delete;
  [[gnu::always_inline]] ~FloatGuard() { ensure_default_floats(); }
};

}  // namespace orrery
