// SPDX-License-Identifier: Apache-2.0
#include "topology.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "at_time.h"
#include "device_address.h"
#include "toml_table.h"

namespace orrery::lab {

const Phase& Wire::at(std::int64_t time) const {
  return at_time(phases, time);
}

std::int64_t Wire::least_delay_ns() const {
  return std::min_element(phases.begin(), phases.end(),
                          [](const Phase& a, const Phase& b) { return a.delay_ns < b.delay_ns; })
      ->delay_ns;
}

bool Wire::is_up(std::int64_t begin, std::int64_t end) const {
  for (const Phase* phase = &at(begin); phase != phases.data() + phases.size(); ++phase) {
    if (phase->from_ns > end) break;
    if (!phase->up) return false;
  }
  return true;
}

std::vector<NodeId> Topology::hosts_of(MachineKind kind) const {
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < hosts.size(); ++id)
    if (hosts[id].machine == kind) ids.push_back(id);
  return ids;
}

void Topology::add_terminal(Host* host) {
  constexpr std::int64_t kDelay = 1'000'000;
  Node node;
  node.name = "terminal";
  if (host != nullptr) {
    Port here, there;
    here.wire.phases = there.wire.phases = {{}};
    here.wire.phases[0].delay_ns = there.wire.phases[0].delay_ns = kDelay;
    here.wire.node = static_cast<NodeId>(host - hosts.data());
    here.wire.port = static_cast<unsigned>(host->ports.size());
    there.wire.node = static_cast<NodeId>(nodes());
    there.capture = false;
    host->has_shell = true;
    host->ports.push_back(std::move(there));
    node.ports.push_back(std::move(here));
  }
  terminal = std::move(node);
}

namespace {

constexpr std::string_view kLinkState[] = {"delay",        "rate", "jitter",
                                           "jitter_shape", "loss", "corruption"};
constexpr std::int64_t kLeastDelay = 2;
constexpr unsigned kSwitchQueue = 100;
// Bytes of a packet: the minimum of IPv4, the limits of Ethernet and IEEE 802.11, and jumbo frames.
constexpr std::int64_t kLeastMtu = 68, kEthernetMtu = 1500, kMostRadioMtu = 2304,
                       kMostWireMtu = 9000;

/// The kinds of machines by number.
struct Kind {
  std::string_view name;                   ///< the value of `machine`
  std::span<const std::string_view> keys;  ///< that a [[host]] of this kind may have
  void (*read)(const TomlTable& table, Host& host);
};
constexpr Kind kKinds[] = {{"uml", kUmlKeys, read_uml_host},
                           {"qemu", kQemuKeys, read_qemu_host},
                           {"vm", kVmKeys, read_vm_host}};
constexpr std::string_view kHostKeys[] = {"name", "machine", "on_exit", "clock"};

std::string read_user(const TomlTable& table) {
  std::string name = table.text("user", "");
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos)
    table.fail_at("user", "a user's name has small letters, digits, '_' and '-'");
  return name;
}

void read_clock(const TomlTable& table, Host& host) {
  const auto clock = table.table("clock");
  if (!clock) return;
  clock->allow({"drift", "offset"});
  const std::int64_t drift = clock->drift("drift");
  if (std::abs(drift) > HostClock::kMostDrift)
    clock->fail_at("drift", "'drift' is from -100000 ppm to 100000 ppm");
  constexpr std::int64_t kMostOffset = 1'000'000'000'000'000'000;
  host.clock = HostClock(drift);
  host.clock_offset_ns = clock->signed_time("offset");
  if (std::abs(host.clock_offset_ns) > kMostOffset)
    clock->fail_at("offset", "'offset' is from -1000000000 s to 1000000000 s");
}

