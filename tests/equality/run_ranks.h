// SPDX-License-Identifier: Apache-2.0
//
// Runs a model over ranks that are threads of this process, each with a model object of its own, on
// wires that an adversary delays; what is left at rank 0 is compared with a run in one process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "equality/run_model.h"
#include "equality/stopping_rows.h"
#include "transport/ranks/memory_wire.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::testing {

/// Calls body(model, options, control) for each rank on a thread of its own; `control` leads to the
/// others. `make`: a model, the same each time. `options`: without a horizon they get the model's.
template <class Body>
void on_ranks(const std::function<std::unique_ptr<Model>()>& make, const RunOptions& options,
              unsigned ranks, transport::MemoryFabric::Adversary adversary,
              std::size_t credit_bytes, Body&& body) {
  transport::MemoryFabric fabric(ranks, adversary);
  const auto run = [&](unsigned rank) {
    transport::RankTransport transport(fabric.wire(rank), credit_bytes);
    const std::unique_ptr<Model> model = make();
    RunOptions own = options;
    if (own.until == Time::max()) own.until = model->default_horizon();
    own.place = {rank, ranks, ranks, rank};
    RunControl control;
    control.ranks = &transport;
    body(*model, own, control);
    transport.part();
  };
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<Outcome> run_ranks(const std::function<std::unique_ptr<Model>()>& make,
                                      const std::string& engine, const RunOptions& options,
                                      unsigned ranks, transport::MemoryFabric::Adversary adversary,
                                      std::size_t credit_bytes = 64 << 10) {
  std::vector<Outcome> outcomes(ranks);
  on_ranks(make, options, ranks, adversary, credit_bytes,
           [&](const Model& model, const RunOptions& own, RunControl& control) {
             CollectedRows rows;
             if (own.place.rank == 0) control.rows = &rows;
             Outcome& outcome = outcomes[own.place.rank];
             outcome.result = run_supervised(*find_engine(engine).make(), model, own, control);
             outcome.late_rows = rows.late();
             outcome.rows = rows.sorted();
           });
  return outcomes;
}

/// Rank 0 is asked to stop at a row at or behind `time`, and all do, at a common key.
inline void expect_common_stop(const std::function<std::unique_ptr<Model>()>& make,
                               const std::string& engine, const RunOptions& options, unsigned ranks,
                               Time time) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks");
  std::vector<RunResult> results(ranks);
  on_ranks(make, options, ranks, {}, transport::RankTransport::kCreditBytes,
           [&](const Model& model, const RunOptions& own, RunControl& control) {
             StoppingRows rows(control, StoppingRows::after(time));
             if (own.place.rank > 0) control.rows = nullptr;
             results[own.place.rank] = find_engine(engine).make()->run(model, own, control);
           });
  for (const RunResult& result : results) {
    EXPECT_EQ(result.end, RunEnd::interrupted);
    EXPECT_EQ(result.reached, results[0].reached);
    EXPECT_EQ(result.committed, results[0].committed);
  }
  RunOptions alone;
  alone.seed = options.seed;
  const auto committed_until = [&](Time until) {
    alone.until = until;
    return run_model(*make(), "sequential", alone).result.committed;
  };
  EXPECT_GE(results[0].committed, committed_until(results[0].reached));
  EXPECT_LE(results[0].committed, committed_until(results[0].reached + Duration::from_ticks(1)));
}

}  // namespace orrery::testing
