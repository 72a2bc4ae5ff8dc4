// SPDX-License-Identifier: Apache-2.0
//
// Fibers on ucontext, with what the sanitizers want to know about them.
#include "explore/fiber.h"

#include <pthread.h>

#include <cstdint>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace orrery::explore {

Fiber::Fiber() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack_begin_, &stack_bytes_);
  pthread_attr_destroy(&attributes);
#if defined(__SANITIZE_THREAD__)
  twin_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)),
      stack_(new std::byte[kStackBytes]),
      stack_begin_(stack_.get()),
      stack_bytes_(kStackBytes) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_begin_;
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  // makecontext passes ints: the pointer goes in two halves.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
#if defined(__SANITIZE_THREAD__)
  twin_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  if (stack_ != nullptr) __tsan_destroy_fiber(twin_);
#endif
}

void Fiber::switch_to(Fiber& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fake_stack_, to.stack_begin_, to.stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.twin_, 0);
#endif
  swapcontext(&context_, &to.context_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::enter(unsigned upper, unsigned lower) {
  auto* self = reinterpret_cast<Fiber*>((std::uintptr_t{upper} << 32) | lower);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  self->body_();
}

}  // namespace orrery::explore