/// Refuses keys of other kinds by name.
void allow_keys_of(const Kind& kind, const TomlTable& table) {
  std::vector<std::string_view> keys(std::begin(kHostKeys), std::end(kHostKeys));
  keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
  for (const Kind& other : kKinds)
    for (const std::string_view key : other.keys)
      if (table.has(key) && std::find(keys.begin(), keys.end(), key) == keys.end())
        table.fail_at(key, "'" + std::string(key) + "' is for hosts with machine = \"" +
                               std::string(other.name) + "\", and this host has machine = \"" +
                               std::string(kind.name) + "\"");
  table.allow(keys);
}

class Reader {
 public:
  Reader(const std::string& path, const std::vector<MoreEvents>& more) : file_(path), more_(more) {
    add_file(path);
  }

  Topology read() {
    file_.allow({"host", "switch", "radio", "link", "station", "event"});
    file_.for_each("host", [this](const TomlTable& table) { add_host(table); });
    if (topology_.hosts.empty()) file_.fail("there is no [[host]]");
    file_.for_each("switch", [this](const TomlTable& table) { add_switch(table); });
    file_.for_each("radio", [this](const TomlTable& table) { add_radio(table); });
    file_.for_each("link", [this](const TomlTable& table) { add_link(table); });
    file_.for_each("station", [this](const TomlTable& table) { add_station(table); });
    file_.for_each("radio", [this](const TomlTable& table) { place_stations(table); });
    read_events();
    return std::move(topology_);
  }

 private:
  struct End {
    NodeId node;
    unsigned port;
  };
  struct RadioChange {
    std::int64_t at_ns;
    NodeId radio;
    TomlTable table;
  };
  struct Change {
    std::int64_t at_ns;
    std::vector<std::size_t> links;
    const TomlTable* table;  ///< nullptr: the link goes up or down
    bool up;
  };

  std::string name_of_new(const TomlTable& table) const {
    const std::string name = table.text("name");
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    if (name.empty() || name.find_first_not_of(kLetters) != std::string::npos)
      table.fail("the name '" + name + "' has something else than letters, digits and '-'");
    if (find(name)) table.fail("there are two nodes '" + name + "'");
    return name;
  }
  std::optional<NodeId> find(std::string_view name) const {
    for (NodeId id = 0; id < topology_.nodes(); ++id)
      if (topology_.node(id).name == name) return id;
    return std::nullopt;
  }
  NodeId node(const TomlTable& table, std::string_view name) const {
    const auto id = find(name);
    if (!id) table.fail("there is no host, switch or radio '" + std::string(name) + "'");
    return *id;
  }
  Node& node(NodeId id) {
    if (topology_.is_host(id)) return topology_.hosts[id];
    if (topology_.is_radio(id)) return radio(id);
    return topology_.switches[id - topology_.hosts.size()];
  }
  RadioNode& radio(NodeId id) { return topology_.radios[topology_.radio_number(id)]; }

  void refuse_equal_addresses(const TomlTable& table, const std::string& name) {
    const auto [other, is_new] = hosts_by_address_.try_emplace(device_address(name, 0), name);
    if (!is_new)
      table.fail_at("name", "the names '" + other->second + "' and '" + name +
                                "' give their hosts the same Ethernet address: change one");
  }

  void add_host(const TomlTable& table) {
    std::vector<std::string_view> names;
    for (const Kind& kind : kKinds) names.push_back(kind.name);
    Host host;
    host.machine = static_cast<MachineKind>(table.choice("machine", names));
    const Kind& kind = kKinds[static_cast<std::size_t>(host.machine)];
    allow_keys_of(kind, table);
    host.name = name_of_new(table);
    refuse_equal_addresses(table, host.name);
    host.may_end = table.choice("on_exit", {"fail", "continue"}) == 1;
    read_clock(table, host);
    kind.read(table, host);
    topology_.hosts.push_back(std::move(host));
  }

  void add_switch(const TomlTable& table) {
    table.allow({"name", "latency"});
    Switch one;
    one.name = name_of_new(table);
    one.latency_ns = table.time("latency", 0);
    topology_.switches.push_back(std::move(one));
  }

