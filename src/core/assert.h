// SPDX-License-Identifier: Apache-2.0
//
// Assertions of invariants: active in the presets debug, asan and tsan (a build without NDEBUG),
// compiled away in releases. A violation is an error of the platform, not of the model: it prints
// the violated condition and aborts, whatever mode the thread is in. Conditions may cost time, but
// must have no effects.
#pragma once

namespace orrery::detail {
/// Prints and aborts. Allocates nothing: it may be called in application mode.
[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(const char* condition,
                                                             const char* what, const char* file,
                                                             int line) noexcept;
}  // namespace orrery::detail

namespace orrery {
#ifdef NDEBUG
inline constexpr bool kAssertions = false;
#else
inline constexpr bool kAssertions = true;
#endif
}  // namespace orrery

/// `what`: the invariant in words, for the message: "GVT never goes back".
#define ORRERY_ASSERT(condition, what)                                            \
  do {                                                                            \
    if constexpr (::orrery::kAssertions) {                                        \
      if (!(condition)) [[unlikely]]                                              \
        ::orrery::detail::assertion_failed(#condition, what, __FILE__, __LINE__); \
    }                                                                             \
  } while (false)
