// SPDX-License-Identifier: Apache-2.0
//
// A run over ranks, as the command sees it: who starts the processes, what each of them must have
// in common with the others, and who says what. Rank 0 shows, writes and refuses; the others end
// quietly with 0 where all have agreed how it went. So a launcher can tell an accident from an end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_arguments.h"
#include "run/engine.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::cli {

/// Rank 0 tells how it ended; this rank has nothing to say.
struct ToldByRank0 {};

/// Where --ranks wants processes on this machine and this is none of them: starts them and waits.
/// The exit code then. `resumable`: the folder of the results if the run takes snapshots.
std::optional<int> launch_ranks(const RunArguments& arguments, const std::string& resumable);

/// Throws UsageError where an MPI launcher has started several of these, for commands that run in
/// one process.
void refuse_mpi_launcher(const std::string& command);

class RankSession {
 public:
  explicit RankSession(const RunArguments& arguments);

  /// nullptr: this process runs it alone.
  transport::RankTransport* transport() { return transport_.get(); }
  bool is_first() const { return transport_ == nullptr || transport_->rank() == 0; }
  RankPlace place() const;

  /// A step that all ranks take: if it fails on any, it has failed on all, and rank 0 says where.
  void agree(const std::function<void()>& step);
  /// What must be the same on all ranks: name and value.
  using Facts = std::vector<std::pair<std::string, std::string>>;
  void compare(const Facts& facts);
  /// All have come to the end in order.
  void part();
  /// Ends the run on all ranks, for a failure of this one; returns the exit code.
  int abandon(const transport::RankFailure& failure);
  int abandon(const std::string& sentence);

 private:
  std::unique_ptr<transport::Wire> join(const RunArguments& arguments);
  bool is_local_ = false;
  std::unique_ptr<transport::RankTransport> transport_;
};

/// What the model has prepared, the options and the builds, to be compared.
RankSession::Facts facts_of(const ChosenModel& model, const EngineInfo& engine,
                            const RunOptions& options);

}  // namespace orrery::cli
