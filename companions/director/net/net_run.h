// SPDX-License-Identifier: Apache-2.0
//
// A run of `orrery director net`: starts the virtual machines of a description, waits until they are
// ready, directs them, and joins their cards. The machines belong to the run and end with it.
//
// Without directing (`only_watch`) the system schedules the machines, and delays of links are in real
// time: what the directed run is compared with.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "director/director.h"
#include "director/net/keeper.h"
#include "director/net/switchboard.h"
#include "director/net/virtual_machine.h"

namespace orrery::director {

class NetRun {
 public:
  struct Orders {
    director::Orders director;           ///< its selection is ignored
    std::string description;             ///< a TOML file in the laboratory's words
    std::filesystem::path folder;        ///< for consoles and captures
    std::uint64_t seed = 1;              ///< of losses and jitter
    std::chrono::seconds patience{120};  ///< for a machine to be ready
  };
  struct MachineView {
    std::string name, accelerator, ended;  ///< `ended`: how; empty while the machine runs
    unsigned processors = 0;
    double weight = 1;
    Nanoseconds virtual_time = 0, consumed = 0;  ///< since the beginning of directing
    Network::Counts frames;
  };

  /// Reads the description and starts the machines. Throws UsageError.
  explicit NetRun(Orders orders);
  ~NetRun();

  std::size_t machines() const { return machines_.size(); }
  /// How many machines are ready; call it ten times a second until all are. Throws UsageError if one
  /// has ended, or is not ready in time.
  std::size_t wait_for_machines();
  /// Begins to direct.
  void begin();
  /// Call it ten times a second. False if no machine runs any more, or the time is over.
  bool look();
  void stop();

  Director& director() { return *director_; }
  std::vector<MachineView> views();
  Switchboard::Counts network();
  /// Names of machines that have ended since the last call, with how they ended.
  std::vector<std::string> newly_ended();

  /// Stops all machines and their clocks, or lets them go on.
  void pause(bool paused);
  bool is_paused() const { return is_paused_; }
  /// From now on the machines run for this share of the time, 0.01 to 1: in a tenth of a second they
  /// all run, or none does.
  void set_pace(double share);
  double pace() const { return pace_; }
  /// Throws UsageError if there is no machine of that name.
  void set_weight(const std::string& machine, double weight);

 private:
  void require_virtual_machines() const;
  bool has_processors(const VirtualMachine& machine, unsigned wanted) const;

  Orders orders_;
  lab::Topology topology_;
  Keeper keeper_;
  std::vector<VirtualMachine> machines_;  // by host
  std::vector<double> weights_;
  std::vector<MachineView> last_views_;  ///< a machine that has ended has no threads any more
  std::vector<bool> has_told_end_;
  std::chrono::steady_clock::time_point started_;
  std::unique_ptr<Director> director_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<MachineTimes> times_;
  std::unique_ptr<Switchboard> switchboard_;
  void let_run(bool run);
  bool is_paused_ = false, are_running_ = true;
  double pace_ = 1;
  Duty duty_{1};
};

}  // namespace orrery::director
