// SPDX-License-Identifier: Apache-2.0
#include "core/run_setup.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "core/duration_text.h"
#include "core/fingerprint.h"
#include "memory/application_mode.h"

namespace orrery {

void check_options(const Model& model, const RunOptions& options) {
  if (options.livelock_microsteps < 1 || options.livelock_microsteps > Key::kMaxMicrostep) {
    throw UsageError(fmt::format("a livelock limit of {} is not possible; it can be 1 to {}",
                                 options.livelock_microsteps, Key::kMaxMicrostep));
  }
  if (const std::uint64_t lps = model.lp_count(); lps < 1 || lps > 0xfffffffe) {
    throw UsageError(fmt::format("the model has {} LPs; an engine runs 1 to 4294967294", lps));
  }
}

std::string time_text(const Model& model, Time time) {
  return duration_text(time - Time::zero(), model.tick_seconds());
}

std::string describe_event(const Model& model, LpId lp, std::string_view event_name, Time time) {
  if (event_name.empty()) return fmt::format("LP {}, start of the run", lp);
  return fmt::format("LP {}, event {} at {} (tick {})", lp, event_name, time_text(model, time),
                     time.ticks());
}

namespace {
std::string refusal_reason(std::size_t bytes) {
  if (memory::thread_context.denies_above_bytes < bytes) {
    return fmt::format("--oversize deny refuses above {}",
                       memory::thread_context.denies_above_bytes);
  }
  return "the system does not have";
}
}  // namespace

std::string describe_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                       Time time) {
  const std::string where = describe_event(model, lp, event_name, time);
  try {
    throw;
  } catch (const ModelFault& fault) {
    return fmt::format("model fault in {}: {}", where, fault.what());
  } catch (const std::bad_array_new_length& exception) {
    return fmt::format("model fault in {}: an exception left the handler: {}", where,
                       exception.what());
  } catch (const std::bad_alloc& exception) {
    const std::size_t bytes = std::exchange(memory::thread_context.thrown_bytes, 0);
    memory::thread_context.refused_bytes = 0;  // told now
    if (bytes == 0)                            // not thrown for an allocation
      return fmt::format("model fault in {}: an exception left the handler: {}", where,
                         exception.what());
    return fmt::format("model fault in {}: it ran out of memory: it asked for {} bytes, which {}",
                       where, bytes, refusal_reason(bytes));
  } catch (const std::exception& exception) {
    return fmt::format("model fault in {}: an exception left the handler: {}", where,
                       exception.what());
  } catch (...) {
    return fmt::format(
        "model fault in {}: an exception that is not a std::exception left the handler", where);
  }
}

void refuse_send(const Model& model, LpId destination, Duration delay, Duration minimum_delay,
                 Time now, LpId lp_count, std::uint32_t microstep, std::uint32_t livelock_limit) {
  if (destination >= lp_count) {
    throw ModelFault(fmt::format("it sent an event to LP {}, but the model has LPs 0 to {}",
                                 destination, lp_count - 1));
  }
  if (delay.ticks() < 0) {
    throw ModelFault(
        fmt::format("it sent an event to LP {} with the negative delay {}; a delay is 0 or more",
                    destination, duration_text(delay, model.tick_seconds())));
  }
  if (delay < minimum_delay) {
    throw ModelFault(fmt::format(
        "it sends an event to LP {} {} after its start, before its own end at {}; an expanded "
        "event's sends leave at its end or later: use a delay of at least context.duration()",
        destination, duration_text(delay, model.tick_seconds()),
        time_text(model, now + minimum_delay)));
  }
  if (microstep > livelock_limit) {
    throw ModelFault(fmt::format(
        "livelock: {} events with zero delay, each the cause of the next, and time stands still at "
        "{}; give one of these sends a delay",
        livelock_limit, time_text(model, now)));
  }
  std::int64_t ticks;
  if (!__builtin_add_overflow(now.ticks(), delay.ticks(), &ticks) && ticks != INT64_MAX) {
    throw ModelFault(fmt::format("it has sent more than {} events", Key::kMaxSequence));
  }
  throw ModelFault(fmt::format(
      "it sent an event to LP {} with the delay {} at {}: the sum is beyond the clock's range of "
      "{}",
      destination, duration_text(delay, model.tick_seconds()), time_text(model, now),
      time_text(model, Time::max())));
}

std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id) {
  auto lp = model.create(id);
  if (lp == nullptr) throw ModelFault("create() returned no LP");
  return lp;
}

namespace {
constexpr std::string_view kFinish = "finish()";
}

class Finisher::FinishContext final : public FinalContext {
 public:
  FinishContext(Finisher& finisher, LpId id, LogicalProcessBase& lp, std::uint64_t hash)
      : finisher_(finisher) {
    now_ = finisher.end_;
    self_ = id;
    metric_count_ = static_cast<std::uint32_t>(finisher.model_.metrics().size());
    lp_count_ = static_cast<LpId>(finisher.model_.lp_count());
    lp_ = &lp;
    hash_ = hash;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void append_row(const Table& table, std::span<const std::uint64_t> cells) override {
    if (finisher_.rows_ == nullptr) return;
    const memory::PlatformMode platform;  // finish() may run in the LP's application mode
    finisher_.buffer_.append(
        {Key::end_of(finisher_.end_), ordinal_++, self_, table.index(), cells});
  }
  Finisher& finisher_;
  std::uint32_t ordinal_ = 0;
};

Finisher::Finisher(const Model& model, Time end, RowSink* rows)
    : model_(model), end_(end), rows_(rows), totals_(model.metrics().size()) {}

void Finisher::finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash) {
  FinishContext context(*this, id, lp, hash);
  try {
    lp.finish(context);
  } catch (...) {
    const memory::PlatformMode platform;  // the exception itself may lie in the LP's heap
    if (fault_.empty()) fault_ = describe_current_exception(model_, id, kFinish, end_);
    return;
  }
  hash = context.hash();
  if (const Summary* metrics = LogicalProcessAccess::metrics(lp)) {
    for (std::size_t i = 0; i < totals_.size(); ++i) totals_[i].merge(metrics[i]);
    hash = fingerprint::add_bytes(hash, metrics, totals_.size() * sizeof(Summary));
  }
  fingerprint_ += fingerprint::contribution(id, hash);
}

void Finisher::fail(LpId id, const std::string& what) {
  const memory::PlatformMode platform;
  if (fault_.empty())
    fault_ = "model fault in " + describe_event(model_, id, kFinish, end_) + ": " + what;
}

void Finisher::abandon(LpId id, std::uint64_t hash) {
  fingerprint_ += fingerprint::contribution(id, hash);
}

void Finisher::store(RunResult& result) {
  if (rows_ != nullptr) rows_->commit(0, buffer_);
  result.fingerprint = fingerprint_;
  result.metrics = totals_;
  if (fault_.empty()) return;
  result.end = RunEnd::fault;
  result.fault = fault_;
}

}  // namespace orrery
