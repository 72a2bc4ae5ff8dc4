// SPDX-License-Identifier: Apache-2.0
#include "run/threads/team.h"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/machine.h"
#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "orrery/error.h"
#include "run/threads/supervised_run.h"

namespace orrery {

unsigned count_workers(const RunOptions& options, const Model& model) {
  if (options.workers > kMostWorkers) {
    throw UsageError("--workers " + std::to_string(options.workers) + " is too many; at most " +
                     std::to_string(kMostWorkers) + " are possible");
  }
  const unsigned share = std::max(1u, usable_cores() / options.place.sharing);
  const unsigned wanted = options.workers == 0 ? share : options.workers;
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, model.lp_count()));
}

unsigned count_useful_workers(const RunOptions& options, const Model& model) {
  return count_threads(options, count_workers(options, model));
}

std::string note_of_workers(unsigned executing, unsigned asked) {
  return std::to_string(executing) + (executing == 1 ? " worker executes" : " workers execute") +
         ", not " + std::to_string(asked) + ": as many as threads (--threads)";
}

unsigned count_threads(const RunOptions& options, unsigned workers) {
  const auto asked = static_cast<unsigned>(options.get(threads_option()));
  return std::min(workers, asked > 0 ? asked : usable_cores());
}

Team::Team(unsigned workers, bool bind, const RankPlace& place)
    : workers_(workers),
      crowded_(workers * place.sharing > usable_cores()),
      binds_(bind && workers * place.sharing > 1 && !crowded_),
      first_core_(place.sharing > 1 ? place.index * workers : 0),
      step_(workers, StepEnd{*this}) {}

void Team::start(unsigned first, Duty duty) {
  duty_ = std::move(duty);
  try {
    for (unsigned worker = first; worker < workers_; ++worker)
      threads_.emplace_back(
          [this, worker] { on_model_stack([this, worker] { run_worker(worker); }); });
  } catch (const std::system_error& error) {
    // Started threads may wait at the end of a step for the others, also for the caller's workers,
    // which will never run.
    failed_.store(true, std::memory_order_relaxed);
    step_failed_.store(true, std::memory_order_relaxed);
    for (std::size_t i = threads_.size(); i < workers_; ++i) step_.arrive_and_drop();
    throw SystemFailure("the system refused to start " + std::to_string(workers_) + " threads (" +
                        error.what() + "); use fewer --workers");
  }
}

void Team::run_worker(unsigned worker) noexcept {
  if (binds_) bind(worker);
  try {
    duty_.work(worker);
    return;
  } catch (...) {
    memory::leave_application_mode();  // whatever the worker was doing
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::current_exception();
  }
  step_failed_.store(true, std::memory_order_relaxed);
  failed_.store(true, std::memory_order_seq_cst);
  step_.arrive_and_drop();
  duty_.wake();
}

void Team::join() {
  threads_.clear();
}

void Team::finish() {
  join();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Team::bind(unsigned worker) {
  if (!binds_) return true;
  if (bind_to_core(first_core_ + worker)) return true;
  bind_failed_.store(true, std::memory_order_relaxed);
  return false;
}

void Team::note_failure(SetUpFailure failure) {
  step_failed_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto order = [](const SetUpFailure& f) { return std::tuple(f.phase, f.lp); };
  if (!set_up_failure_ || order(failure) < order(*set_up_failure_))
    set_up_failure_ = std::move(failure);
}

bool Team::end_step() {
  step_.arrive_and_wait();
  return step_passed_;
}

bool Team::take_failure(const Model& model, RunResult& result) const {
  if (!set_up_failure_) return false;
  if (set_up_failure_->usage) throw UsageError(set_up_failure_->sentence);
  result.end = RunEnd::fault;
  result.fault = set_up_failure_->sentence;
  result.metrics.resize(model.metrics().size());
  return true;
}

void Team::add_notes(std::vector<std::string>& notes) const {
  if (bind_failed_.load(std::memory_order_relaxed))
    notes.push_back("the system refused to bind workers to cores");
}

}  // namespace orrery
