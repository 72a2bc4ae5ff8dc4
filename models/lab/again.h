// SPDX-License-Identifier: Apache-2.0
//
// A run that repeats an earlier one up to a time and goes on from there (--set again=DIR; `orrery lab
// again`). It takes over the settings in the log of the earlier run (run_log.h), gives the hosts what
// came from outside then, at the same virtual times, and checks that each host sends the same. Hosts
// cannot be saved, since they are processes with shared memory and sockets. So to repeat takes about
// as long as the earlier run has computed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/orrery.h"
#include "run_log.h"

namespace orrery::lab {

/// Names of files that hosts see, with digests.
using SeenFiles = std::vector<std::pair<std::string, std::string>>;

struct AgainParameters {
  explicit AgainParameters(Model& model)
      : folder(
            model, "again", "",
            {.help = "the folder of hosts of an earlier run, which is repeated and goes on (orrery "
                     "lab again)"}),
        until(model, "again_until", Duration::zero(),
              {.help = "repeat the earlier run up to this time; 0: as far as it has come"}),
        events(model, "events", "",
               {.help = "files with further [[event]] of the topology, separated by commas"}) {}

  Parameter<std::string> folder;
  Parameter<Duration> until;
  Parameter<std::string> events;
};

/// A parameter that makes a run what it is.
struct Setting {
  ParameterBase* parameter;
  bool is_path = false;

  /// What the log has of it: a path is absolute.
  std::string text() const;
};

class Again {
 public:
  /// Reads the log of the earlier run, and gives the parameters the values that it had. Throws
  /// UsageError if the run cannot be repeated. `own`: the folder of hosts of this run.
  Again(AgainParameters& parameters, std::span<const Setting> settings,
        const std::filesystem::path& own, std::uint64_t seed);

  /// Up to this time the earlier run is repeated.
  std::int64_t until_ns() const { return until_ns_; }
  /// From this time on there are captures: this run's alone, or all of a run that goes on in its
  /// folder.
  std::int64_t captures_from_ns() const { return is_in_place_ ? 0 : until_ns_; }
  const RunRecords& records() const { return records_; }
  /// Throws UsageError, with names, if what hosts see has changed. `seen`: without the files of events
  /// that this run adds.
  void compare(const SeenFiles& seen) const;
  /// Whether the earlier run did not have this file of events.
  bool adds(const std::string& events) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  bool take_over(const Setting& setting, const std::string& value) const;

  std::string folder_;
  RunRecords records_;
  std::int64_t until_ns_ = 0;
  bool is_in_place_ = false;
  std::vector<std::string> added_;
};

/// The words of a list with commas.
std::vector<std::string> split_at_commas(const std::string& list);

}  // namespace orrery::lab