  static void read_state(const TomlTable& table, Phase& phase) {
    phase.delay_ns = table.time("delay", phase.delay_ns);
    if (phase.delay_ns < kLeastDelay)
      table.fail("a link needs a 'delay', of " + std::to_string(kLeastDelay) + " ns or more");
    phase.bits_per_s = table.rate("rate", phase.bits_per_s);
    phase.jitter_ns = table.time("jitter", phase.jitter_ns);
    if (table.has("jitter_shape"))
      phase.jitter = static_cast<Phase::Jitter>(
          table.choice("jitter_shape", {"uniform", "exponential", "normal"}));
    phase.loss = table.probability("loss", phase.loss);
    phase.corruption = table.probability("corruption", phase.corruption);
  }

  void add_link(const TomlTable& table) {
    table.allow({"between", "addresses", "delay", "rate", "jitter", "jitter_shape", "reorder",
                 "loss", "corruption", "queue", "mtu", "capture", "carrier"});
    const std::vector<std::string> names = table.texts("between"),
                                   addresses = table.texts("addresses");
    if (names.size() != 2 || names[0] == names[1])
      table.fail("'between' has the names of two hosts or switches");
    if (!addresses.empty() && addresses.size() != 2)
      table.fail("'addresses' has one for each end, \"10.0.0.1/24\"; \"\" of a switch");
    End ends[2];
    Phase phases[2];
    for (const std::size_t i : {0, 1}) {
      read_state(table.side(i), phases[i]);
      const NodeId id = node(table, names[i]);
      if (topology_.is_radio(id))
        table.fail_at("between",
                      "'" + names[i] + "' is a radio channel: a host on it is a [[station]]");
      ends[i] = {id, static_cast<unsigned>(node(id).ports.size())};
      if (!addresses.empty() && !addresses[i].empty() && !topology_.is_host(id))
        table.fail_at("addresses", "the switch '" + names[i] + "' has no address");
    }
    for (const std::size_t i : {0, 1}) {
      Port port;
      if (!addresses.empty()) port.address = addresses[i];
      port.capture = table.yes_or_no("capture", true);
      port.wire.node = ends[1 - i].node;
      port.wire.port = ends[1 - i].port;
      port.wire.phases = {phases[i]};
      port.wire.reorders = table.side(i).yes_or_no("reorder", false);
      port.wire.tells_carrier = table.yes_or_no("carrier", true);
      port.wire.mtu = read_mtu(table, kMostWireMtu);
      if (table.has("queue")) {
        port.wire.queue = static_cast<unsigned>(table.side(i).integer("queue", 0, 1'000'000, 0));
      } else if (!topology_.is_host(ends[i].node)) {
        port.wire.queue = kSwitchQueue;
      }
      node(ends[i].node).ports.push_back(std::move(port));
    }
    links_.push_back({ends[0], ends[1]});
    refuse_loops(table, ends[0].node, ends[1].node);
  }

  static std::size_t read_mtu(const TomlTable& table, std::int64_t most) {
    return static_cast<std::size_t>(table.integer("mtu", kLeastMtu, most, kEthernetMtu));
  }

  /// Refuses a loop of switches, in which frames would circulate for ever.
  void refuse_loops(const TomlTable& table, NodeId a, NodeId b) {
    if (topology_.is_host(a) || topology_.is_host(b)) return;
    group_.resize(topology_.nodes());
    if (!grouped_) std::iota(group_.begin(), group_.end(), 0);
    grouped_ = true;
    const NodeId old = group_[b], joined = group_[a];
    if (old == joined)
      table.fail(
          "this link closes a circle of switches, in which a frame would go round for ever; "
          "leave it out, or let a host pass frames on there");
    std::replace(group_.begin(), group_.end(), old, joined);
  }

