// SPDX-License-Identifier: Apache-2.0
//
// The laboratory: real Linux hosts, joined by links, executed in virtual-time order (after
// Yoginath: Virtual time-aware virtual machine systems, Georgia Tech, 2014, who does it under a
// modified Xen). A host is a guest (guest.h) and an LP that cannot roll back.
//
// **How far a host may run.** When a host executes an event at t, it runs all that it does before
// t + w, its window: half of the shortest delay of a link that leads to it. A frame that arrives
// there at a is an event at a - w: so all that arrive before t + w are known at t, and each
// interrupts the host at its exact time. A frame that leaves during [t, t + w') over a link with
// the delay d arrives at t + d or later, and d - w >= d / 2 is what the model promises the engines:
// hosts run side by side.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "capture.h"
#include "guest.h"
#include "guest_error.h"
#include "guest_scripts.h"
#include "orrery/orrery.h"
#include "topology.h"

namespace {

using namespace orrery::lab;
using orrery::CommunicationGraph;
using orrery::Context;
using orrery::Duration;
using orrery::LpExecution;
using orrery::LpId;
using orrery::Metric;
using orrery::ModelFault;
using orrery::Parameter;
using orrery::Time;
using orrery::UsageError;

/// The host has something to do.
struct Wake {};
/// A frame that arrives at a device, `wait_ns` after this event.
struct Arrival {
  std::uint32_t device, reserved = 0;
  std::int64_t wait_ns;
};

class Lab final : public orrery::Model {
 public:
  Parameter<std::string> topology_file{
      *this, "topology", "", {.help = "hosts and links, a TOML file (models/lab/README.md)"}};
  Parameter<std::string> folder{
      *this,
      "folder",
      "results/lab",
      {.help =
           "where consoles and captures of the hosts lie; what lay there for them is replaced"}};
  Parameter<std::string> kernel{
      *this, "kernel", "build/lab/linux", {.help = "of the hosts, made by ./dev lab"}};
  Parameter<bool> check{
      *this, "check", false, {.help = "read the topology, say what it is, and run nothing"}};

  Metric frames{*this, "frames", "", "frames that left a host; the value is their length in bytes"};
  Metric refused{*this, "refused", "", "frames for which a host had no buffer, each host"};
  orrery::Table traffic{*this,
                        "traffic",
                        {{"sent_ns", orrery::ColumnType::integer, "ns"},
                         {"arrived_ns", orrery::ColumnType::integer, "ns"},
                         {"device", orrery::ColumnType::integer},
                         {"to_host", orrery::ColumnType::integer},
                         {"bytes", orrery::ColumnType::integer, "B"}},
                        "every frame that left a host"};

  void prepare() override;
  std::uint64_t lp_count() const override { return check ? 1 : topology_.hosts.size(); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId id) const override;
  LpExecution execution_of(LpId) const override { return LpExecution::confined; }
  void communication(CommunicationGraph& graph) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(60); }
  void report(orrery::Report& report, Time) const override {
    report.value("hosts", static_cast<double>(topology_.hosts.size()), "", "in the topology");
  }

  const Host& host(LpId id) const { return topology_.hosts[id]; }
  std::int64_t window_ns(LpId id) const { return windows_ns_[id]; }
  std::filesystem::path folder_of(LpId id) const {
    return std::filesystem::absolute(folder.value()) / host(id).name;
  }

 private:
  void prepare_folder(LpId id) const;

  Topology topology_;
  std::vector<std::int64_t> windows_ns_;
};

