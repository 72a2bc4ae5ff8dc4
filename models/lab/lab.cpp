// SPDX-License-Identifier: Apache-2.0
#include "lab.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "draw.h"
#include "executed.h"
#include "host_lp.h"
#include "processor.h"
#include "radio_lp.h"
#include "switch_lp.h"
#include "terminal_lp.h"
#include "tree_digest.h"

namespace orrery::lab {
namespace {

/// The file in a host's folder that says why the host was given up.
constexpr const char* kGivenUp = "given_up";

class NothingLp final : public LogicalProcess<NothingLp, Wake> {
 public:
  void handle(Context&, const Wake&) {}
};

}  // namespace

void Lab::prepare() {
  if (!again.folder.value().empty()) repeat_earlier_run();
  if (topology_file.value().empty())
    throw UsageError(
        "a laboratory needs a topology: --set topology=FILE.toml; models/lab/topologies "
        "has some");
  topology_ = read_topology(topology_file, more_events());
  if (!picture.value().empty()) write_file(picture.value(), draw(topology_));
  add_terminal();
  set_windows();
  if (check) return;
  note_memory();
  make_machines();
  groups_ = ControlGroups::of_this_machine();
  try {
    if (ranks() == 1) begin_log();
    take_folder();
    for (const auto& machine : machines_)
      if (machine) machine->prepare();
    if (ranks() > 1) compare_machines();
  } catch (const std::filesystem::filesystem_error& error) {
    throw UsageError(std::string("the hosts' folders cannot be made: ") + error.what());
  }
  if (!spread_file.value().empty())
    spread_ = std::make_unique<Spread>(spread_file.value(), topology_.hosts.size());
}

/// What the log has of the parameters.
std::vector<Setting> Lab::settings() {
  return {{&topology_file, true}, {&again.events, true}, {&shell}, {&rate}, {&uml.kernel, true},
          {&uml.olsrd, true},     {&qemu.folder, true}};
}

void Lab::repeat_earlier_run() {
  if (ranks() > 1)
    throw UsageError("--set again= needs one process; leave out --ranks and launchers of MPI");
  again_.emplace(again, settings(), folder.value(), seed());
}

std::vector<MoreEvents> Lab::more_events() const {
  std::vector<MoreEvents> more;
  for (const std::string& path : split_at_commas(again.events))
    more.push_back({path, again_ && again_->adds(path) ? again_->until_ns() : 0});
  return more;
}

/// Throws UsageError if what hosts need is missing.
void Lab::make_machines() {
  for (const Host& one : topology_.hosts) {
    const auto kind = static_cast<std::size_t>(one.machine);
    if (kind >= machines_.size()) machines_.resize(kind + 1);
    if (machines_[kind]) continue;
    machines_[kind] = make_machine(one.machine, *this);
    machines_[kind]->check();
  }
}

/// What hosts see of this machine, but for its own programs and libraries.
SeenFiles Lab::seen_files() const {
  SeenFiles all;
  for (const auto& machine : machines_)
    if (machine)
      for (auto& one : machine->digests()) all.push_back(std::move(one));
  return all;
}

/// What hosts see must be equal on the machines of all ranks, and is equal on one machine.
void Lab::compare_machines() {
  for (auto& [what, digest] : seen_files()) must_be_equal(std::move(what), std::move(digest));
}

/// Prepares the log of this run, which begins with what it repeats. Throws UsageError if hosts would
/// see something else.
void Lab::begin_log() {
  TreeDigests then, added;
  then.add("the program", std::filesystem::read_symlink("/proc/self/exe"));
  for (const std::filesystem::path& file : topology_.files) then.add("the file", file);
  for (const std::string& file : split_at_commas(again.events))
    (again_ && again_->adds(file) ? added : then).add("the file", file);
  SeenFiles seen = seen_files();
  for (auto& one : then.take()) seen.push_back(std::move(one));
  if (again_) again_->compare(seen);
  RunRecords records = again_ ? again_->records() : RunRecords();
  records.seed = seed();
  records.settings.clear();
  for (const Setting& one : settings()) records.settings[one.parameter->name()] = one.text();
  records.seen = {seen.begin(), seen.end()};
  for (auto& one : added.take()) records.seen.insert(std::move(one));
  log_ = std::make_unique<RunLog>(hosts_folder(), std::move(records));
}

std::string Lab::refuses_ranks() const {
  if (!shell.value().empty() || rate != 0)
    return "a shell and a rate need one process; leave out --ranks and launchers of MPI";
  if (!spread_file.value().empty())
    return "--set spread= needs one process; leave out --ranks and launchers of MPI";
  return {};
}

std::filesystem::path Lab::hosts_folder() const {
  const std::filesystem::path all = std::filesystem::absolute(folder.value());
  return rank() == 0 ? all : all / (".rank" + std::to_string(rank()));
}

std::vector<std::string> Lab::leaves(LpId id) const {
  if (check || !topology_.is_host(id)) return {};
  const std::filesystem::path at = folder_of(id);
  std::vector<std::string> paths = {at / "console", at / "out", at / kGivenUp};
  for (unsigned i = 0; i < host(id).ports.size(); ++i)
    paths.push_back(at / ("eth" + std::to_string(i) + ".pcap"));
  for (const auto& path : machine_of(id).leaves(id)) paths.push_back(path);
  return paths;
}

/// Rank 0 has all that hosts have left.
Lab::~Lab() {
  if (rank() == 0 || !taken_.is_open()) return;
  std::error_code none;
  std::filesystem::remove_all(hosts_folder(), none);
  std::filesystem::remove(folder.value(), none);  // only if it is empty
}

void Lab::add_terminal() {
  if (shell.value().empty() && rate == 0) return;
  const auto host = std::find_if(topology_.hosts.begin(), topology_.hosts.end(),
                                 [&](const Host& one) { return one.name == shell.value(); });
  if (!shell.value().empty() && host == topology_.hosts.end())
    throw UsageError("--set shell=: there is no host '" + shell.value() + "' in '" +
                     topology_file.value() + "'");
  if (host != topology_.hosts.end() && !host->has_linux())
    throw UsageError("--set shell=: host '" + host->name + "' has no shell; only hosts with " +
                     "Linux have one");
  topology_.add_terminal(host == topology_.hosts.end() ? nullptr : &*host);
}

/// Locks the folder of hosts, since two runs would overwrite each other's files.
void Lab::take_folder() {
  const std::filesystem::path own = hosts_folder();
  std::filesystem::create_directories(own);
  taken_ = File(open(own.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!taken_.is_open() || (flock(taken_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK))
    throw UsageError("the folder of hosts '" + own.string() +
                     "' is that of another run that goes on; --set folder= names another");
}

/// Warns if memory may be short: hosts take memory as they use it, too late to refuse a run.
void Lab::note_memory() {
  if (ranks() > 1) return;  // some of the hosts run on other machines
  std::ifstream file("/proc/meminfo");
  std::uint64_t available = 0;
  for (std::string name, unit; file >> name >> available && std::getline(file, unit);)
    if (name == "MemAvailable:") break;
  std::uint64_t asked = 0;
  for (const Host& one : topology_.hosts) asked += one.memory_megabytes;
  if (available > 0 && asked > available / 1024)
    note("the hosts may use " + std::to_string(asked) + " MiB in all, and this machine has " +
         std::to_string(available / 1024) +
         " MiB left; if they do, hosts end. 'memory' of a host is the most that it uses");
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
  if (patience.value() < Duration::seconds(1)) throw UsageError("--set patience= is 1 s or more");
  for (NodeId id = 0; id < topology_.nodes(); ++id)
    windows_ns_[id] = topology_.is_host(id) || topology_.is_radio(id)
                          ? std::min(windows_ns_[id] / 2, window.value().ticks())
                          : 0;
}

void Lab::communication(CommunicationGraph& graph) const {
  if (check) return;
  for (NodeId id = 0; id < topology_.nodes(); ++id)
    for (const Port& port : topology_.node(id).ports)
      graph.connect(id, port.wire.node,
                    Duration::from_ticks(port.wire.least_delay_ns() - window_ns(port.wire.node)));
  graph.complete();
}

void Lab::report(Report& report, Time end) const {
  report.value("hosts", static_cast<double>(topology_.hosts.size()), "", "in the topology");
  report.value("switches", static_cast<double>(topology_.switches.size()), "", "in the topology");
  report.value("radios", static_cast<double>(topology_.radios.size()), "", "in the topology");
  const std::string shown = showing_instructions();
  report.value(
      "processor_hidden", shown.empty() ? 1 : 0, "",
      "1: nothing shows programs this machine's processor; 0: those of 'processor_shown' do");
  report.text("processor_shown", shown.empty() ? "none" : shown,
              "instructions that show programs this machine's processor; those that use RDRAND or "
              "RDSEED differ from run to run");
  report.value("limited_by_cgroup", groups_ ? 1 : 0, "",
               "1: control groups bound the hosts' memory and processes; 0: this machine lets us "
               "make none, and only the hosts' own kernels do");
  const std::string varies = what_does_not_repeat();
  report.text("repeatable", varies.empty() ? "yes" : "no: " + varies,
              "whether the same run does the same again, or what depends on the machine's time");
  report.text("not_started", what_has_not_started(end),
              "programs whose time had not come when the run ended");
  if (!check) report_executed(report);
}

/// The number of programs that have not started, and the first of them.
std::string Lab::what_has_not_started(Time end) const {
  std::size_t count = 0;
  const Host* where = nullptr;
  const Host::Program* first = nullptr;
  std::int64_t first_at = 0;
  for (const Host& one : topology_.hosts)
    for (const Host::Program& program : one.programs) {
      const std::int64_t at = one.clock.to_simulation(program.at_ns);
      if (at < end.ticks()) continue;
      ++count;
      if (first != nullptr && first_at <= at) continue;
      first_at = at;
      where = &one;
      first = &program;
    }
  if (first == nullptr) return "none";
  std::ostringstream text;
  text << count << ", the first on host " << where->name << " at "
       << Time::from_ticks(first_at).to_seconds() << " s, and the run ended at " << end.to_seconds()
       << " s: " << first->command;
  return text.str();
}

void Lab::note_given_up(LpId id, std::string_view why) const {
  write_file(folder_of(id) / kGivenUp, why);
}

std::string Lab::what_does_not_repeat() const {
  std::string text = shell.value().empty()
                         ? ""
                         : "what is typed in the shell comes when it comes ('orrery lab again " +
                               folder.value() + "' repeats it)";
  if (check) return text;
  for (LpId id = 0; id < topology_.hosts.size(); ++id) {
    std::ifstream file(folder_of(id) / kGivenUp);
    if (std::string why; std::getline(file, why))
      text += (text.empty() ? "" : "; ") + ("host " + host(id).name + ": ") + why;
  }
  return text;
}

/// Writes the list into the folder of hosts. It is not part of the fingerprint, since another
/// machine has other files.
void Lab::report_executed(Report& report) const {
  ExecutedFiles executed;
  for (LpId id = 0; id < topology_.hosts.size(); ++id)
    machine_of(id).add_executed(static_cast<NodeId>(id), executed);
  const std::string list = executed.csv();
  const std::filesystem::path path = std::filesystem::path(folder.value()) / "executed.csv";
  write_file(path, list);
  report.value("executed_files", static_cast<double>(executed.count()), "",
               "programs, scripts and libraries that hosts executed: executed.csv in 'folder'");
  report.text("executed", sha256(list), "SHA-256 of executed.csv");
  report.value("executed_cut", executed.cut(), "",
               "hosts that told only a part of what they executed");
}

std::vector<std::uint64_t> Lab::random_keys_of_ports(NodeId id, std::string_view purpose) const {
  const Node& node = topology_.node(id);
  std::vector<std::uint64_t> keys;
  std::map<NodeId, std::uint64_t> links;  // so far, to each neighbour
  for (const Port& port : node.ports) {
    const std::string both = node.name + ">" + topology_.node(port.wire.node).name;
    const RandomName name(std::string(purpose) + " " + both, links[port.wire.node]++);
    keys.push_back(random(name).next());
  }
  return keys;
}

std::uint64_t Lab::random_key_of(NodeId id) const {
  return random(RandomName("node " + topology_.node(id).name)).next();
}

std::vector<Outgoing> Lab::outgoing_of(NodeId id) const {
  const std::vector<std::uint64_t> keys = random_keys_of_ports(id, "link");
  const std::vector<Port>& ports = topology_.node(id).ports;
  std::vector<Outgoing> all;
  for (std::size_t i = 0; i < ports.size(); ++i) all.emplace_back(ports[i].wire, keys[i]);
  return all;
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
  if (topology_.is_terminal(id)) return std::make_unique<TerminalLp>(*this);
  if (topology_.is_radio(id)) return std::make_unique<RadioLp>(*this, id);
  return std::make_unique<SwitchLp>(*this, id);
}

ORRERY_MODEL(Lab, "lab", "real Linux hosts on virtual time, joined by links and switches");

}  // namespace orrery::lab
