// SPDX-License-Identifier: Apache-2.0
//
// What the tests that disturb Time Warp every so many events (cuts, moves of LPs) vary besides.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/options.h"
#include "disturb.h"
#include "run/options/options.h"

namespace orrery::testing {

struct TimeWarpShape {
  unsigned workers;  ///< each on a thread of its own
  std::uint64_t every;
  std::uint32_t channel_messages = 4096;
  std::string checkpoint = "auto";
  std::string offload = "none";
  std::uint64_t memory_bytes = 0;

  /// `disturbance`: "a cut every 7 events".
  std::string text_with(const std::string& disturbance) const {
    return std::to_string(workers) + " workers, " + disturbance + ", channels of " +
           std::to_string(channel_messages) + ", checkpoint " + checkpoint + ", offload " +
           offload + ", memory " + std::to_string(memory_bytes);
  }
  /// All but what happens every so many events.
  RunOptions apply_shape(RunOptions options) const {
    options.workers = workers;
    options.bind = false;
    options.memory_bytes = memory_bytes;
    options.set(threads_option(), workers);
    disturb(options).messages = channel_messages;
    options.set(checkpoint::kCheckpoint, checkpoint);
    options.set(checkpoint::kOffload, offload);
    options.set(checkpoint::kBurst, 64);
    return options;
  }
};

/// How states are kept, and by whom copied: of each kind one.
struct Strategy {
  const char *checkpoint, *offload;
};
inline constexpr std::array<Strategy, 7> kStrategies{{{"auto", "none"},
                                                      {"auto", "multi"},
                                                      {"copy", "none"},
                                                      {"copy", "multi"},
                                                      {"periodic:7", "none"},
                                                      {"periodic:7", "multi"},
                                                      {"incremental", "none"}}};

/// These workers with all of `every`; small channels, so that messages wait for room. Many workers
/// agree slowly on a busy machine, so they are disturbed less often, not below `least_crowded`.
template <class Shape>
std::vector<Shape> all_shapes(const std::vector<unsigned>& teams,
                              const std::vector<std::uint64_t>& every,
                              std::uint64_t least_crowded) {
  std::vector<Shape> all;
  std::uint32_t channel = 2;
  for (const unsigned workers : teams)
    for (const std::uint64_t events : every) {
      if (workers > 3 && events < least_crowded) continue;
      all.push_back({{workers, events, channel}});
      channel = channel == 2 ? 4 : channel == 4 ? 4096 : 2;
    }
  return all;
}

}  // namespace orrery::testing
