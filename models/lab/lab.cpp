// SPDX-License-Identifier: Apache-2.0
#include "lab.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "guest_scripts.h"
#include "host_lp.h"
#include "processor.h"
#include "switch_lp.h"

namespace orrery::lab {
namespace {

/// A word of a shell's.
std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

/// What the host's first shell does: its files, interfaces, setup, and programs at their times.
std::string script_of(const Host& host) {
  std::string script = "hostname " + host.name + "\nip link set lo up\n";
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    script += "mkdir -p \"$(dirname " + quoted(path) + ")\"; cp -r /lab/files/" +
              std::to_string(number++) + " " + quoted(path) + "\n";
  for (std::size_t i = 0; i < host.ports.size(); ++i) {
    const std::string device = "eth" + std::to_string(i);
    if (!host.ports[i].address.empty())
      script += "ip address add " + host.ports[i].address + " dev " + device + "\n";
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

class NothingLp final : public LogicalProcess<NothingLp, Wake> {
 public:
  void handle(Context&, const Wake&) {}
};

}  // namespace

void Lab::prepare_folder(LpId id) const {
  const std::filesystem::path at = folder_of(id);
  std::filesystem::remove_all(at);
  std::filesystem::create_directories(at / "guest/files");
  std::filesystem::create_directories(at / "out");
  write_file(at / "guest/init", kInitScript);
  write_file(at / "guest/host", script_of(host(id)));
  std::filesystem::permissions(at / "guest/init", std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  std::filesystem::copy_file(std::filesystem::path(kernel.value()).replace_filename("off"),
                             at / "guest/off");
  std::size_t number = 0;
  for (const auto& [path, from] : host(id).files)
    std::filesystem::copy(from, at / "guest/files" / std::to_string(number++),
                          std::filesystem::copy_options::recursive);
}

void Lab::prepare() {
  if (topology_file.value().empty())
    throw UsageError(
        "a laboratory needs a topology: --set topology=FILE.toml; models/lab/topologies "
        "has some");
  topology_ = read_topology(topology_file);
  set_windows();
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

void Lab::set_windows() {
  constexpr std::int64_t kAlone = 1'000'000'000;
  windows_ns_.assign(topology_.nodes(), 2 * kAlone);
  for (NodeId id = 0; id < topology_.nodes(); ++id)
    for (const Port& port : topology_.node(id).ports) {
      std::int64_t& shortest = windows_ns_[port.wire.node];
      shortest = std::min(shortest, port.wire.least_delay_ns());
    }
  if (window.value() <= Duration::zero()) throw UsageError("--set window= is longer than nothing");
  for (NodeId id = 0; id < topology_.nodes(); ++id)
    windows_ns_[id] =
        topology_.is_host(id) ? std::min(windows_ns_[id] / 2, window.value().ticks()) : 0;
}

void Lab::communication(CommunicationGraph& graph) const {
  if (check) return;
  for (NodeId id = 0; id < topology_.nodes(); ++id)
    for (const Port& port : topology_.node(id).ports)
      graph.connect(id, port.wire.node,
                    Duration::from_ticks(port.wire.least_delay_ns() - window_ns(port.wire.node)));
  graph.complete();
}

void Lab::report(Report& report, Time) const {
  report.value("hosts", static_cast<double>(topology_.hosts.size()), "", "in the topology");
  report.value("switches", static_cast<double>(topology_.switches.size()), "", "in the topology");
  report.value(
      "processor_hidden", cpuid_can_be_hidden() ? 1 : 0, "",
      "1: programs see the laboratory's processor; 0: CPUID shows this machine's, and what "
      "uses its random numbers differs from run to run");
}

Outgoing::Passage Lab::send(Context& context, Outgoing& port, std::int64_t time,
                            std::span<const std::byte> frame) const {
  const Outgoing::Passage passage = port.send(time, frame.size());
  if (passage.fate == Outgoing::Fate::queue_full) {
    context.record(dropped, static_cast<double>(frame.size()));
  } else if (!passage.arrives()) {
    context.record(lost, static_cast<double>(frame.size()));
  }
  if (!passage.arrives()) return passage;
  const Wire& wire = port.wire();
  const std::int64_t ahead = window_ns(wire.node);
  const auto delay = Duration::from_ticks(passage.arrival_ns - ahead - context.now().ticks());
  const Arrival arrival{wire.port, 0, ahead};
  if (passage.fate == Outgoing::Fate::corrupted) {
    std::vector<std::byte> spoilt(frame.begin(), frame.end());
    spoilt[passage.flipped_bit / 8] ^= std::byte{1} << passage.flipped_bit % 8;
    context.schedule(wire.node, delay, arrival, spoilt);
  } else {
    context.schedule(wire.node, delay, arrival, frame);
  }
  return passage;
}

std::unique_ptr<LogicalProcessBase> Lab::create(LpId id) const {
  if (check) return std::make_unique<NothingLp>();
  if (topology_.is_host(id)) return std::make_unique<HostLp>(*this, id);
  return std::make_unique<SwitchLp>(*this, topology_.switches[id - topology_.hosts.size()]);
}

ORRERY_MODEL(Lab, "lab", "real Linux hosts on virtual time, joined by links and switches");

}  // namespace orrery::lab