/// What the host's first shell does: its interfaces, its setup, and its programs at their times.
std::string script_of(const Host& host) {
  std::string script = "hostname " + host.name + "\nip link set lo up\n";
  for (std::size_t i = 0; i < host.devices.size(); ++i) {
    const std::string device = "eth" + std::to_string(i);
    if (!host.devices[i].address.empty())
      script += "ip address add " + host.devices[i].address + " dev " + device + "\n";
    script += "ip link set " + device + " up\n";
  }
  for (const std::string& command : host.setup) script += command + "\n";
  for (const Host::Program& program : host.programs) {
    const std::string at = std::to_string(program.at_ns / 1'000'000'000) + "." +
                           std::to_string(1'000'000'000 + program.at_ns % 1'000'000'000).substr(1);
    script += "(sleep " + at + "; " + program.command + ") &\n";
  }
  return script + "wait\n";
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw UsageError("'" + path.string() + "' cannot be written");
}

void Lab::prepare_folder(LpId id) const {
  const std::filesystem::path at = folder_of(id);
  std::filesystem::remove_all(at);
  std::filesystem::create_directories(at / "guest");
  write_file(at / "enter", kEnterScript);
  write_file(at / "guest/init", kInitScript);
  write_file(at / "guest/host", script_of(host(id)));
  std::filesystem::permissions(at / "guest/init", std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  std::filesystem::copy_file(std::filesystem::path(kernel.value()).replace_filename("off"),
                             at / "guest/off");
}

void Lab::prepare() {
  if (topology_file.value().empty())
    throw UsageError(
        "a laboratory needs a topology: --set topology=FILE.toml; models/lab/topologies "
        "has some");
  topology_ = read_topology(topology_file);
  constexpr std::int64_t kAlone = 1'000'000'000;
  windows_ns_.assign(topology_.hosts.size(), 2 * kAlone);
  for (const Host& host : topology_.hosts)
    for (const Host::Device& device : host.devices) {
      std::int64_t& shortest = windows_ns_[device.wire.host];
      shortest = std::min(shortest, device.wire.delay_ns);
    }
  for (std::int64_t& window : windows_ns_) window /= 2;
  if (check) return;
  if (!std::filesystem::exists(kernel.value()))
    throw UsageError("there is no kernel for the hosts at '" + kernel.value() +
                     "': ./dev lab builds it, or --set kernel=FILE");
  try {
    for (LpId id = 0; id < topology_.hosts.size(); ++id) prepare_folder(id);
  } catch (const std::filesystem::filesystem_error& error) {
    throw UsageError(std::string("the hosts' folders cannot be made: ") + error.what());
  }
}

void Lab::communication(CommunicationGraph& graph) const {
  if (check) return;
  for (LpId id = 0; id < topology_.hosts.size(); ++id)
    for (const Host::Device& device : host(id).devices)
      graph.connect(id, device.wire.host,
                    Duration::from_ticks(device.wire.delay_ns - window_ns(device.wire.host)));
  graph.complete();
}

class HostLp final : public orrery::LogicalProcess<HostLp, Wake, Arrival>, private Network {
 public:
  HostLp(const Lab& lab, LpId id) : lab_(lab), id_(id), busy_until_ns_(host().devices.size(), 0) {}

  void start(Context& context) override {
    Guest::Settings settings;
    settings.folder = lab_.folder_of(id_);
    settings.kernel = std::filesystem::absolute(lab_.kernel.value());
    settings.enter = settings.folder / "enter";
    settings.memory_megabytes = host().memory_megabytes;
    settings.seed = context.random().below(~std::uint64_t{0});
    settings.system_call_ns = host().system_call_ns;
    for (unsigned i = 0; i < host().devices.size(); ++i) {
      settings.devices.push_back({2, 0, static_cast<std::uint8_t>(id_ >> 16),
                                  static_cast<std::uint8_t>(id_ >> 8),
                                  static_cast<std::uint8_t>(id_), static_cast<std::uint8_t>(i)});
      captures_.push_back(
          std::make_unique<Capture>(settings.folder / ("eth" + std::to_string(i) + ".pcap")));
    }
    in_guest([&] { guest_ = std::make_unique<Guest>(settings, static_cast<Network&>(*this)); });
    context.schedule(id_, Duration::zero(), Wake{});
  }

  void handle(Context& context, const Wake&) {
    context_ = &context;
    wake_ = {};
    in_guest([&] { guest_->advance(now_ns() + lab_.window_ns(id_)); });
    wake_for_next();
  }
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame) {
    context_ = &context;
    const std::int64_t at = now_ns() + arrival.wait_ns;
    captures_[arrival.device]->add(at, frame);
    in_guest([&] { guest_->arrive(arrival.device, at, {frame.begin(), frame.end()}); });
    wake_for_next();
  }
  void finish(orrery::FinalContext& context) override {
    context.record(lab_.refused, static_cast<double>(guest_->dropped()));
    captures_.clear();
    guest_.reset();
  }

 private:
  const Host& host() const { return lab_.host(id_); }
  std::int64_t now_ns() const { return context_->now().ticks(); }

  std::int64_t sent(unsigned device, std::int64_t time, std::span<const std::byte> frame) override {
    const Wire& wire = host().devices[device].wire;
    const std::int64_t begin = std::max(time, busy_until_ns_[device]);
    const std::int64_t end = begin + transmission_ns(frame.size(), wire.bits_per_s);
    busy_until_ns_[device] = end;
    const std::int64_t arrival = end + wire.delay_ns, window = lab_.window_ns(wire.host);
    captures_[device]->add(time, frame);
    context_->record(lab_.frames, static_cast<double>(frame.size()));
    context_->emit(lab_.traffic, time, arrival, static_cast<std::int64_t>(device),
                   static_cast<std::int64_t>(wire.host), static_cast<std::int64_t>(frame.size()));
    context_->schedule(wire.host, Duration::from_ticks(arrival - window - now_ns()),
                       Arrival{wire.device, 0, window}, frame);
    return end;
  }
  static std::int64_t transmission_ns(std::size_t bytes, std::uint64_t bits_per_s) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    return bits_per_s == 0 ? 0 : static_cast<std::int64_t>(bytes * 8 * kSecond / bits_per_s);
  }

  /// One timer, for the first that it has to do.
  void wake_for_next() {
    const std::int64_t next = guest_->next();
    if (wake_ != orrery::Timer() && next == wakes_ns_) return;
    if (wake_ != orrery::Timer()) context_->cancel(wake_);
    wake_ = {};
    if (next == Guest::kNever) return;
    wakes_ns_ = next;
    wake_ = context_->schedule_timer(
        Duration::from_ticks(std::max<std::int64_t>(next - now_ns(), 0)), Wake{});
  }

  template <class Action>
  void in_guest(Action&& action) {
    try {
      action();
    } catch (const GuestError& error) {
      throw ModelFault("host " + host().name + ": " + error.what() + console_end());
    } catch (const std::length_error& error) {
      throw ModelFault("host " + host().name + ": " + error.what() +
                       "; --set folder= can be shorter");
    }
  }
  /// The last lines that it has shown.
  std::string console_end() const {
    std::ifstream file(lab_.folder_of(id_) / "console");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    constexpr std::size_t kShown = 5;
    std::string text;
    for (std::size_t i = lines.size() - std::min(kShown, lines.size()); i < lines.size(); ++i)
      text += "\n  " + lines[i];
    return text.empty() ? "; its console shows nothing" : "; its console ends with" + text;
  }

  const Lab& lab_;
  const LpId id_;
  Context* context_ = nullptr;  ///< of the event that is handled
  std::unique_ptr<Guest> guest_;
  std::vector<std::unique_ptr<Capture>> captures_;  ///< by device
  std::vector<std::int64_t> busy_until_ns_;         ///< by device: what it sends
  orrery::Timer wake_;
  std::int64_t wakes_ns_ = 0;
};

class NothingLp final : public orrery::LogicalProcess<NothingLp, Wake> {
 public:
  void handle(Context&, const Wake&) {}
};

std::unique_ptr<orrery::LogicalProcessBase> Lab::create(LpId id) const {
  if (check) return std::make_unique<NothingLp>();
  return std::make_unique<HostLp>(*this, id);
}

ORRERY_MODEL(Lab, "lab", "real Linux hosts on virtual time, joined by links");

}  // namespace
