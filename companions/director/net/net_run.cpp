// SPDX-License-Identifier: Apache-2.0
#include "director/net/net_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "director/scan.h"
#include "orrery/error.h"

namespace orrery::director {

NetRun::NetRun(Orders orders)
    : orders_(std::move(orders)), topology_(lab::read_topology(orders_.description)) {
  require_virtual_machines();
  std::filesystem::create_directories(orders_.folder);
  network_ = std::make_unique<Network>(topology_, orders_.seed, orders_.folder.string());
  started_ = std::chrono::steady_clock::now();
  for (const lab::Host& host : topology_.hosts) {
    machines_.emplace_back(host, orders_.folder / host.name);
    keeper_.keep(machines_.back().process());
    weights_.push_back(host.vm.weight);
  }
  has_told_end_.assign(machines_.size(), false);
  last_views_.resize(machines_.size());
}

NetRun::~NetRun() {
  stop();
}

void NetRun::require_virtual_machines() const {
  unsigned processors = 0;
  for (const lab::Host& host : topology_.hosts) {
    if (host.machine != lab::MachineKind::vm)
      throw UsageError(fmt::format(
          "host '{}' of '{}' has virtual time of its own: 'orrery run lab --set topology={}' runs "
          "it; the director takes hosts with machine = \"vm\"",
          host.name, orders_.description, orders_.description));
    processors += host.vm.processors;
    for (const lab::Host::Program& program : host.programs)
      throw UsageError(
          fmt::format("host '{}' is a virtual machine, so it executes no command ('{}')", host.name,
                      program.command));
    if (host.crash_ns != lab::Host::kNever)
      throw UsageError(
          fmt::format("host '{}' is a virtual machine, which has no event 'crash'", host.name));
  }
  if (!topology_.radios.empty())
    throw UsageError(
        fmt::format("'{}' has a [[radio]], which only the laboratory has; the director "
                    "has links and switches",
                    orders_.description));
  if (processors > ClockBoard::kMostProcessors)
    throw UsageError(fmt::format("'{}' has {} virtual processors; the director takes {}",
                                 orders_.description, processors, ClockBoard::kMostProcessors));
}

bool NetRun::has_processors(const VirtualMachine& machine, unsigned wanted) const {
  unsigned found = 0;
  for (const pid_t thread : threads_of(machine.process())) {
    const std::string name = name_of(machine.process(), thread);
    if (name.starts_with("ALL CPUs/")) return true;
    found += is_virtual_processor(name);
  }
  return found >= wanted;
}

std::size_t NetRun::wait_for_machines() {
  const auto waited = std::chrono::steady_clock::now() - started_;
  std::size_t ready = 0;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    VirtualMachine& machine = machines_[i];
    machine.read_console();
    if (!machine.is_running())
      throw UsageError(fmt::format("machine '{}' has ended before it was ready: {}", machine.name(),
                                   machine.how_it_ended()));
    const lab::VmHost& vm = topology_.hosts[i].vm;
    if (machine.is_ready() && has_processors(machine, vm.processors)) {
      ++ready;
      continue;
    }
    if (waited < orders_.patience) continue;
    throw UsageError(fmt::format(
        "machine '{}' was not ready within {} s: its console has not shown '{}' (see '{}'){}",
        machine.name(), orders_.patience.count(), vm.ready,
        (orders_.folder / machine.name() / "console").string(),
        machine.accelerator() == "kvm" ? "; if the machine does not start with KVM here, "
                                         "accelerator = \"tcg\" starts it without"
                                       : ""));
  }
  return ready;
}

