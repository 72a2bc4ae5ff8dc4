// SPDX-License-Identifier: Apache-2.0
//
// Logical threads of the explorer: fibers, which one operating-system thread runs in turn.
// Switching costs a fraction of a microsecond where handing a baton between real threads costs
// several, and the explorer switches millions of times. The sanitizers are told of every switch.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace orrery::explore {

class Fiber {
 public:
  /// Stands for the thread that calls it.
  Fiber();
  /// `body` must never return; it is dropped where it stands when the fiber is destroyed.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on in `to`, until somebody switches back to this one, which is running now.
  void switch_to(Fiber& to);

 private:
  static constexpr std::size_t kStackBytes = 256 * 1024;
  static void enter(unsigned upper, unsigned lower);

  ucontext_t context_{};
  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  void* stack_begin_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  ///< address sanitizer's
  void* twin_ = nullptr;        ///< thread sanitizer's
};

}  // namespace orrery::explore
