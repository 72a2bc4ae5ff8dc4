// SPDX-License-Identifier: Apache-2.0
//
// Executing and checking; lp_checker_rollback.cpp rolls back, lp_checker_report.cpp says what was
// found.
#include "engine/checker/lp_checker.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/options.h"
#include "core/fingerprint.h"
#include "core/logical_process_access.h"
#include "engine/checker/misuse_note.h"
#include "memory/application_mode.h"
#include "memory/outside_calls.h"
#include "orrery/error.h"

namespace orrery::checker {
namespace {

constexpr std::int64_t kClockShiftSeconds = 100'003;
constexpr std::uintptr_t kFloorBytes = 32 * 1024;

void note_misuse(memory::HeapMisuse what, const void*, memory::LpHeap*) {
  misuse_note = {true, what};
}

/// finish() of an LP, with everything that it reports kept apart.
class FinishProbe final : public FinalContext {
 public:
  FinishProbe(Time end, LpId id, LpId lps, std::uint32_t metrics, LogicalProcessBase& lp,
              std::uint64_t hash, RowBuffer& rows)
      : rows_(rows) {
    now_ = end;
    self_ = id;
    lp_count_ = lps;
    metric_count_ = metrics;
    lp_ = &lp;
    hash_ = hash;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void append_row(const Table& table, std::span<const std::uint64_t> cells) override {
    const memory::PlatformMode platform;
    rows_.append({Key::end_of(now_), ordinal_++, self_, table.index(), cells});
  }
  RowBuffer& rows_;
  std::uint32_t ordinal_ = 0;
};

}  // namespace

LpChecker::LpChecker(const Model& model, const RunOptions& options)
    : model_(model),
      options_(options),
      names_{model, [this](LpId id, EventTypeId type) { return event_name(id, type); }},
      twins_(options.seed * 0x9e3779b97f4a7c15u + 1),
      data_(model),
      plan_(options.get(checkpoint::kCheckpoint), blocks_),
      random_state_(options.seed) {
  lp_count_ = static_cast<LpId>(model.lp_count());
  metric_count_ = static_cast<std::uint32_t>(model.metrics().size());
  lps_.reserve(lp_count_);
  for (LpId id = 0; id < lp_count_; ++id) {
    CheckedLp& lp = lps_.emplace_back(arena_, twin_arena_);
    lp.turn = id;
    save(lp.memory.heap, lp.other);
  }
  memory::thread_context.on_misuse = note_misuse;
  memory::outside_calls.watching = true;
}

LpChecker::~LpChecker() {
  memory::outside_calls = {};
  for (CheckedLp& lp : lps_) {
    drop_episode(lp);
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
  memory::thread_context.on_misuse = on_misuse_before_;
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

void LpChecker::execute(const Job& job, WorldIndex world, WorldIndex stack_world, Execution& out) {
  CheckedLp& lp = lps_[job.lp];
  out.begin(world);
  out_ = &out;
  begin(job, lp, world);
  if (world == kTwin) {
    twins_.begin(lp.twin_heap);
    memory::thread_context.observer = &twins_;
  } else {
    guard_.begin(lp.memory, world, stack_world, out.steps,
                 static_cast<const std::byte*>(__builtin_frame_address(0)) + 16);
    memory::thread_context.observer = &guard_;
  }
  memory::outside_calls.shift_seconds = world == 1 ? kClockShiftSeconds : 0;
  misuse_note.seen = false;
  if (floor_ == 0)
    floor_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - kFloorBytes;
  stack_world_ = stack_world;
  running_ = &job;
  call_at_floor(job, world);
  running_ = nullptr;
  out.kernel =
      out.fault.empty() ? checkpoint::KernelState{hash_, random_.position(), sends_} : lp.kernel;
  statistics_.outside_calls |= memory::outside_calls.seen;
  ++statistics_.executions;
}

void LpChecker::begin(const Job& job, const CheckedLp& lp, WorldIndex world) {
  now_ = job.kind == Job::Kind::finish ? end_ : job.key.time();
  self_ = job.lp;
  cause_ = job.key;
  lp_ = world == kTwin ? lp.twin : lp.object;
  hash_ = lp.kernel.hash;
  minimum_delay_ = Duration::zero();
  if (job.kind == Job::Kind::event) {
    hash_ = fingerprint::add_event(hash_, *job.event, job.event->payload(world));
    minimum_delay_ = duration_of(*job.event, job.event->payload(world));
  }
  sends_ = lp.kernel.sends;
  ordinal_ = 0;
  random_.begin(options_.seed, job.lp, lp.kernel.random_position);
}

/// Brings the stack to the floor, from wherever it is, and calls the handler there.
[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined"))) void
LpChecker::call_at_floor(const Job& job, WorldIndex world) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  void* const gap = alloca(here > floor_ ? (here - floor_) / 16 * 16 : 16);
  asm volatile("" : : "r"(gap) : "memory");
  scrub_stack(stack_world_);
  invoke(job, world);
}

[[gnu::noinline]] void LpChecker::invoke(const Job& job, WorldIndex world) {
  CheckedLp& lp = lps_[job.lp];
  LogicalProcessBase*& object = world == kTwin ? lp.twin : lp.object;
  memory::enter_application_mode(nowhere_);
  try {
    if (job.kind == Job::Kind::create) {
      object = nullptr;
      object = create_lp(model_, job.lp).release();
    } else if (job.kind == Job::Kind::start) {
      object->start(*this);
    } else if (job.kind == Job::Kind::finish) {
      invoke_finish(*object);
    } else if (!object->dispatch(*this, job.event->type, job.event->payload(world))) {
      throw ModelFault("the LP has no handler for this event type (sent by LP " +
                       std::to_string(job.event->sender()) +
                       "); add it to its list of event types");
    }
    if (misuse_note.seen) throw ModelFault(misuse_note.sentence());
    memory::leave_application_mode();
  } catch (...) {
    // The exception lies in the LP's memory and is freed at the end of this block.
    memory::leave_application_mode();
    out_->fault = describe_failure(job);
    memory::enter_application_mode(nowhere_);
  }
  memory::leave_application_mode();
}

void LpChecker::invoke_finish(LogicalProcessBase& lp) {
  FinishProbe probe(end_, self_, lp_count_, metric_count_, lp, hash_, out_->rows);
  lp.finish(probe);
  hash_ = probe.hash();
}

/// The sentence for the exception that is being handled: that of the other engines.
std::string LpChecker::describe_failure(const Job& job) {
  if (job.kind == Job::Kind::create) {
    try {
      throw;
    } catch (const UsageError& error) {
      usage_error_ = error.what();  // not a fault: check() lets it through to the caller
      return usage_error_;
    } catch (...) {
      return describe_current_exception(model_, job.lp, {}, now_);
    }
  }
  const std::string name = job.kind == Job::Kind::event    ? event_name(job.lp, job.event->type)
                           : job.kind == Job::Kind::finish ? "finish()"
                                                           : "";
  return describe_current_exception(model_, job.lp, name, now_);
}

std::string LpChecker::event_name(LpId id, EventTypeId type) const {
  if (id >= lps_.size() || lps_[id].twin == nullptr) return "of an unknown type";
  // The twin is asked because an overrun may have damaged the LP itself.
  const auto name = lps_[id].twin->event_name(type);
  return name.empty() ? "of an unknown type" : std::string(name);
}

// What the recording leaves on the stack below the handler must not differ between executions: the
// handler's next calls may find it in their padding.
void LpChecker::send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
                     const void* payload) {
  record_send(destination, delay, type, size_word, payload);
  scrub_stack(stack_world_);
}

void LpChecker::append_row(const Table& table, std::span<const std::uint64_t> cells) {
  record_row(table, cells);
  scrub_stack(stack_world_);
}

void LpChecker::save_before(const void* address, std::size_t bytes) {
  if (undo_log_ != nullptr) undo_log_->save_before(address, bytes);
  scrub_stack(stack_world_);
}

void LpChecker::remember_bytes(const void* value, std::size_t bytes) {
  if (undo_log_ != nullptr) undo_log_->remember(value, bytes);
  scrub_stack(stack_world_);
}

void LpChecker::record_send(LpId destination, Duration delay, EventTypeId type,
                            std::uint32_t size_word, const void* payload) {
  const Key key = key_of_send(model_, cause_, self_, ++sends_, destination, lp_count_, delay,
                              minimum_delay_, options_.livelock_microsteps);
  const memory::PlatformMode platform;
  const PayloadSize size = PayloadSize::of_word(size_word);
  out_->add_send(EventHeader(key, destination, type, size), payload);
}

void LpChecker::record_row(const Table& table, std::span<const std::uint64_t> cells) {
  const memory::PlatformMode platform;
  out_->rows.append({cause_, ordinal_++, self_, table.index(), cells});
}

// ---- Checking
// ------------------------------------------------------------------------------------

bool LpChecker::check(const Job& job) {
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
    // What is done once a process, by the dynamic linker or for a static that is initialised here,
    // leaves its traces in padding. What matters shows again.
    ++statistics_.one_offs;
    Guard::undo(lp.memory, second_.steps);
    go_to(lp, world, before_);
  }
  if (!first_.fault.empty()) {
    if (!usage_error_.empty()) throw UsageError(usage_error_);
    return false;
  }
  lp.other.swap(first_.image);
  verify_twin(job);
  if (job.kind != Job::Kind::finish) lp.kernel = first_.kernel;
  lp.last = job.key;
  note_step(lp, job);
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
  reversing_ = false;
  if (const auto overrun = guard_.damage()) report_overrun(job, *overrun);
  if (watched && variable == nullptr) variable = data_.changed();
  save(lp.memory.heap, second_.image);
  statistics_.allocations += lp.memory.live.size();
  Difference difference = compare_worlds(lp);
  if (variable != nullptr) report_static(variable, difference);
  return difference;
}

/// Returns a static variable that changed as it must not; nullptr if none was seen.
const void* LpChecker::execute_first(const Job& job, bool watched) {
  CheckedLp& lp = lps_[job.lp];
  if (watched) {
    data_.refresh();
    ++statistics_.data_watched;
    const std::uint64_t period = data_.period();
    next_watched_ = statistics_.rollbacks + 1 + (period > 1 ? random_number() % (2 * period) : 0);
  }
  execute(job, lp.world, lp.world, first_);
  undo_log_ = nullptr;
  if (const auto overrun = guard_.damage()) report_overrun(job, *overrun);
  const void* const variable = watched ? data_.changed_again() : nullptr;
  save(lp.memory.heap, first_.image);
  return variable;
}

/// What the LP's memory shows now is what it did itself when it executed last, in both worlds.
void LpChecker::verify_untouched(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  const Difference difference =
      compare_memory(lp, lp.other, before_, 1 - lp.world, {"when its last event had ended", "now"});
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
  save(lp.twin_heap, lp.twin_image);
}

bool LpChecker::metrics_differ(const CheckedLp& lp) const {
  const Summary* const mine = LogicalProcessAccess::metrics(*lp.object);
  const Summary* const twins = LogicalProcessAccess::metrics(*lp.twin);
  if (mine == nullptr || twins == nullptr) return mine != twins;
  return std::memcmp(mine, twins, metric_count_ * sizeof(Summary)) != 0;
}

void LpChecker::save(const memory::LpHeap& heap, std::vector<std::byte>& image) {
  image.resize(heap.image_bytes());
  heap.save(image.data());
}

/// Brings the LP's memory to an image of `world`. The table of allocations is the caller's to mend.
void LpChecker::go_to(CheckedLp& lp, WorldIndex world, const std::vector<std::byte>& image) {
  lp.memory.heap.restore(image.data());
  lp.world = world;
  Guard::fill_free(lp.memory, world);
}

/// The two executions of an event. The heap is as the second has left it.
Difference LpChecker::compare_worlds(CheckedLp& lp) {
  Difference difference = compare_effects(names_, first_, second_, Versus::other_world);
  if (!first_.fault.empty() || !second_.fault.empty()) return difference;
  Difference memory = compare_memory(lp, first_.image, second_.image, first_.world, {});
  if (memory.empty()) return difference;
  for (std::string& text : difference.texts) memory.add(std::move(text), difference.only_bytes);
  return memory;
}

Difference LpChecker::compare_memory(const CheckedLp& lp, const std::vector<std::byte>& a,
                                     const std::vector<std::byte>& b, WorldIndex world_of_a,
                                     const Labels& labels) {
  Difference difference;
  statistics_.compared_bytes += a.size();
  if (a.size() != b.size()) {
    difference.add("it holds other allocations " + std::string(labels.a) + " than " +
                   std::string(labels.b));
    return difference;
  }
  const std::size_t at = world_of_a == 0 ? first_difference(a.data(), b.data(), a.size())
                                         : first_difference(b.data(), a.data(), a.size());
  if (at == kNoDifference) return difference;
  const std::byte* const address = address_in_image(lp, a.size(), at);
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
  const Execution& in0 = first_.world == 0 ? first_ : second_;
  const Execution& in1 = first_.world == 0 ? second_ : first_;
  const std::byte* const payloads[] = {in0.payload_of(in0.sends[i]), in1.payload_of(in1.sends[i]),
                                       twin_.payload_of(twin_.sends[i])};
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
  Guard::undo(lp.memory, second_.steps);
  go_to(lp, first_.world, before_);
  std::vector<AllocationStep> steps;
  guard_.begin(lp.memory, lp.world, lp.world, steps, nullptr);
  memory::thread_context.observer = &guard_;
  misuse_note.seen = false;
  const memory::ApplicationMode application(nowhere_);
  finisher.finish(id, *lp.object, lp.kernel.hash);
}

}  // namespace orrery::checker
