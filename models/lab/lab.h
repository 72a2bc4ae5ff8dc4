// SPDX-License-Identifier: Apache-2.0
//
// The laboratory: real Linux hosts, joined by links and switches, executed in virtual-time order
// (after Yoginath: Virtual time-aware virtual machine systems, Georgia Tech, 2014, who uses a
// modified Xen). Each node of the topology is an LP (host_lp.h, switch_lp.h, radio_lp.h).
//
// **How far a host may run.** In an event at t, a host executes everything before t + w, where its
// window w is half of the shortest delay of a link that leads to the host. A frame that arrives at
// time a is an event at a - w. So at t all frames that arrive before t + w are known, and each
// interrupts the host at its exact time. A frame that leaves over a link with the delay d arrives d
// later or more. For the window w of its receiver, d - w >= d / 2, which is the lookahead: so hosts
// run side by side. A switch has no window; a radio channel has one like a host, since each frame
// costs it much work.
//
// The fingerprint does not depend on the windows: it contains all frames that hosts have sent, with
// their times, the text on their consoles, and the times at which they ended. The number of events
// of a host is not part of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "again.h"
#include "control_groups.h"
#include "file.h"
#include "machine.h"
#include "orrery/orrery.h"
#include "outgoing.h"
#include "qemu/qemu_machine.h"
#include "run_log.h"
#include "spread.h"
#include "topology.h"
#include "uml/uml_machine.h"

namespace orrery::lab {

/// A frame that arrives at a port, `wait_ns` after this event.
struct Arrival {
  static constexpr bool silent = true;
  std::uint32_t port, reserved = 0;
  std::int64_t wait_ns;
};

class Lab final : public Model {
 public:
  Parameter<std::string> topology_file{
      *this, "topology", "", {.help = "hosts and links, a TOML file (models/lab/README.md)"}};
  Parameter<std::string> folder{
      *this,
      "folder",
      "results/lab",
      {.help =
           "where consoles and captures of the hosts lie; what lay there for them is replaced"}};
  UmlParameters uml{*this};
  QemuParameters qemu{*this};
  Parameter<std::string> shell{
      *this, "shell", "", {.help = "a host: this terminal is a shell there (orrery lab shell)"}};
  Parameter<double> rate{
      *this,
      "rate",
      0,
      {.help = "virtual seconds a second of the machine's clock, at most; 0: as fast as possible",
       .minimum = 0.0}};
  AgainParameters again{*this};
  Parameter<Duration> window{
      *this,
      "window",
      Duration::seconds(1),
      {.help = "how far a host may run at once, at most; results do not depend on it"}};
  Parameter<Duration> patience{
      *this,
      "patience",
      Duration::seconds(20),
      {.help = "the machine's processor time that a host may compute without waiting for anything "
               "and without 10 ms of virtual time; more is taken for an endless loop"}};
  Parameter<std::string> spread_file{
      *this,
      "spread",
      "",
      {.help = "a CSV file for how far hosts are apart in virtual time (models/lab/spread.h)"}};
  Parameter<bool> check{
      *this, "check", false, {.help = "read the topology, say what it is, and run nothing"}};
  Parameter<std::string> picture{
      *this, "draw", "", {.help = "an SVG file for a picture of the topology (orrery lab draw)"}};

  Metric frames{*this, "frames", "", "frames that left a host; the value is their length in bytes"};
  Metric lost{*this, "lost", "", "frames that were lost on a link, of a host or a switch"};
  Metric dropped{*this, "dropped", "", "frames for which a queue had no room"};
  Metric refused{*this, "refused", "", "frames for which a host had no buffer, each host"};
  Table traffic{*this,
                "traffic",
                {{"sent_ns", ColumnType::integer, "ns"},
                 {"arrived_ns", ColumnType::integer, "ns"},
                 {"device", ColumnType::integer},
                 {"to_node", ColumnType::integer},
                 {"bytes", ColumnType::integer, "B"},
                 {"fate", ColumnType::integer}},
                "every frame that left a host; fate: 0 arrived, 1 corrupted, 2 lost, 3 its queue "
                "was full, 4 the link was down, 5 longer than it takes"};
  Table ends{
      *this,
      "ends",
      {{"at_ns", ColumnType::integer, "ns"},
       {"how", ColumnType::integer},
       {"why", ColumnType::text}},
      "hosts that ended before the run; how: 0 switched off, 1 a crash of the topology, 2 in "
      "disorder, and why"};

  Table computed{
      *this,
      "computed",
      {{"instructions", ColumnType::integer},
       {"computing", ColumnType::real, "s"},
       {"up", ColumnType::real, "s"},
       {"cards_on", ColumnType::real, "s"}},
      "one row a host whose instructions are counted, at the end of the run: how many it "
      "executed, how long that took it, of how long; and for how long its cards were on"};

