// SPDX-License-Identifier: Apache-2.0
//
// The candidates for a run: the engines that are linked in and work on worlds, each with the
// numbers of workers that are worth a trial. The engines and their names come from the registry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/world/world_engine.h"

namespace orrery::automatic {

/// An engine with a number of workers.
struct Candidate {
  const EngineInfo* info = nullptr;
  WorldEngine* engine = nullptr;
  unsigned family = 0;  ///< the same for all candidates with one engine
  unsigned turn = 0;    ///< index within its family, in the order of `all()`
  unsigned workers = 1;

  /// "timewarp with 2 workers", "sequential"
  std::string text() const;
};

class Candidates {
 public:
  /// The engines that the options permit and that do not refuse the model; the reasons of others go
  /// to `notes`. The run begins with the first candidate: one with a single worker if there is one.
  /// With several ranks: only engines that span ranks. Throws UsageError if none is left.
  Candidates(const Model& model, const RunOptions& options, std::vector<std::string>& notes);

  const std::vector<Candidate>& all() const { return all_; }
  /// The candidate that another rank names by `family` and `turn`. Ranks may have different numbers
  /// of workers, so this is the family's last candidate up to `turn`.
  std::size_t find(unsigned family, unsigned turn) const;
  /// Removes a family; not the last one.
  void drop(unsigned family);
  /// The most workers of any candidate.
  unsigned most_workers() const;

 private:
  void add(const EngineInfo& info, const std::vector<unsigned>& workers, const Model& model,
           const RunOptions& options, std::vector<std::string>& refusals);

  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Candidate> all_;
};

/// Engines that can be candidates, in the registry's order.
std::vector<const EngineInfo*> eligible_engines();
/// Throws UsageError for a text that --candidates does not accept.
void check_candidates(const std::string& text);

/// The options of the run, with the candidate's number of workers.
RunOptions options_for(const Candidate& candidate, const RunOptions& options);
/// A note on options that only one of the candidates' engines uses; empty if there are none.
std::string note_partly_used(const std::vector<Candidate>& candidates, const RunOptions& options);

}  // namespace orrery::automatic
