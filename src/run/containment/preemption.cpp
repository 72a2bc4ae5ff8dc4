// SPDX-License-Identifier: Apache-2.0
#include "run/containment/preemption.h"

#include <locale.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/cycles.h"
#include "core/float_environment.h"
#include "memory/application_mode.h"
#include "memory/outside_calls.h"
#include "memory/platform_local.h"
#include "memory/text_buffers.h"
#include "run/containment/activity.h"
#include "run/containment/guarded_call.h"

namespace orrery {
namespace {

/// The calling thread's object. Read by its signal handlers, which see the compiler's order.
constinit thread_local Preemptible* current [[gnu::tls_model("local-exec")]] = nullptr;
const memory::PlatformLocal current_is_of_the_platform([] { return &current; });

/// Longest time from a heeded tick to the next one, if ticks are rare.
constexpr long kSoonNanoseconds = 5'000'000;

}  // namespace

/// Saves and restores the state that an interrupted handler would otherwise lose.
class Preemptible::Aside {
 public:
  explicit Aside(const Preemptible& thread)
      : thread_(thread), copy_(new std::byte[thread.locals_bytes_]) {
    std::byte* to = copy_.get();
    for (const Extent& part : thread_.locals_) {
      std::memcpy(to, part.begin, part.bytes);
      to += part.bytes;
    }
    std::fegetenv(&floats_);
    std::fesetenv(FE_DFL_ENV);
    locale_ = uselocale(LC_GLOBAL_LOCALE);
  }
  ~Aside() {
    uselocale(locale_);
    memory::text_buffers = texts_;
    std::fesetenv(&floats_);
    const std::byte* from = copy_.get();
    for (const Extent& part : thread_.locals_) {
      std::memcpy(part.begin, from, part.bytes);
      from += part.bytes;
    }
    heap_misuse() = misuse_;
    set_exceptions(exceptions_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  static detail::Exceptions set_exceptions(const detail::Exceptions& exceptions) {
    const detail::Exceptions before = detail::exceptions();
    detail::set_exceptions(exceptions);
    return before;
  }
  const Preemptible& thread_;
  const detail::Exceptions exceptions_ = set_exceptions({});
  const HeapMisuseNote misuse_ = std::exchange(heap_misuse(), {});
  std::unique_ptr<std::byte[]> copy_;
  const memory::TextBuffers texts_ = memory::text_buffers;
  std::fenv_t floats_{};
  locale_t locale_{};
};

/// Called in application mode, and returns in it, unless the handler is dropped.
void Preemptible::interrupt(StackRoom room) {
  const int error = errno;
  memory::LpHeap& heap = *memory::running_heap();
  memory::leave_application_mode();
  bool goes_on = false;
  {
    const Aside aside(*this);
    goes_on = preemptor_.look_around(room == StackRoom::for_a_handler);
  }
  if (!goes_on) squash();  // in platform mode, so that it is not interrupted again
  memory::enter_application_mode(heap);
  errno = error;
}

bool Preemptible::may_interrupt(const void* instruction, StackRoom room) const {
  return memory::may_be_preempted() && memory::thread_context.locks == 0 &&
         model_calls.place != nullptr && room != StackRoom::none &&
         (instruction == nullptr || text_.contains(instruction));
}

void Preemptible::on_look(const void* caller) {
  Preemptible* const thread = current;
  const StackRoom room = stack_room(__builtin_frame_address(0));
  if (thread != nullptr && thread->may_interrupt(caller, room) &&
      thread->preemptor_.may_interrupt())
    thread->interrupt(room);
}

void Preemptible::on_signal(const void* context, bool is_tick) {
  Preemptible* const thread = current;
  if (!kPossible || thread == nullptr) return;
  if (is_tick) thread->on_tick();
  if (!memory::attention_asked(memory::kLook)) return;
  const CodePoint at = code_point(context);
  const StackRoom room = stack_room(at.stack_pointer);
  if (thread->may_interrupt(at.instruction, room) && thread->preemptor_.may_interrupt()) {
    thread->refusals_ = 0;
    let_in_attention_signal();
    thread->interrupt(room);
  } else if (memory::running_heap() != nullptr) {
    thread->ask_again();
  }
}

/// A tick sets the next one, instead of a repeating timer, which would send ticks to threads that
/// wait for a core, at the cost of running threads (8 threads on two cores, a tick of 50 us: 11 s
/// instead of 3). An idle thread needs few ticks.
void Preemptible::on_tick() {
  constexpr long kIdleTicks = 16;
  const bool heeds = preemptor_.heeds_tick();
  if (heeds) memory::ask_attention(memory::kLook);
  if (preemptor_.is_idle()) {
    tick_in(std::max(every_, std::min(kIdleTicks * every_, kSoonNanoseconds)));
  } else {
    tick_in(heeds ? std::min(every_, kSoonNanoseconds) : every_);
  }
}

/// Asks again when the handler may have left the library, released its lock, or made progress since
/// the last interruption. The interval grows with the number of refusals.
void Preemptible::ask_again() {
  constexpr long kNanoseconds = 100'000;
  constexpr unsigned kAtOnce = 32, kDoublings = 6;
  if (!has_tick_) return;
  const unsigned doublings = std::min(refusals_++ / kAtOnce, kDoublings);
  tick_in(kNanoseconds << doublings);
}

/// 0: no tick.
void Preemptible::tick_in(long nanoseconds) {
  const itimerspec soon{{0, 0}, {0, nanoseconds}};
  timer_settime(tick_, 0, &soon, nullptr);
}

// ---- A thread's part

Preemptible::Preemptible(Preemptor& preemptor, const ModelText& text, double tick_seconds)
    : preemptor_(preemptor), text_(text) {
  find_locals();
  if (locals_bytes_ > kMostLocalsBytes) return;
  current = this;
  model_calls.on_look = on_look;
  memory::thread_context.growth_attention = memory::kLook;
  if (!kPossible || tick_seconds <= 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kAttentionSignal;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  every_ = static_cast<long>(tick_seconds * 1e9);
  has_tick_ = timer_create(CLOCK_MONOTONIC, &event, &tick_) == 0;
  if (has_tick_) tick_in(every_);
}

namespace {

/// The shortest of several measurements.
std::uint64_t cycles_of_a_loop() {
  constexpr int kTimes = 4, kSteps = 1'000'000;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < kTimes; ++i) {
    const std::uint64_t start = read_cycles();
    for (int step = 0; step < kSteps; ++step) asm volatile("" : "+r"(step));
    least = std::min(least, read_cycles() - start);
  }
  return least;
}

}  // namespace

double Preemptible::tick_share() {
  if (!has_tick_) return 0;
  const std::uint64_t with = cycles_of_a_loop();
  tick_in(0);
  const std::uint64_t without = cycles_of_a_loop();
  tick_in(every_);
  return with <= without ? 0 : static_cast<double>(with - without) / static_cast<double>(with);
}

Preemptible::~Preemptible() {
  if (has_tick_) timer_delete(tick_);
  model_calls.on_look = nullptr;
  memory::thread_context.growth_attention = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  current = nullptr;
  memory::end_attention(memory::kLook);
}

/// All thread-local variables of the model's module except the platform's, if both are in one
/// executable.
void Preemptible::find_locals() {
  const std::byte* at = text_.locals();
  if (at == nullptr) return;
  const std::byte* const end = at + text_.locals_bytes();
  std::vector<Extent> kept_out;
  memory::PlatformLocal::for_each([&kept_out](void* variable, std::size_t bytes) {
    kept_out.push_back({static_cast<std::byte*>(variable), bytes});
  });
  std::sort(kept_out.begin(), kept_out.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  const auto add_until = [&](const std::byte* until) {
    if (until <= at) return;
    const auto bytes = static_cast<std::size_t>(until - at);
    locals_.push_back({const_cast<std::byte*>(at), bytes});
    locals_bytes_ += bytes;
  };
  for (const Extent& part : kept_out) {
    if (part.begin < at || part.begin >= end) continue;
    add_until(part.begin);
    at = part.begin + part.bytes;
  }
  add_until(end);
}

}  // namespace orrery
