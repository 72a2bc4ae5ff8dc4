// SPDX-License-Identifier: Apache-2.0
//
// The declarations of the options that are members of RunOptions.
#include "run/options/options.h"

#include <fmt/format.h>

#include <limits>

#include "core/duration_text.h"
#include "core/float_environment.h"
#include "core/key.h"
#include "orrery/error.h"
#include "run/options/disturbances.h"
#include "run/options/model_checks.h"
#include "run/options/option_forms.h"

namespace orrery {

std::shared_ptr<const Disturbances> undisturbed() {
  static const auto none = std::make_shared<const Disturbances>();
  return none;
}

namespace {

/// An option that is a member of RunOptions; T is the member's type as an option's value.
template <class T, class Member>
class MemberOption : public ValuedOption<T> {
 public:
  MemberOption(OptionDeclaration declaration, Member RunOptions::*member, OptionForm<T> form)
      : ValuedOption<T>(std::move(declaration), static_cast<T>(RunOptions().*member),
                        std::move(form), OptionBase::Registered::yes),
        member_(member) {}

 private:
  T value(const RunOptions& options) const final { return static_cast<T>(options.*member_); }
  void put(RunOptions& options, T value) const final {
    options.*member_ = static_cast<Member>(std::move(value));
  }

  Member RunOptions::*const member_;
};

/// Engines that ignore this option have one worker.
class WorkersOption final : public MemberOption<std::uint64_t, unsigned> {
 public:
  using MemberOption::MemberOption;
  bool asked(const RunOptions& options) const override { return options.workers > 1; }
};

/// The horizon, which the report shows as a text and in ticks.
class HorizonOption final : public OptionBase {
 public:
  explicit HorizonOption(OptionDeclaration declaration)
      : OptionBase(std::move(declaration), Registered::yes) {}

  void read(const std::string& text, double tick_seconds, RunOptions& into) const override {
    into.until = Time::from_ticks(
        option_forms::read_positive_ticks({flag(), text, tick_seconds}, tick_seconds));
  }
  bool asked(const RunOptions& options) const override { return options.until != Time::max(); }
  std::vector<Field> report(const RunOptions& options, double tick_seconds) const override {
    const Duration length = options.until - Time::zero();
    return {{declaration().field, duration_text(length, tick_seconds)},
            {declaration().field + "_ticks", options.until.ticks()}};
  }

 private:
  std::string written_default() const override { return "of the model"; }
  const std::string& choices() const override { return none_; }

