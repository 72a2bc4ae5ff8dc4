// SPDX-License-Identifier: Apache-2.0
#include "core/float_environment.h"

#include "memory/platform_local.h"

namespace orrery {

/// Thread-local like the environment itself.
FloatsLeft& floats_left() {
  static constinit thread_local FloatsLeft left;
  return left;
}
static const memory::PlatformLocal floats_is_of_the_platform([] { return &floats_left(); });

void restore_default_floats() {
  floats_left() = {true, FloatControl::now()};
  std::fesetenv(FE_DFL_ENV);
}

std::string describe(const FloatControl& control) {
  std::string text;
  const auto add = [&](const char* part) {
    text += (text.empty() ? "" : ", ") + std::string(part);
  };
  const auto add_rounding = [&](const char* name, unsigned mode) {
    const char* const ways[] = {"to nearest", "downward", "upward", "toward zero"};
    if (mode != 0) add((std::string(name) + ways[mode]).c_str());
  };
#if defined(__x86_64__)
  const FloatControl usual;
  const unsigned sse = control.sse >> 13 & 3, x87 = control.x87 >> 10 & 3;
  add_rounding("the rounding mode ", sse);
  if (x87 != sse) add_rounding("the rounding mode of long double ", x87);
  if (((control.sse ^ usual.sse) & 0x1f80) != 0 || ((control.x87 ^ usual.x87) & 0x3f) != 0)
    add("floating-point exceptions that are trapped");
  if ((control.sse & 0x8040) != 0) add("subnormal numbers taken for zero");
  if (((control.x87 ^ usual.x87) & 0x300) != 0) add("another precision of long double");
#else
  add_rounding("the rounding mode ", control.rounding == FE_DOWNWARD ? 1
                                     : control.rounding == FE_UPWARD ? 2
                                                                     : 3);
#endif
  return text.empty() ? "another floating-point environment" : text;
}

}  // namespace orrery
