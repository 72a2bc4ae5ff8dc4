// SPDX-License-Identifier: Apache-2.0
//
// LpChecker: makes a sentence of a difference, with its place and its likely cause.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <typeinfo>

#include "core/logical_process_access.h"
#include "core/type_name.h"
#include "engine/checker/lp_checker.h"
#include "engine/checker/symbols.h"
#include "memory/outside_calls.h"
#include "run/containment/lp_names.h"

namespace orrery::checker {
namespace {

/// Functions through which model code allocates: messages name their callers instead.
constexpr std::array<std::string_view, 11> kAllocators = {
    "operator new",  "malloc", "calloc", "realloc",          "memalign",
    "aligned_alloc", "posix_", "strdup", "orrery::memory::", "orrery::checker::",
    "__gnu_cxx::"};

bool allocates_for_others(const std::string& name) {
  return name.starts_with("std::") || name.find(" std::") != std::string::npos ||
         name.find("orrery::memory::") != std::string::npos ||
         std::any_of(kAllocators.begin(), kAllocators.end(),
                     [&](auto prefix) { return name.starts_with(prefix); });
}

constexpr std::string_view kTwinHint =
    "likely cause: the result depends on addresses, such as pointers that are keys of a map or a "
    "set, hashed, sorted or sent; use numbers that mean the same in every run";
constexpr std::string_view kSeveralHint =
    "likely cause: the event overwrites state outside of its LP, such as static variables or "
    "memory "
    "of the model or the system, or it reads the memory of another LP; only a rollback of several "
    "events shows this";
constexpr std::string_view kOutsideHint =
    "likely cause: state outside of the LP that a rollback does not restore: a global or static "
    "variable in another library, memory of the model object or the system, memory of another LP, "
    "a file, or a clock or random device of the processor";
constexpr std::string_view kMarksHint =
    "it follows what earlier calls have left in errno or in the flags of floating-point "
    "exceptions; set errno to 0, or call feclearexcept, before the call whose error you check";
constexpr std::string_view kStackHint =
    "it follows the pattern that the checker left on the stack below the handler (5a in one "
    "execution, a5 in the other); likely cause: a local variable, or a member of an event, that is "
    "used without having been initialised";
constexpr std::string_view kHeapHint =
    "it follows the pattern that the checker puts into uninitialised memory (5a in one "
    "execution, a5 in the other); likely cause: a member without initialiser, padding that is "
    "hashed or compared, reading behind the end of an allocation or after it was freed";

std::string joined(const Difference& difference) {
  std::string text;
  for (const std::string& one : difference.texts) text += (text.empty() ? "" : "; ") + one;
  return text;
}

}  // namespace

std::string LpChecker::sentence(const Job& job, const Finding& finding) const {
  if (tells_system_failure(finding.text)) return finding.text;
  std::string where = describe_event(model_, job.lp, name_of(job), job.key.time());
  if (job.kind == Job::Kind::event) {
    if (job.key.phase() > 0) where += fmt::format(", phase {}", job.key.phase());
    where += fmt::format(", microstep {}, event {} of those that {} sent", job.key.microstep(),
                         job.key.sequence(), lp_text(model_, job.key.sender()));
  }
  const CheckedLp& lp = lps_[job.lp];
  // The twin's class, since the LP's own memory may be damaged.
  if (lp.twin != nullptr) where += ", LP class " + type_name(typeid(*lp.twin));
  return fmt::format("model fault in {}: {}", where, finding.text);
}

std::string LpChecker::crash_sentence(int signal) const {
  if (running_ == nullptr) return {};
  const Effects* const effects = execution_.outbox().effects;
  const std::string when =
      effects == &first_ ? "when it was executed first"
      : effects == &twin_
          ? "when it was executed at other addresses; " + std::string(kTwinHint)
          : "when it was executed again after a rollback: it may use memory that it "
            "keeps a pointer to outside of the LP, or memory that nobody initialised";
  return sentence(*running_, Finding{fmt::format("a crash ({}) {}", strsignal(signal), when)});
}

void LpChecker::report_difference(const Job& job, const Difference& difference, Versus versus) {
  const std::string text =
      (versus == Versus::twin ? "it depends on where its memory lies: "
                              : "executed again after a rollback, it does something else: ") +
      joined(difference);
  if (versus == Versus::twin)
    throw Finding{text + odd_byte_text(lps_[job.lp]) + "; " + std::string(kTwinHint)};
  if (versus == Versus::same_world) {
    const memory::OutsideCallSet calls = memory::outside_calls.seen;
    throw Finding{text + "; " +
                  (calls != 0 ? cause_outside(calls, nullptr) : std::string(kSeveralHint))};
  }
  throw Finding{text + "; " + cause(job)};
}

/// Executes the event again to find out what the difference between first_ and second_ depends on.
std::string LpChecker::cause(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  const auto same_again = [&](const Effects& expected, WorldIndex stack,
                              const std::vector<std::byte>& image) {
    go_to(lp, expected.world, image);
    execute(job, expected.world, stack, more_);
    save(lp.memory.heap, more_.image);
    Guard::undo(lp.memory, more_.steps);
    return equal_images(more_.image, expected.image) &&
           compare_effects(names_, expected, more_, Versus::same_world).empty();
  };
  Guard::undo(lp.memory, second_.steps);
  data_.refresh();
  const bool second_again = same_again(second_, second_.world, lp.other);
  const void* const variable = data_.changed();
  const bool first_again = same_again(first_, first_.world, before_);
  const memory::OutsideCallSet calls = memory::outside_calls.seen;
  if (calls != 0 || variable != nullptr) return cause_outside(calls, variable);
  if (!second_again || !first_again) return std::string(kOutsideHint);
  if (job.event != nullptr && job.event->stride != 0) {
    const std::size_t at =
        first_unequal(job.event->payload(0), job.event->payload(1), job.event->size.bytes());
    if (at != kNoDifference) {
      return fmt::format(
          "likely cause: it uses bytes of the event's payload that their sender, LP {}, did not "
          "initialise (byte {} is the first); give padding a name and a value, and do not copy, "
          "hash or compare events as raw bytes",
          job.event->sender(), at);
    }
  }
  other_marks_ = true;
  const bool marks = !same_again(second_, second_.world, lp.other);
  other_marks_ = false;
  if (marks) return std::string(kMarksHint);
  // With the other world's stack below the same memory.
  const bool stack = !same_again(second_, first_.world, lp.other);
  return std::string(stack ? kStackHint : kHeapHint);
}

std::string names_of(memory::OutsideCallSet calls) {
  std::string text;
  for (unsigned i = 0; i < static_cast<unsigned>(memory::OutsideCall::count); ++i) {
    const auto call = static_cast<memory::OutsideCall>(i);
    if ((calls & memory::set_of(call)) != 0)
      text += (text.empty() ? "" : ", ") + std::string(memory::name_of(call));
  }
  return text;
}

std::string LpChecker::cause_outside(memory::OutsideCallSet calls, const void* variable) const {
  std::string text = "likely cause: ";
  if (calls != 0) {
    text += "it calls " + names_of(calls) +
            ", whose result differs from call to call; use context.now() and context.random()";
  }
  if (variable != nullptr) {
    text += (calls != 0 ? "; and it" : "it") + std::string(" changes the variable ") +
            variable_name(variable) + ", which no rollback restores; make it a member of the LP";
  }
  return text;
}

/// Reported even if no result depends on it here, where one handler runs after the other.
void LpChecker::report_stateful(memory::OutsideCallSet calls) {
  const auto first = static_cast<memory::OutsideCall>(std::countr_zero(calls));
  throw Finding{fmt::format(
      "it calls {}, which keeps state of its own in the C library: no rollback restores it, and "
      "other workers change it at the same time; {}",
      memory::name_of(first), memory::instead_of(first))};
}

void LpChecker::report_static(const void* variable, const Difference& difference) {
  std::string text = fmt::format(
      "it changes the variable {}, which lies outside of the LP: no rollback restores it, and "
      "other LPs change it at the same time; make it a member of the LP",
      variable_name(variable));
  if (!difference.empty()) text += "; the effect: " + joined(difference);
  throw Finding{text};
}

void LpChecker::report_overrun(const Job& job, const Overrun& overrun) {
  const CheckedLp& lp = lps_[job.lp];
  const unsigned value = std::to_integer<unsigned>(overrun.value);
  const Allocation* in_front = nullptr;
  lp.memory.live.for_each([&](const Allocation& live) {
    const std::byte* const end = live.address + live.chunk_bytes;
    if (end <= overrun.address && (in_front == nullptr || live.address > in_front->address))
      in_front = &live;
  });
  const Allocation* const freed = guard_.last_freed_at(overrun.address);
  if (overrun.kind == Overrun::Kind::slack) {
    in_front = &overrun.allocation;
  } else if (freed != nullptr) {
    throw Finding{
        fmt::format("it wrote to memory that it had freed: byte {} of an allocation of {} bytes{} "
                    "is now {:02x}",
                    overrun.address - freed->address, freed->bytes, place_text(*freed), value)};
  }
  if (in_front == nullptr) {
    throw Finding{fmt::format("it wrote {:02x} to {}, where nothing is allocated", value,
                              static_cast<const void*>(overrun.address))};
  }
  throw Finding{fmt::format(
      "it wrote beyond the end of an allocation of {} bytes{}: the byte at offset {} is now "
      "{:02x}; "
      "check the index, or run the model in the asan build, which stops at the very line",
      in_front->bytes, place_text(*in_front), overrun.address - in_front->address, value)};
}

// ---- Addresses
// -----------------------------------------------------------------------------------

/// " (the LP's allocation 17, made in Desk::serve)".
std::string LpChecker::place_text(const Allocation& allocation) const {
  std::string text = fmt::format(" (the LP's allocation {}", allocation.ordinal);
  for (const void* frame : allocation.place) {
    if (frame == nullptr) break;
    const std::string name = symbol_at(static_cast<const std::byte*>(frame) - 1);
    if (name.empty() || allocates_for_others(name)) continue;
    text += ", made in " + name;
    break;
  }
  return text + ")";
}

/// The metric whose state contains the byte at `offset` of an LP's metrics.
const Metric& LpChecker::metric_at(std::uint32_t offset) const {
  const auto& metrics = model_.metrics();
  const auto behind = std::upper_bound(
      metrics.begin(), metrics.end(), offset,
      [](std::uint32_t place, const Metric* metric) { return place < metric->offset(); });
  return **std::prev(behind);
}

std::string LpChecker::address_text(const CheckedLp& lp, const std::byte* address) const {
  const Allocation* covering = nullptr;
  lp.memory.live.for_each([&](const Allocation& live) {
    if (live.covers(address)) covering = &live;
  });
  if (covering == nullptr) return fmt::format("memory at {}", static_cast<const void*>(address));
  const std::ptrdiff_t offset = address - covering->address;
  const auto* const object = reinterpret_cast<const std::byte*>(lp.object);
  if (object != nullptr && covering->covers(object)) {
    const std::string type = lp.twin == nullptr ? "" : " (" + type_name(typeid(*lp.twin)) + ")";
    return fmt::format("the LP's object{} + {}", type, offset);
  }
  const Ledger* const ledger =
      lp.object == nullptr ? nullptr : LogicalProcessAccess::ledger(std::as_const(*lp.object));
  if (ledger != nullptr && covering->covers(reinterpret_cast<const std::byte*>(ledger))) {
    const std::ptrdiff_t at = address - reinterpret_cast<const std::byte*>(ledger->metrics());
    if (at < 0) return "its set of timers";
    return fmt::format("metric '{}'", metric_at(static_cast<std::uint32_t>(at)).name());
  }
  return fmt::format("an allocation of {} bytes{} + {}", covering->bytes, place_text(*covering),
                     offset);
}

/// The address whose byte lies at `at` of an image of the heap's present live chunks; nullptr for
/// the image's header.
const std::byte* LpChecker::address_in_image(const CheckedLp& lp, std::size_t image_bytes,
                                             std::size_t at) const {
  const std::size_t header = image_bytes - lp.memory.heap.live_bytes();
  if (at < header || image_bytes < lp.memory.heap.live_bytes()) return nullptr;
  std::size_t passed = header;
  const std::byte* found = nullptr;
  lp.memory.heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    if (found == nullptr && at < passed + bytes) found = begin + (at - passed);
    passed += bytes;
  });
  return found;
}