  // ---- Radio channels

  void add_radio(const TomlTable& table) {
    table.allow({"name", "delay", "rate", "broadcast_rate", "power", "path_loss", "carrier_sense",
                 "frequency", "floor", "fading", "reception", "retries", "queue", "layout",
                 "spacing", "movement", "connectivity", "mtu", "capture"});
    RadioNode one;
    one.name = name_of_new(table);
    read_radio(table, one.radio);
    topology_.radios.push_back(std::move(one));
  }

  /// Adds a station: a link between host and radio channel, whose delay is that of the card.
  void add_station(const TomlTable& table) {
    table.allow({"host", "radio", "address", "position", "waypoints"});
    const NodeId host = node(table, table.text("host")), channel = node(table, table.text("radio"));
    if (!topology_.is_host(host)) table.fail_at("host", "only a host is a station");
    if (!topology_.is_radio(channel)) table.fail_at("radio", "this is no [[radio]]");
    const End ends[2] = {{host, static_cast<unsigned>(node(host).ports.size())},
                         {channel, static_cast<unsigned>(node(channel).ports.size())}};
    for (const std::size_t i : {0, 1}) {
      Port port;
      port.wire.node = ends[1 - i].node;
      port.wire.port = ends[1 - i].port;
      port.wire.phases = {{}};
      if (i == 0) port.address = table.text("address", "");
      node(ends[i].node).ports.push_back(std::move(port));
    }
    radio(channel).radio.tracks.push_back(read_track(table));
    links_.push_back({ends[0], ends[1]});
  }

  static Track read_track(const TomlTable& table) {
    Track track;
    if (const std::vector<double> place = table.reals("position"); table.has("position")) {
      if (place.size() != 2) table.fail_at("position", "'position' is [X, Y], in metres");
      track = Track({place[0], place[1]});
    }
    for (const std::string& text : table.texts("waypoints"))
      if (const std::string mistake = add_waypoint(track, text); !mistake.empty())
        table.fail_at("waypoints", mistake);
    return track;
  }

  /// Applies the settings of all stations together, when the number of stations is known.
  void place_stations(const TomlTable& table) {
    RadioNode& one = radio(*find(table.text("name")));
    Radio& radio = one.radio;
    constexpr std::int64_t kCardDelay = 100'000;
    const std::int64_t delay = table.time("delay", kCardDelay);
    if (delay < kLeastDelay) table.fail_at("delay", "a card's 'delay' is 2 ns or more");
    const std::size_t mtu = read_mtu(table, kMostRadioMtu);
    for (Port& port : one.ports) {
      Port& there = node(port.wire.node).ports[port.wire.port];
      port.wire.phases[0].delay_ns = delay;
      port.wire.mtu = there.wire.mtu = mtu;
      there.wire.phases[0].delay_ns = delay;
      there.capture = table.yes_or_no("capture", true);
    }
    if (table.has("connectivity"))
      radio.connectivity = read_connectivity(
          add_file(table.existing_file("connectivity", table.text("connectivity"))),
          radio.stations());
    if (table.has("movement")) {
      const auto tracks = read_ns2_movement(
          add_file(table.existing_file("movement", table.text("movement"))), radio.stations());
      for (std::size_t i = 0; i < tracks.size(); ++i)
        if (radio.tracks[i].is_empty()) radio.tracks[i] = tracks[i];
    }
    place_the_others(table, one);
  }

  void place_the_others(const TomlTable& table, RadioNode& one) {
    Radio& radio = one.radio;
    const bool in_line = table.choice("layout", {"grid", "line"}) == 1;
    const double spacing = table.real("spacing", 0.01, 1e6, 30);
    std::size_t columns = radio.stations();
    while (!in_line && columns > 1 && (columns - 1) * (columns - 1) >= radio.stations()) --columns;
    for (std::size_t i = 0; i < radio.stations(); ++i) {
      if (!radio.tracks[i].is_empty()) continue;
      if (!table.has("layout") && !table.has("connectivity"))
        table.fail(
            "the station of host '" + node(one.ports[i].wire.node).name +
            "' has no place: give it a 'position' or 'waypoints', or the radio a 'layout', a "
            "'movement' file or a 'connectivity' file");
      radio.tracks[i] = Track(
          {static_cast<double>(i % columns) * spacing, static_cast<double>(i / columns) * spacing});
    }
  }

