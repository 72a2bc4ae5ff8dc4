// SPDX-License-Identifier: Apache-2.0
//
// What a run may be given to: the engines that are linked in and work on worlds, each with the
// numbers of workers that are worth a try. Nothing here knows their names but what the registry
// says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/world_engine.h"

namespace orrery::automatic {

/// An engine with a number of workers.
struct Candidate {
  const EngineInfo* info = nullptr;
  WorldEngine* engine = nullptr;
  unsigned family = 0;  ///< the same for all of one engine
  unsigned turn = 0;    ///< which of its family, in the order of `all()`
  unsigned workers = 1;

  /// "timewarp with 2 workers", "sequential"
  std::string text() const;
};

class Candidates {
 public:
  /// Those that the options leave and that do not refuse the model; what is said of others goes to
  /// `notes`. The first is the one to begin with: an engine that executes one event after the other
  /// if there is one. Over ranks: those that span them. Throws UsageError if none is left.
  Candidates(const Model& model, const RunOptions& options, std::vector<std::string>& notes);

  const std::vector<Candidate>& all() const { return all_; }
  /// What another rank knows by these, which may have other numbers of workers.
  std::size_t find(unsigned family, unsigned turn) const;
  /// One that is not to be tried after all; not the last one.
  void drop(unsigned family);
  /// The most workers that any of them has.
  unsigned most_workers() const;

 private:
  void add(const EngineInfo& info, const std::vector<unsigned>& workers, const Model& model,
           const RunOptions& options, std::vector<std::string>& refusals);

  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Candidate> all_;
};

/// Engines that can be candidates, in the registry's order.
std::vector<const EngineInfo*> eligible_engines();
/// Throws UsageError for a text that --candidates does not take.
void check_candidates(const std::string& text);

/// The options as this candidate is to have them.
RunOptions options_for(const Candidate& candidate, const RunOptions& options);
/// Which of the options only some of the candidates use; a note, or nothing.
std::string note_partly_used(const std::vector<Candidate>& candidates, const RunOptions& options);

}  // namespace orrery::automatic