  Table air{
      *this,
      "air",
      {{"sent_ns", ColumnType::integer, "ns"},
       {"ended_ns", ColumnType::integer, "ns"},
       {"radio", ColumnType::integer},
       {"from_node", ColumnType::integer},
       {"to_node", ColumnType::integer},
       {"bytes", ColumnType::integer, "B"},
       {"tries", ColumnType::integer},
       {"heard", ColumnType::integer}},
      "every frame on the air of a radio channel, at the antenna; to_node: -1 for all; heard: "
      "by how many of those that it is for"};
  Table stations{*this,
                 "stations",
                 {{"radio", ColumnType::integer},
                  {"node", ColumnType::integer},
                  {"x", ColumnType::real, "m"},
                  {"y", ColumnType::real, "m"},
                  {"attempts", ColumnType::integer},
                  {"failed", ColumnType::integer},
                  {"given_up", ColumnType::integer},
                  {"queue_drops", ColumnType::integer},
                  {"received", ColumnType::integer},
                  {"airtime", ColumnType::real, "s"},
                  {"busy", ColumnType::real, "s"}},
                 "one row a station of a radio channel, at the end of the run"};

  void prepare() override;
  std::uint64_t lp_count() const override { return check ? 1 : topology_.nodes(); }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  std::string name_of(LpId id) const override { return check ? "" : topology_.node(id).name; }
  LpExecution execution_of(LpId id) const override {
    return check || topology_.is_host(id) ? LpExecution::confined
           : topology_.is_terminal(id)    ? LpExecution::committed
                                          : LpExecution::speculative;
  }
  ~Lab() override;
  std::string refuses_ranks() const override;
  std::vector<std::string> leaves(LpId id) const override;
  void communication(CommunicationGraph& graph) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(60); }
  void report(Report& report, Time end) const override;
  LivePicture live_picture(const LpsNow& lps, Time now) const override;

  const Topology& topology() const { return topology_; }
  const Host& host(LpId id) const { return topology_.hosts[id]; }
  const Machine& machine_of(LpId id) const {
    return *machines_[static_cast<std::size_t>(host(id).machine)];
  }
  /// The folder of this process's hosts, absolute. Each rank but the first has one of its own, since
  /// ranks may share a file system or not; what hosts leave is brought to the first (leaves()).
  std::filesystem::path hosts_folder() const;
  /// The folder of a host, absolute.
  std::filesystem::path folder_of(LpId id) const { return hosts_folder() / host(id).name; }
  std::int64_t window_ns(LpId id) const { return windows_ns_[id]; }
  /// Control groups for hosts; nullptr if this machine has no control groups.
  const ControlGroups* groups() const { return groups_ ? &*groups_ : nullptr; }

  /// nullptr: the run keeps no log. The log is no part of the model's state.
  RunLog* log() const { return log_.get(); }
  /// Up to this time the run repeats an earlier one.
  std::int64_t repeated_until_ns() const { return again_ ? again_->until_ns() : 0; }
  std::int64_t captures_from_ns() const { return again_ ? again_->captures_from_ns() : 0; }

  /// nullptr unless requested. Its data are not part of the model's state.
  Spread* spread() const { return spread_.get(); }

  /// Notes that a host was given up by the machine's time, which may not happen in another run.
  void note_given_up(LpId id, std::string_view why) const;

  /// The outgoing directions of a node's links.
  std::vector<Outgoing> outgoing_of(NodeId id) const;
  /// What is random at the ports of a node: a number for each port and purpose, made of the run's
  /// seed and the names of both ends. So further nodes and links change none.
  std::vector<std::uint64_t> random_keys_of_ports(NodeId id, std::string_view purpose) const;
  /// The same of a node.
  std::uint64_t random_key_of(NodeId id) const;

  /// A node sends a frame at `time`, no earlier than now. Schedules or drops it, and records it.
  Outgoing::Passage send(Context& context, Outgoing& port, std::int64_t time,
                         std::span<const std::byte> frame) const;

 private:
  std::vector<Setting> settings();
  void repeat_earlier_run();
  std::vector<MoreEvents> more_events() const;
  void make_machines();
  SeenFiles seen_files() const;
  void begin_log();
  void compare_machines();
  void add_terminal();
  void report_executed(Report& report) const;
  std::string what_does_not_repeat() const;
  std::string what_has_not_started(Time end) const;
  void note_memory();
  void take_folder();
  void set_windows();

  Topology topology_;
  std::vector<std::unique_ptr<Machine>> machines_;  ///< by kind; nullptr: no host is of this kind
  std::vector<std::int64_t> windows_ns_;
  std::optional<ControlGroups> groups_;
  std::optional<Again> again_;
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<Spread> spread_;
  mutable std::vector<Place>
      places_;  ///< in the live picture, which one thread makes; empty: not known
  File taken_;  ///< the folder of hosts, locked
};

}  // namespace orrery::lab