void NetRun::begin() {
  director::Orders orders = orders_.director;
  orders.selection = {};
  std::vector<pid_t> processes;
  std::vector<std::vector<int>> cards;
  for (const VirtualMachine& machine : machines_) {
    processes.push_back(machine.process());
    std::vector<int>& sockets = cards.emplace_back();
    for (const Descriptor& card : machine.cards()) sockets.push_back(card.number());
  }
  orders.selection.processes = processes;
  orders.publishes_clocks = true;
  orders.most_tick = director::Orders::kMostTick;
  director_ = std::make_unique<Director>(orders);
  Switchboard::Settings settings{.is_real_time = !orders.only_watch, .hurry = nullptr};
  if (orders.only_watch) {
    times_ = std::make_unique<WallTimes>();
  } else {
    times_ =
        std::make_unique<MachineClocks>(director_->clocks(), processes, director_->task_clocks());
    settings.hurry = [this] { director_->hurry(); };
  }
  switchboard_ = std::make_unique<Switchboard>(*network_, *times_, cards, std::move(settings));
  director_->start();
  for (std::size_t i = 0; i < machines_.size(); ++i)
    if (weights_[i] != 1) set_weight(machines_[i].name(), weights_[i]);
  switchboard_->start();
}

bool NetRun::look() {
  std::size_t running = 0;
  for (VirtualMachine& machine : machines_) {
    machine.read_console();
    running += machine.is_running();
  }
  if (pace_ < 1 && !is_paused_) let_run(duty_.next());
  switchboard_->check();
  views();  // of machines that end before the next call
  return director_->look() && running > 0;
}

void NetRun::stop() {
  if (switchboard_) switchboard_->stop();
  if (director_) director_->stop();
}

std::vector<NetRun::MachineView> NetRun::views() {
  std::vector<MachineView> views;
  const std::vector<ThreadView> threads = director_->views();
  const Switchboard::Counts network = switchboard_->counts();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    VirtualMachine& machine = machines_[i];
    MachineView& view = views.emplace_back(MachineView{
        .name = machine.name(),
        .accelerator = machine.accelerator(),
        .ended = machine.is_running() ? "" : machine.how_it_ended(),
        .processors = topology_.hosts[i].vm.processors,
        .weight = weights_[i],
        .frames = i < network.machines.size() ? network.machines[i] : Network::Counts{}});
    for (const ThreadView& thread : threads) {
      if (thread.is_helper || thread.id.process != machine.process()) continue;
      view.virtual_time = std::max(view.virtual_time, thread.virtual_time);
      view.consumed += thread.consumed;
    }
    view.virtual_time = std::max(view.virtual_time, last_views_[i].virtual_time);
    view.consumed = std::max(view.consumed, last_views_[i].consumed);
  }
  last_views_ = views;
  return views;
}

Switchboard::Counts NetRun::network() {
  return switchboard_->counts();
}

std::vector<std::string> NetRun::newly_ended() {
  std::vector<std::string> ended;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (has_told_end_[i] || machines_[i].is_running()) continue;
    has_told_end_[i] = true;
    ended.push_back(fmt::format("machine '{}' has ended ({})", machines_[i].name(),
                                machines_[i].how_it_ended()));
  }
  return ended;
}

void NetRun::pause(bool paused) {
  is_paused_ = paused;
  let_run(!paused);
}

void NetRun::set_pace(double share) {
  pace_ = share;
  duty_ = Duty(share);
  let_run(!is_paused_);
}

void NetRun::let_run(bool run) {
  if (are_running_ == run) return;
  are_running_ = run;
  if (!run) switchboard_->hold(true);
  for (VirtualMachine& machine : machines_) {
    if (run)
      machine.go_on();
    else
      machine.stop();
  }
  if (run) switchboard_->hold(false);
}

void NetRun::set_weight(const std::string& name, double weight) {
  const auto machine = std::find_if(machines_.begin(), machines_.end(),
                                    [&](const VirtualMachine& one) { return one.name() == name; });
  if (machine == machines_.end()) throw UsageError(fmt::format("there is no machine '{}'", name));
  weights_[std::size_t(machine - machines_.begin())] = weight;
  director_->change({.weight = std::pair(machine->process(), weight)});
}

}  // namespace orrery::director
