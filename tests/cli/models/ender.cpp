// SPDX-License-Identifier: Apache-2.0
//
// A model that ends the process, or never lets go of it, in the way and at the place that its
// parameters say: what the command must give a sentence.
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "crashes.h"
#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Parameter;
using orrery::Time;
using orrery::testing::descend;
using orrery::testing::nowhere;
using orrery::testing::seven;
using orrery::testing::zero;

struct Step {};

[[gnu::noinline]] void throw_number(int number) {
  throw number;
}
void let_nothing_out(int what) noexcept {
  throw_number(what);
}

/// Returns.
void misbehave(const std::string& how) {
  if (how == "raise_term") raise(SIGTERM);
  if (how == "kill_term") kill(getpid(), SIGTERM);
  if (how == "raise_trap") raise(SIGTRAP);
  if (how == "raise_usr2") kill(getpid(), SIGUSR2);
  if (how == "unguarded") {
    signal(SIGSEGV, SIG_DFL);
    *nowhere = 1;
  }
  if (how == "fork" && fork() == 0) return;
  // Nothing lies there; the second could be an address of malloc's.
  volatile std::uintptr_t wild = how == "free" ? 0x1234567 : how == "free_aligned" ? 0x1234560 : 0;
  std::free(reinterpret_cast<void*>(wild));
  // One of the C library's that nothing else needs.
  if (how == "dlopen" && dlopen("libBrokenLocale.so.1", RTLD_NOW) == nullptr)
    throw std::runtime_error("no library to open");
  if (how == "dlopen" && dlopen("/nowhere.so", RTLD_NOW) == nullptr && dlerror() == nullptr)
    throw std::runtime_error("the error was forgotten");
}

void end(const std::string& how) {
  if (how == "segv") *nowhere = 1;
  if (how == "fpe") seven = seven / zero;
  if (how == "abort") std::abort();
  if (how == "terminate") let_nothing_out(1 + zero);
  if (how == "stack") descend(0);
  if (how == "exit") std::exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "_exit") _exit(0);
  if (how == "_Exit") std::_Exit(0);
  if (how == "unnoticed") syscall(SYS_exit_group, 9);
  if (how == "number") throw_number(5);
  misbehave(how);
  if (how == "library")
    zero = static_cast<int>(
        std::strlen(reinterpret_cast<const char*>(const_cast<const int*>(nowhere))));
  while (how == "loop") zero = 0;
}

class Ender final : public orrery::Model {
 public:
  Ender() {
    if (const char* wanted = std::getenv("ENDER_CONSTRUCTOR")) end(wanted);
  }
  ~Ender() override { end_in("destructor"); }
  Parameter<std::string> how{*this, "how", "not", {.help = "how it ends"}};
  Parameter<std::string> where{*this,
                               "where",
                               "handler",
                               {.help = "where it ends",
                                .choices = {"handler", "prepare", "create", "start", "finish",
                                            "report", "lp_count", "lookahead", "tick_seconds",
                                            "default_horizon", "destructor", "LP's destructor"}}};
  Parameter<double> tick{*this, "tick", 1e-9, {.help = "seconds"}};
  Parameter<std::int64_t> horizon{*this, "horizon", 100'000'000'000, {.help = "ticks"}};

  void end_in(const char* place) const {
    if (where.value() == place) end(how);
  }
  void prepare() override { end_in("prepare"); }
  std::uint64_t lp_count() const override {
    end_in("lp_count");
    return 4;
  }
  Duration lookahead() const override {
    end_in("lookahead");
    return Duration::seconds(1);
  }
  double tick_seconds() const override {
    end_in("tick_seconds");
    return tick;
  }
  Time default_horizon() const override {
    end_in("default_horizon");
    return Time::from_ticks(horizon);
  }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId id) const override;
  void report(orrery::Report&, Time) const override { end_in("report"); }
};

class EnderLp final : public orrery::LogicalProcess<EnderLp, Step> {
 public:
  explicit EnderLp(const Ender& model) : model_(model) {}
  ~EnderLp() override {
    if (steps_ > 5) model_.end_in("LP's destructor");
  }
  void start(Context& context) override {
    if (context.self() == 3) model_.end_in("start");
    context.schedule(context.self(), Duration::seconds(1), Step{});
  }
  void handle(Context& context, const Step&) {
    context.schedule((context.self() + 1) % context.lp_count(), Duration::seconds(1), Step{});
    if (context.self() != 3) return;
    if (++steps_ == 5) model_.end_in("handler");
  }
  void finish(orrery::FinalContext& context) override {
    if (context.self() == 3) model_.end_in("finish");
  }

 private:
  const Ender& model_;
  int steps_ = 0;
};

std::unique_ptr<orrery::LogicalProcessBase> Ender::create(LpId id) const {
  if (id == 3) end_in("create");
  return std::make_unique<EnderLp>(*this);
}

ORRERY_MODEL(Ender, "ender", "ends the process");

}  // namespace
