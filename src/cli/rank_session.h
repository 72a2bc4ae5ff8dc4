// SPDX-License-Identifier: Apache-2.0
//
// A run over ranks, from the view of the command: which process starts the others, which facts must
// be equal on all ranks, and which rank prints. Only rank 0 prints messages and writes results. The
// other ranks exit quietly with 0 if all ranks have agreed on the end, so that a launcher can
// distinguish a failure from an orderly end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_feature.h"
#include "run/engine.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::cli {

/// Thrown on a rank other than 0: rank 0 prints how the run ended.
struct ToldByRank0 {};

/// --ranks, --mpi and --survive.
struct RankRequest {
  std::string ranks, mpi;
  bool survive = false;
  void declare(OptionTable& options);
};

/// Throws UsageError if an MPI launcher has started several processes of a command that runs in one
/// process.
void refuse_mpi_launcher(const std::string& command);

class RankSession {
 public:
  explicit RankSession(const RankRequest& request);

  /// nullptr: this process runs the model alone.
  transport::RankTransport* transport() { return transport_.get(); }
  bool is_first() const { return transport_ == nullptr || transport_->rank() == 0; }
  RankPlace place() const;

  /// Runs a step on all ranks: if `step` fails on any rank, agree() fails on all, and rank 0 prints
  /// where.
  void agree(const std::function<void()>& step);
  void compare(const RunFacts& facts);
  /// Call it when all ranks have come to the end in order.
  void part();
  /// Ends the run on all ranks because this rank failed; returns the exit code.
  int abandon(const transport::RankFailure& failure);
  int abandon(const std::string& sentence);

 private:
  std::unique_ptr<transport::Wire> join(const RankRequest& request);
  bool is_local_ = false;
  std::unique_ptr<transport::RankTransport> transport_;
};

/// The prepared model, what it has read, the options and the builds, as texts to be compared.
RunFacts facts_of(const ChosenModel& model, const EngineInfo& engine, const RunOptions& options,
                  const std::vector<InputFile>& inputs);

}  // namespace orrery::cli