  const std::string none_;
};

const HorizonOption kUntil{{.name = "until",
                            .type = "TIME",
                            .help = "Simulate up to this time, such as 100s, 15min, 2h or 3d",
                            .group = kGeneralOptions,
                            .field = "until",
                            .universal = true}};
const MemberOption<std::uint64_t, std::uint64_t> kSeed{
    {.name = "seed",
     .type = "N",
     .help = "Seed of all random numbers",
     .group = kGeneralOptions,
     .field = "seed",
     .universal = true},
    &RunOptions::seed,
    option_forms::count(0, std::numeric_limits<std::uint64_t>::max())};
const WorkersOption kWorkers{{.name = "workers",
                              .type = "N",
                              .help = "Number of workers; each executes a part of the LPs",
                              .group = kGeneralOptions,
                              .field = "workers",
                              .default_words = "one for each usable core"},
                             &RunOptions::workers,
                             option_forms::count(1, kMostWorkers)};
const MemberOption<std::string, std::string> kPending{
    {.name = "pending",
     .type = "NAME",
     .help = "Accepted for earlier reports; has no effect",
     .group = kTuningOptions,
     .field = "pending",
     .universal = true},
    &RunOptions::pending,
    option_forms::choice({"auto", "radix", "ladder", "heap"})};
const MemberOption<std::uint64_t, std::uint64_t> kMemory{
    {.name = "memory",
     .type = "SIZE",
     .help = "Memory budget of all ranks on a machine, such as 512MiB or 4GiB",
     .group = kTuningOptions,
     .field = "memory_bytes",
     .default_words = "three quarters of the free memory"},
    &RunOptions::memory_bytes,
    option_forms::bytes(1u << 20, {}, "such as 512MiB or 4GiB")};
const MemberOption<bool, bool> kBind{{.name = "no-bind",
                                      .type = "",
                                      .help = "Do not bind workers to cores",
                                      .group = kTuningOptions,
                                      .field = "bind"},
                                     &RunOptions::bind,
                                     option_forms::off_switch()};
const Option<std::uint64_t> kThreads{
    {.name = "threads",
     .type = "N",
     .help = "Largest number of workers; auto: at most one for each core",
     .group = kTuningOptions,
     .field = "threads"},
    0,
    option_forms::count_or_auto(1, kMostWorkers)};
const Option<std::string> kPartition{{.name = "partition",
                                      .type = "FILE",
                                      .help = "File with a line for each LP: the number of its "
                                              "worker, or of its rank in a run over ranks",
                                      .group = kTuningOptions,
                                      .field = "partition",
                                      .default_words = "by the model's communication graph"},
                                     "",
                                     option_forms::any_text()};
const Option<std::string> kWritePartition{{.name = "write-partition",
                                           .type = "FILE",
                                           .help = "Write the initial partition to this file",
                                           .group = kTuningOptions,
                                           .field = "write_partition",
                                           .default_words = "not written"},
                                          "",
                                          option_forms::any_text()};
const MemberOption<std::uint64_t, std::uint32_t> kLivelock{
    {.name = "livelock",
     .type = "N",
     .help = "Number of zero-delay steps in one phase of an instant that counts as a livelock",
     .group = kTuningOptions,
     .field = "livelock_steps",
     .universal = true},
    &RunOptions::livelock_microsteps,
    option_forms::count(1, Key::kMaxMicrostep)};

const Option<std::int64_t> kEventTimeLimit{
    {.name = "event-time-limit",
     .type = "TIME",
     .help = "Longest wall-clock time of an event, such as 10s; a longer event is a fault",
     .group = kTuningOptions,
     .field = "event_time_limit_us",
     .universal = true},
    0,
    option_forms::wall_time_or_off(100'000)};

/// Filled by static initialisers, so it is function-local.
std::vector<void (*)(const RunOptions&)>& rule_table() {
  static std::vector<void (*)(const RunOptions&)> table;
  return table;
}

}  // namespace

const OptionBase& seed_option() {
  return kSeed;
}
const OptionBase& workers_option() {
  return kWorkers;
}
const OptionBase& memory_option() {
  return kMemory;
}
const OptionBase& bind_option() {
  return kBind;
}
const Option<std::uint64_t>& threads_option() {
  return kThreads;
}
const Option<std::int64_t>& event_time_limit_option() {
  return kEventTimeLimit;
}

const Option<std::string>& partition_option() {
  return kPartition;
}
const Option<std::string>& write_partition_option() {
  return kWritePartition;
}

OptionRule::OptionRule(void (*check)(const RunOptions&)) {
  rule_table().push_back(check);
}

void check_option_rules(const RunOptions& options) {
  for (const auto check : rule_table()) check(options);
}

void check_options(const Model& model, const RunOptions& options) {
  // Threads that an engine starts inherit this thread's floating-point environment. Model code has
  // run here, and shared objects were loaded, whose start-up code may change it (as with
  // -ffast-math).
  ensure_default_floats();
  if (options.livelock_microsteps < 1 || options.livelock_microsteps > Key::kMaxMicrostep) {
    throw UsageError(fmt::format("a livelock limit of {} is not possible; it can be 1 to {}",
                                 options.livelock_microsteps, Key::kMaxMicrostep));
  }
  kPending.check(options.pending);
  check_lp_count(model);
}

}  // namespace orrery