/// Which LPs hold pointers into the memory of `victim`.
std::string LpChecker::holders_of(LpId victim) const {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> holders;
  const CheckedLp& owner = lps_[victim];
  for (LpId id = 0; id < lps_.size() && holders.size() < kNamed; ++id) {
    if (id == victim) continue;
    lps_[id].memory.live.for_each([&](const Allocation& live) {
      for (std::size_t at = 0; at + sizeof(void*) <= live.bytes; at += sizeof(void*)) {
        const std::byte* pointer;
        std::memcpy(&pointer, live.address + at, sizeof pointer);
        // A pointer to the end of an own allocation may equal the begin of another LP's memory.
        const bool hit = (owner.memory.heap.owns(pointer) || owner.twin_heap.owns(pointer)) &&
                         !lps_[id].memory.heap.owns(pointer - 1);
        if (hit && holders.size() < kNamed)
          holders.push_back(
              fmt::format("LP {} in {}", id, address_text(lps_[id], live.address + at)));
      }
    });
  }
  if (holders.empty())
    return "; no LP holds a pointer there now: look for one in a static variable";
  std::string text = "; pointers into it are held by ";
  for (std::size_t i = 0; i < holders.size(); ++i) text += (i == 0 ? "" : ", ") + holders[i];
  return text + "; LPs may share nothing but events";
}

}  // namespace orrery::checker