  // ---- Events

  void read_events() {
    std::vector<TomlTable> files, tables;
    file_.for_each("event", [&](const TomlTable& table) { tables.push_back(table); });
    for (const MoreEvents& more : more_) {
      files.emplace_back(more.path).allow({"event"});
      files.back().for_each("event", [&](const TomlTable& table) {
        refuse_in_the_past(table, more);
        tables.push_back(table);
      });
    }
    for (const TomlTable& table : tables) read_event(table);
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
    for (const Change& change : changes_)
      for (const std::size_t link : change.links)
        for (const std::size_t i : {0, 1}) apply(change, links_[link], i);
    std::stable_sort(radio_changes_.begin(), radio_changes_.end(),
                     [](const RadioChange& a, const RadioChange& b) { return a.at_ns < b.at_ns; });
    for (const RadioChange& change : radio_changes_) {
      auto& states = radio(change.radio).radio.states;
      states.push_back(states.back());
      states.back().from_ns = change.at_ns;
      read_radio_state(change.table, states.back());
    }
  }

  /// A command is a part of the host's script from the start.
  static void refuse_in_the_past(const TomlTable& table, const MoreEvents& more) {
    if (table.time("at", 0) < more.from_ns)
      table.fail_at("at", "the run repeats an earlier one up to " +
                              std::to_string(static_cast<double>(more.from_ns) / 1e9) +
                              " s; an event that is added has its time later");
    if (table.has("command"))
      table.fail_at("command",
                    "an added event has no 'command', which the host would have from its start; "
                    "type it in a shell");
  }

  void read_event(const TomlTable& table) {
    if (!table.has("at")) table.fail("'at' is missing: the time of the event");
    const std::int64_t at = table.time("at", 0);
    if (table.has("host")) {
      read_host_event(table, at);
    } else if (table.has("radio")) {
      read_radio_event(table, at);
    } else if (table.has("link")) {
      table.allow(
          {"at", "link", "up", "delay", "rate", "jitter", "jitter_shape", "loss", "corruption"});
      if (table.has("up"))
        changes_.push_back({at, links_between(table), nullptr, table.yes_or_no("up", true)});
      for (const std::string_view key : kLinkState)
        if (table.has(key)) {
          changes_.push_back({at, links_between(table), &table, true});
          break;
        }
    } else if (table.has("partition")) {
      table.allow({"at", "partition", "until"});
      const auto links = links_out_of(table);
      changes_.push_back({at, links, nullptr, false});
      if (!table.has("until")) return;
      if (table.time("until", 0) <= at) table.fail_at("until", "'until' is later than 'at'");
      changes_.push_back({table.time("until", 0), links, nullptr, true});
    } else {
      table.fail("an event has a 'host', a 'link', a 'radio' or a 'partition'");
    }
  }

  void read_host_event(const TomlTable& table, std::int64_t at) {
    table.allow({"at", "host", "crash", "command", "user"});
    const NodeId id = node(table, table.text("host"));
    if (!topology_.is_host(id)) table.fail_at("host", "only a host has programs, and a crash");
    Host& host = topology_.hosts[id];
    if (table.has("command") && !host.has_linux())
      table.fail_at("command",
                    "host '" + host.name + "' executes no commands: its machine is \"" +
                        std::string(kKinds[static_cast<std::size_t>(host.machine)].name) + "\"");
    if (table.has("command"))
      host.programs.push_back({at, table.text("command"), read_user(table)});
    if (table.yes_or_no("crash", false)) host.crash_ns = std::min(host.crash_ns, at);
    if (!table.has("command") && !table.has("crash"))
      table.fail("an event of a host has a 'command', or 'crash = true'");
  }

