// SPDX-License-Identifier: Apache-2.0
#include "run/survey/survey_run.h"

#include <cstring>
#include <memory>
#include <new>

#include "pending/engine_set.h"
#include "run/clock.h"
#include "run/execution/execution.h"
#include "run/loop/key_order.h"
#include "run/loop/plain_events.h"
#include "run/options/model_checks.h"
#include "run/survey/edge_survey.h"

namespace orrery {
namespace {

template <class Pending>
class SurveyRun {
 public:
  SurveyRun(const Model& model, const Promises& promises, const RunOptions& options,
            RunControl& control)
      : model_(model),
        promises_(promises),
        options_(options),
        control_(control),
        trail_(options.livelock_microsteps),
        survey_(model, promises,
                [this](LpId id) -> const LogicalProcessBase& { return *lps_[id].object; }),
        // Sends beyond the horizon count, too.
        execution_(model, no_promises_, options.without_horizon(), Outbox{*this}) {}
  ~SurveyRun() {
    for (LpId id = 0; id < lps_.size(); ++id) {
      const ModelCall call("its destructor", id);
      lps_[id].object.reset();
    }
  }
  SurveyRun(const SurveyRun&) = delete;
  SurveyRun& operator=(const SurveyRun&) = delete;

  SurveyResult run(const SurveyLimits& limits) {
    const ThreadWatch watched(control_.threads, model_, execution_, false);
    try {
      start();
      result_.end = loop(limits);
    } catch (const UsageError&) {
      throw;
    } catch (...) {
      note_fault();
    }
    result_.edges = survey_.kinds();
    result_.delays = durations_.delays();
    result_.conclusion = survey_.conclusion();
    result_.broken = survey_.broken();
    return std::move(result_);
  }

 private:
  struct Lp {
    std::unique_ptr<LogicalProcessBase> object;
    KernelState kernel;
  };
  struct Outbox {
    SurveyRun& run;
    using Modes = OutboxModes<HandlersMode>;
    template <class Payload>
    void send(const EventHeader& header, const Payload& payload) {
      run.send(header, payload);
    }
    void append_row(const Row&) {}
  };
  static constexpr std::uint64_t kPollEvents = 1024;

  void start() {
    lps_.resize(model_.lp_count());
    for (LpId id = 0; id < lps_.size() && !stopped(); ++id) {
      in_create_ = id;
      lps_[id].object = create_lp(model_, id);
    }
    in_create_.reset();
    for (LpId id = 0; id < lps_.size() && !stopped(); ++id) {
      execution_.begin_start(id, *lps_[id].object, lps_[id].kernel);
      execution_.call_start();
      execution_.end(lps_[id].kernel);
    }
  }

  RunEnd loop(const SurveyLimits& limits) {
    Stopwatch watch;
    for (double seconds = 0; !stopped(); seconds += watch.lap()) {
      if (seconds >= limits.seconds) return RunEnd::paused;
      std::uint64_t executed = 0;
      if (!loop::execute_in_order(
              events_, executed,
              [&] { return executed < kPollEvents && result_.events < limits.events; },
              [](const PlainEvent&) { return true; },
              [this](PlainEvent* event) { handle(event); })) {
        result_.reached = options_.until;
        return RunEnd::completed;
      }
      if (result_.events == limits.events && events_.top() != nullptr) return RunEnd::paused;
      control_.gvt_ticks.store(result_.reached.ticks(), std::memory_order_relaxed);
      control_.committed.store(result_.events, std::memory_order_relaxed);
      control_.executed.store(result_.events, std::memory_order_relaxed);
    }
    return RunEnd::interrupted;
  }

  void handle(PlainEvent* event) {
    Lp* const lp = events_.begin(event, lps_, execution_);
    if (lp == nullptr) return;
    result_.reached = event->time();
    trail_.note(event->key(), event->receiver);
    durations_.begin(*lp->object, event->type, execution_.duration());
    execution_.call();
    execution_.end(lp->kernel);
    ++result_.events;
    events_.release(event);
  }

  template <class Payload>
  void send(const EventHeader& header, const Payload& payload) {
    durations_.note_send(header.time() - execution_.cause().time(),
                         header.sender() == header.receiver);
    if (!survey_.note(execution_.cause(), header)) note_breach(header);
    if (header.time() >= options_.until) return;
    events_.push(header, payload);
  }

  void note_breach(const EventHeader& sent) {
    if (result_.breaches.size() == SurveyResult::kMostBreaches) return;
    const Duration delay = sent.time() - execution_.cause().time();
    ModelCode code;
    static_cast<const HandlerExecution&>(execution_).tell(code);
    result_.breaches.push_back(
        describe_event(model_, sent.sender(), code.event, execution_.cause().time()) + ": " +
        broken_promise_text(model_, promises_, sent.sender(), sent.receiver, delay));
  }

  /// Notes the exception that is being handled.
  void note_fault() {
    result_.end = RunEnd::fault;
    if (in_create_) {
      result_.fault = describe_current_exception(model_, *in_create_, {}, Time::zero());
      return;
    }
    const HandlerFault fault{execution_.cause(), execution_.self(), execution_.describe_failure()};
    FaultReport report(fault.key, options_.livelock_microsteps);
    report.add(&fault);
    report.add(trail_);
    result_.fault = report.text(model_);
  }

  bool stopped() const { return control_.stop_requested.load(std::memory_order_relaxed); }

  const Model& model_;
  const Promises& promises_;
  const Promises no_promises_;
  const RunOptions& options_;
  RunControl& control_;
  std::vector<Lp> lps_;
  std::optional<LpId> in_create_;  ///< the LP that is being created
  EventDepot depot_;
  loop::PlainEvents<Pending, Lp, EventPool<32, Pools::one>> events_{depot_};
  LivelockTrail trail_;
  EdgeSurvey survey_;
  DurationSurvey durations_;
  Execution<Outbox> execution_;
  SurveyResult result_;
};

}  // namespace

SurveyResult survey_run(const Model& model, const RunOptions& options, const SurveyLimits& limits,
                        RunControl& control) {
  check_options(model, options);
  const Promises promises(model, communication_of(model));
  using Pending = pending::EngineSet<PlainEvent>;
  return SurveyRun<Pending>(model, promises, options, control).run(limits);
}

}  // namespace orrery
