// SPDX-License-Identifier: Apache-2.0
//
// LpChecker: executing and checking. lp_checker_rollback.cpp rolls back, lp_checker_report.cpp
// makes the sentences of findings.
#include "engine/checker/lp_checker.h"

#include <alloca.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstring>

#include "checkpoint/options.h"
#include "core/float_environment.h"
#include "core/logical_process_access.h"
#include "memory/application_mode.h"
#include "memory/outside_calls.h"
#include "orrery/error.h"
#include "run/execution/final_execution.h"

namespace orrery::checker {
namespace {

constexpr std::int64_t kClockShiftSeconds = 100'003;
constexpr std::uintptr_t kFloorBytes = 32 * 1024;

/// Sets errno and the flags of floating-point exceptions, which are opposite in the two worlds:
/// earlier calls by other code leave them in the thread, so no handler may read them before it has
/// set them itself.
void leave_marks(bool raised) {
  std::feclearexcept(FE_ALL_EXCEPT);
  if (raised) std::feraiseexcept(FE_ALL_EXCEPT);
  errno = raised ? EDOM : 0;
}

}  // namespace

LpChecker::LpChecker(const Model& model, const Promises& promises, const LpExecutions& executions,
                     const RunOptions& options)
    : model_(model),
      executions_(executions),
      names_{model, [this](LpId id, EventTypeId type) { return event_name(id, type); }},
      twins_(options.seed * 0x9e3779b97f4a7c15u + 1),
      data_(model),
      plan_(options.get(checkpoint::kCheckpoint), blocks_),
      random_state_(options.seed),
      // Sends at or after the horizon are compared, too, since a longer run executes them.
      execution_(model, promises, options.without_horizon(), Outbox{}) {
  const auto lps = static_cast<LpId>(model.lp_count());
  lps_.reserve(lps);
  for (LpId id = 0; id < lps; ++id) {
    CheckedLp& lp = lps_.emplace_back(arena_, twin_arena_);
    lp.turn = id;
    save(lp.memory.heap, lp.other);
  }
  memory::outside_calls.watching = true;
}

LpChecker::~LpChecker() {
  memory::outside_calls = {};
  for (CheckedLp& lp : lps_) {
    drop_episode(lp);
    // If the run ended for lack of memory, this frees some for the lists of allocation steps.
    lp.other = {};
    lp.twin_image = {};
    std::vector<AllocationStep> steps;
    if (lp.broken) continue;
    guard_.begin(lp.memory, lp.world, lp.world, steps, nullptr);
    memory::thread_context.observer = &guard_;
    memory::enter_application_mode(nowhere_);
    delete lp.object;
    memory::leave_application_mode();
    twins_.begin(lp.twin_heap);
    memory::thread_context.observer = &twins_;
    memory::enter_application_mode(nowhere_);
    delete lp.twin;
    memory::leave_application_mode();
  }
  memory::thread_context.observer = nullptr;
}

std::uint64_t LpChecker::random_number() {
  std::uint64_t z = random_state_ += 0x9e3779b97f4a7c15u;  // splitmix64 (Steele et al. 2014)
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t LpChecker::memory_bytes() const {
  return arena_.taken_bytes() + twin_arena_.taken_bytes() + blocks_.used_bytes() + plan_.bytes();
}

// ---- Executing
// -----------------------------------------------------------------------------------

void LpChecker::execute(const Job& job, WorldIndex world, WorldIndex stack_world, Effects& out) {
  CheckedLp& lp = lps_[job.lp];
  out.begin(world, lp.kernel);
  execution_.outbox().effects = &out;
  execution_.outbox().stack_world = stack_world;
  if (world == kTwin) {
    twins_.begin(lp.twin_heap);
    memory::thread_context.observer = &twins_;
  } else {
    guard_.begin(lp.memory, world, stack_world, out.steps,
                 static_cast<const std::byte*>(__builtin_frame_address(0)) + 16);
    memory::thread_context.observer = &guard_;
  }
  memory::outside_calls.shift_seconds = world == 1 ? kClockShiftSeconds : 0;
  if (floor_ == 0)
    floor_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - kFloorBytes;
  begin(job, world);
  running_ = &job;
  floats_left().seen = false;
  leave_marks((world == 1) != other_marks_);
  call_at_floor();
  running_ = nullptr;
  if (floats_left().seen) note_floats(job);
  const bool handled = job.kind == Job::Kind::start || job.kind == Job::Kind::event;
  if (handled && out.fault.empty()) execution_.end(out.kernel);
  statistics_.outside_calls |= memory::outside_calls.seen;
  ++statistics_.executions;
  // A failure for lack of memory or the like, in one execution, says nothing about the model.
  if (tells_system_failure(out.fault)) throw Finding{out.fault};
}

void LpChecker::begin(const Job& job, WorldIndex world) {
  const CheckedLp& lp = lps_[job.lp];
  LogicalProcessBase* const object = world == kTwin ? lp.twin : lp.object;
  execution_.set_reversing(reversing_);
  if (job.kind == Job::Kind::start) execution_.begin_start(job.lp, *object, lp.kernel);
  if (job.kind == Job::Kind::event)
    execution_.begin(*job.event, payload_in(*job.event, world), *object, lp.kernel);
}

/// Notes that a handler has left a changed floating-point environment. This is harmless, since the
/// platform resets it, but it does not have the effect that its author may expect.
void LpChecker::note_floats(const Job& job) {
  if (!statistics_.floats_left.empty()) return;
  statistics_.floats_left =
      describe_event(model_, job.lp, name_of(job), job.key.time()) + " leaves " +
      describe(floats_left().control) +
      " to those that run after it; the platform puts the default back after each handler, so set "
      "it where it is needed, in each handler";
}

/// Moves the stack pointer to the floor, the same address each time, and calls the handler there.
[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined"))) void
LpChecker::call_at_floor() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  void* const gap = alloca(here > floor_ ? (here - floor_) / 16 * 16 : 16);
  asm volatile("" : : "r"(gap) : "memory");
  scrub_stack(execution_.outbox().stack_world);
  invoke();
}

/// A separate function, so that the registers that the handler may save on the stack have the same
/// contents in each execution.
[[gnu::noinline]] void LpChecker::invoke() {
  guarded_call(
      nowhere_, [this] { call(); },
      [this] { execution_.outbox().effects->fault = describe_failure(); });
}

void LpChecker::call() {
  const Job& job = *running_;
  Effects& effects = *execution_.outbox().effects;
  CheckedLp& lp = lps_[job.lp];
  LogicalProcessBase*& object = effects.world == kTwin ? lp.twin : lp.object;
  if (job.kind == Job::Kind::create) {
    object = nullptr;
    object = create_lp(model_, job.lp).release();
  } else if (job.kind == Job::Kind::start) {
    execution_.call_start();
  } else if (job.kind == Job::Kind::finish) {
    FinalExecution last(model_, job.key.time(), job.lp, *object, lp.kernel.hash, &effects.rows,
                        &effects.observations, left_out_);
    last.call();
    effects.kernel.hash = last.hash();
  } else {
    execution_.call();
  }
  // Prevents a tail call: the handler's variables would lie where this function has left its data
  // on the stack, instead of in the world's pattern.
  asm volatile("" : : : "memory");
}

/// The sentence for the current exception, as on the other engines.
std::string LpChecker::describe_failure() {
  const Job& job = *running_;
  if (job.kind == Job::Kind::create) {
    try {
      throw;
    } catch (const UsageError& error) {
      usage_error_ = error.what();  // not a fault: check() lets it through to the caller
      return usage_error_;
    } catch (...) {
      return describe_current_exception(model_, job.lp, {}, job.key.time());
    }
  }
  return describe_current_exception(model_, job.lp, name_of(job), job.key.time());
}

/// The job's name in messages; empty for create and start.
std::string LpChecker::name_of(const Job& job) const {
  return job.kind == Job::Kind::event    ? event_name(job.lp, job.event->type)
         : job.kind == Job::Kind::finish ? "finish()"
                                         : "";
}

std::string LpChecker::event_name(LpId id, EventTypeId type) const {
  if (id >= lps_.size() || lps_[id].object == nullptr) return "of an unknown type";
  // From the twin, because an overrun may have damaged the LP itself.
  return std::string(name_of_event(twin(id), type));
}

// ---- Checking
// ------------------------------------------------------------------------------------

bool LpChecker::check(const Job& job) {
  if (!repeats(job.lp)) return check_once(job);
  CheckedLp& lp = lps_[job.lp];
  memory::outside_calls.seen = 0;
  save(lp.memory.heap, before_);
  if (job.kind != Job::Kind::create) verify_untouched(job);
  if (job.kind == Job::Kind::event) {
    begin_episode(lp);
  } else {
    drop_episode(lp);
  }
  for (bool repeated = false;; repeated = true) {
    const WorldIndex world = lp.world;
    const Difference difference = execute_in_both_worlds(job);
    if (difference.empty()) break;
    if (!difference.only_bytes || repeated) report_difference(job, difference, Versus::other_world);
    // Work that is done once per process, by the dynamic linker or to initialise a static, may
    // leave traces in padding. A difference that matters occurs again.
    ++statistics_.one_offs;
    Guard::undo(lp.memory, second_.steps);
    go_to(lp, world, before_);
  }
  if (const auto calls = memory::outside_calls.seen & memory::kStatefulCalls; calls != 0)
    report_stateful(calls);
  if (!succeeded()) return false;
  lp.other.swap(first_.image);
  lp.settled.swap(settled_);
  verify_twin(job);
  if (job.kind != Job::Kind::finish) lp.kernel = first_.kernel;
  lp.last = job.key;
  note_step(lp, job);
  return true;
}

/// Whether the first execution succeeded. Throws the UsageError of create(), if any.
bool LpChecker::succeeded() const {
  if (first_.fault.empty()) return true;
  if (!usage_error_.empty()) throw UsageError(usage_error_);
  return false;
}

/// Executes and checks a job of an LP that must not roll back. It may read clocks and the like.
bool LpChecker::check_once(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  const memory::OutsideCallSet calls = statistics_.outside_calls;
  execute(job, lp.world, lp.world, first_);
  statistics_.outside_calls = calls;
  if (const auto overrun = guard_.damage()) report_overrun(job, *overrun);
  if (!succeeded()) return false;
  lp.kernel = first_.kernel;
  lp.last = job.key;
  return true;
}

Difference LpChecker::execute_in_both_worlds(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  const bool watched = data_.period() > 0 && statistics_.rollbacks >= next_watched_;
  const Rollback rollback = take(job);
  const void* variable = execute_first(job, watched);
  roll_back(job, rollback);
  go_to(lp, 1 - lp.world, lp.other);
  execute(job, lp.world, lp.world, second_);
  if (const auto overrun = guard_.damage()) report_overrun(job, *overrun);
  if (watched && variable == nullptr) variable = data_.changed();
  save(lp.memory.heap, second_.image);
  statistics_.allocations += lp.memory.live.size();
  Difference difference = compare_worlds(lp);
  if (difference.empty() && !doubts_.empty()) difference = settle_doubts(job);
  reversing_ = false;
  if (variable != nullptr) report_static(variable, difference);
  return difference;
}

/// Returns a static variable that changed and must not; nullptr if none was found.
const void* LpChecker::execute_first(const Job& job, bool watched) {
  CheckedLp& lp = lps_[job.lp];
  if (watched) {
    data_.refresh();
    ++statistics_.data_watched;
    const std::uint64_t period = data_.period();
    next_watched_ = statistics_.rollbacks + 1 + (period > 1 ? random_number() % (2 * period) : 0);
  }
  execute(job, lp.world, lp.world, first_);
  execution_.outbox().undo_log = nullptr;
  if (const auto overrun = guard_.damage()) report_overrun(job, *overrun);
  const void* const variable = watched ? data_.changed_again() : nullptr;
  save(lp.memory.heap, first_.image);
  return variable;
}

/// Throws Finding if the memory of the LP or of its twin has changed since its last job. The LP's
/// memory is compared with the image of the other world, the twin's with its own image.
void LpChecker::verify_untouched(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  const Labels labels{"when its last event had ended", "now"};
  doubts_.clear();
  Difference difference = compare_memory(lp, lp.other, before_, 1 - lp.world, labels);
  if (difference.empty() && !doubts_.empty())
    difference = memory_difference(lp, lp.other, before_, doubts_.front().at, labels);
  std::string text;
  if (!difference.empty()) {
    text = ": " + difference.texts.front();
  } else {
    save(lp.twin_heap, scratch_);
    statistics_.compared_bytes += scratch_.size();
    if (equal_images(scratch_, lp.twin_image)) return;
    text = " (seen in its twin at other addresses)";
  }
  throw Finding{"its memory has changed since its last event, at " +
                time_text(model_, lp.last.time()) + text + "; another LP must have written there" +
                holders_of(job.lp)};
}

void LpChecker::verify_twin(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  execute(job, kTwin, 1, twin_);
  Difference difference = compare_effects(names_, first_, twin_, Versus::twin,
                                          {"where it is", "in a twin at other addresses"});
  if (difference.empty() && job.kind != Job::Kind::create && metrics_differ(lp))
    difference.add("what it records differs between it and a twin at other addresses");
  if (!difference.empty()) report_difference(job, difference, Versus::twin);
  note_odd_byte(job);
  save(lp.twin_heap, lp.twin_image);
}

bool LpChecker::metrics_differ(const CheckedLp& lp) const {
  const std::byte* const mine = LogicalProcessAccess::metrics(*lp.object);
  const std::byte* const twins = LogicalProcessAccess::metrics(*lp.twin);
  if (mine == nullptr || twins == nullptr) return mine != twins;
  return std::memcmp(mine, twins, model_.metric_bytes()) != 0;
}

void LpChecker::save(const memory::LpHeap& heap, std::vector<std::byte>& image) {
  image.resize(heap.image_bytes());
  heap.save(image.data());
}

/// Sets the LP's memory to an image of `world`. The caller has to correct the table of allocations.
void LpChecker::go_to(CheckedLp& lp, WorldIndex world, const std::vector<std::byte>& image) {
  lp.memory.heap.restore(image.data());
  lp.world = world;
  Guard::fill_free(lp.memory, world);
}

/// Compares the two executions of a job. The heap is as the second execution has left it.
Difference LpChecker::compare_worlds(CheckedLp& lp) {
  doubts_.clear();
  settled_.clear();
  Difference difference =
      compare_effects(names_, first_, second_, Versus::other_world, {}, &doubts_);
  if (!first_.fault.empty() || !second_.fault.empty()) return difference;
  Difference memory = compare_memory(lp, first_.image, second_.image, first_.world, {});
  if (memory.empty()) return difference;
  for (std::string& text : difference.texts) memory.add(std::move(text), difference.only_bytes);
  return memory;
}

/// Compares two images of different worlds. Bytes that two worlds cannot judge go to `doubts_`.
Difference LpChecker::compare_memory(const CheckedLp& lp, const std::vector<std::byte>& a,
                                     const std::vector<std::byte>& b, WorldIndex world_of_a,
                                     const Labels& labels) {
  statistics_.compared_bytes += a.size();
  if (a.size() != b.size()) return memory_difference(lp, a, b, 0, labels);
  const auto& in0 = world_of_a == 0 ? a : b;
  const auto& in1 = world_of_a == 0 ? b : a;
  const std::size_t doubts = doubts_.size();
  if (find_doubts(lp, in0.data(), in1.data(), a.size())) return {};
  return memory_difference(lp, a, b, doubts_[doubts].at, labels);
}

/// Describes the difference of two images at `at`.
Difference LpChecker::memory_difference(const CheckedLp& lp, const std::vector<std::byte>& a,
                                        const std::vector<std::byte>& b, std::size_t at,
                                        const Labels& labels) const {
  Difference difference;
  const std::byte* const address =
      a.size() == b.size() ? address_in_image(lp, a.size(), at) : nullptr;
  if (address == nullptr) {
    difference.add("it holds other allocations " + std::string(labels.a) + " than " +
                   std::string(labels.b));
    return difference;
  }
  difference.add(address_text(lp, address) + " holds " + hex_text(a.data(), a.size(), at) + " " +
                     std::string(labels.a) + " and " + hex_text(b.data(), b.size(), at) + " " +
                     std::string(labels.b),
                 true);
  return difference;
}

// ---- Events
// --------------------------------------------------------------------------------------

CheckedEvent* LpChecker::make_event(std::size_t i) {
  const Sent& sent = first_.sends[i];
  const std::size_t bytes = sent.size.bytes();
  const bool once = !repeats(sent.sender());
  const Effects& in0 = once || first_.world == 0 ? first_ : second_;
  const Effects& in1 = once || first_.world != 0 ? first_ : second_;
  const Effects& twin = once ? first_ : twin_;
  const std::byte* const payloads[] = {in0.payload_of(in0.sends[i]), in1.payload_of(in1.sends[i]),
                                       twin.payload_of(twin.sends[i])};
  const bool variants = bytes > 0 && (std::memcmp(payloads[0], payloads[1], bytes) != 0 ||
                                      std::memcmp(payloads[0], payloads[2], bytes) != 0);
  void* const block = blocks_.allocate(CheckedEvent::bytes_for(sent.size.bytes(), variants));
  auto* const event = new (block) CheckedEvent(sent, variants);
  for (WorldIndex world = 0; bytes > 0 && world < (variants ? CheckedEvent::kVariants : 1); ++world)
    std::memcpy(event->payload(world), payloads[world], bytes);
  return event;
}

void LpChecker::release(CheckedEvent* event) {
  const Episode* const episode = lps_[event->receiver].episode.get();
  if (episode != nullptr && !episode->steps.empty() && episode->steps.back().event == event) return;
  blocks_.release(event, event->block_bytes());
}

void LpChecker::finish(LpId id, Finisher& finisher) {
  CheckedLp& lp = lps_[id];
  if (repeats(id)) {
    Guard::undo(lp.memory, second_.steps);
    go_to(lp, first_.world, before_);
  }
  std::vector<AllocationStep> steps;
  guard_.begin(lp.memory, lp.world, lp.world, steps, nullptr);
  memory::thread_context.observer = &guard_;
  finisher.finish(id, *lp.object, lp.kernel.hash, nowhere_);
}

}  // namespace orrery::checker