  void read_radio_event(const TomlTable& table, std::int64_t at) {
    table.allow({"at", "radio", "rate", "broadcast_rate", "power", "path_loss", "carrier_sense"});
    const NodeId id = node(table, table.text("radio"));
    if (!topology_.is_radio(id)) table.fail_at("radio", "this is no [[radio]]");
    radio_changes_.push_back({at, id, table});
  }

  std::vector<std::size_t> links_between(const TomlTable& table) const {
    const std::vector<std::string> names = table.texts("link");
    if (names.size() != 2) table.fail_at("link", "'link' has the names of its two ends");
    const NodeId a = node(table, names[0]), b = node(table, names[1]);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const auto& [first, second] = links_[i];
      if ((first.node == a && second.node == b) || (first.node == b && second.node == a))
        found.push_back(i);
    }
    if (found.empty())
      table.fail_at("link", "there is no link between '" + names[0] + "' and '" + names[1] + "'");
    return found;
  }
  std::vector<std::size_t> links_out_of(const TomlTable& table) const {
    std::vector<NodeId> inside;
    for (const std::string& name : table.texts("partition")) inside.push_back(node(table, name));
    const auto is_inside = [&](const End& end) {
      return std::find(inside.begin(), inside.end(), end.node) != inside.end();
    };
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < links_.size(); ++i)
      if (is_inside(links_[i].first) != is_inside(links_[i].second)) found.push_back(i);
    if (found.empty()) table.fail_at("partition", "no link leads out of the partition");
    return found;
  }

  void apply(const Change& change, const std::pair<End, End>& link, std::size_t side) {
    const End& end = side == 0 ? link.first : link.second;
    std::vector<Phase>& phases = node(end.node).ports[end.port].wire.phases;
    if (phases.back().from_ns != change.at_ns) {
      phases.push_back(phases.back());
      phases.back().from_ns = change.at_ns;
    }
    if (change.table == nullptr) {
      phases.back().up = change.up;
    } else {
      read_state(change.table->side(side), phases.back());
    }
  }

  const std::filesystem::path& add_file(const std::filesystem::path& path) {
    return topology_.files.emplace_back(std::filesystem::absolute(path));
  }

  const TomlTable file_;
  const std::vector<MoreEvents>& more_;
  Topology topology_;
  std::map<DeviceAddress, std::string> hosts_by_address_;  ///< names by the first address
  std::vector<std::pair<End, End>> links_;
  std::vector<Change> changes_;
  std::vector<RadioChange> radio_changes_;
  std::vector<NodeId> group_;  ///< switches with the same value can reach each other
  bool grouped_ = false;
};

}  // namespace

Topology read_topology(const std::string& path, const std::vector<MoreEvents>& more) {
  return Reader(path, more).read();
}

void read_programs(const TomlTable& table, Host& host) {
  host.setup = table.texts("setup");
  for (const auto& [to, from] : table.pairs("files")) {
    if (!to.starts_with('/') || to.find('\'') != std::string::npos)
      table.fail_at("files", "the path '" + to + "' on the host begins with '/', and has no '");
    host.files.emplace(to, table.existing_file("files", from));
  }
  table.for_each("program", [&](const TomlTable& program) {
    program.allow({"at", "command", "user"});
    // A root that is a file may be an image with a command of its own.
    const bool may_have_own =
        table.has("root") && !program.has("command") &&
        std::filesystem::is_regular_file(table.existing_file("root", table.text("root")));
    host.programs.push_back(
        {program.time("at", 0), may_have_own ? "" : program.text("command"), read_user(program)});
  });
}

}  // namespace orrery::lab
