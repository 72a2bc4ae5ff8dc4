// SPDX-License-Identifier: Apache-2.0
//
// Which sanitizer a test is built with: for what takes longer there, or what the sanitizer does
// itself.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace orrery::testing {

inline constexpr bool kAddressSanitizer =
#if defined(__SANITIZE_ADDRESS__)
    true;
#else
    false;
#endif
inline constexpr bool kThreadSanitizer =
#if defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif
inline constexpr bool kSanitizers = kAddressSanitizer || kThreadSanitizer;

/// What the thread allocates in its scope need not be freed: memory of the system that a handler
/// frees stays allocated, for instance.
class LeaksAllowed {
 public:
#if defined(__SANITIZE_ADDRESS__)
  LeaksAllowed() {
    __lsan_disable();
  }
  ~LeaksAllowed() {
    __lsan_enable();
  }
#else
  LeaksAllowed() {}
  ~LeaksAllowed() {}
#endif
  LeaksAllowed(const LeaksAllowed&) = delete;
  LeaksAllowed& operator=(const LeaksAllowed&) = delete;
};

}  // namespace orrery::testing
