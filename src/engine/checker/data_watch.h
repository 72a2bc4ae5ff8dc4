// SPDX-License-Identifier: Apache-2.0
//
// Watches the writable data of the file that contains a model (globals, static members, function-
// local statics, thread-local variables): state that no rollback restores.
//
// Variables that are initialised once, at the first event that needs them, are allowed. So a change
// in a first execution is recorded, and only a second change of the same word counts. An event that
// is executed again finds everything initialised, so then any change counts.
//
// Comparing takes time in proportion to the data: a shared object with a model has a few hundred
// bytes and is watched at every event, the orrery command itself has tens of kilobytes and is
// watched at a sample of the events. Changes of the platform's own variables do not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "orrery/model.h"

namespace orrery::checker {

class DataWatch {
 public:
  /// Watches the file that holds the code of `model`.
  explicit DataWatch(const Model& model);

  std::size_t bytes() const { return bytes_; }
  /// About one event in so many is watched: the work stays near a kilobyte an event. 0: so much
  /// data (a sanitizer adds megabytes) that it is compared only to find a cause.
  std::uint64_t period() const { return bytes_ > kMostWatchedBytes ? 0 : 1 + bytes_ / 1024; }

  /// Takes the present contents as the basis for the next comparison.
  void refresh();
  /// After a first execution: a variable that changed and had changed before; nullptr if none.
  const void* changed_again();
  /// After a repeated execution: a variable that changed; nullptr if none.
  const void* changed();

 private:
  static constexpr std::size_t kMostWatchedBytes = std::size_t{1} << 20;
  struct Range {
    const std::byte* begin;
    std::vector<std::byte> copy;
  };

  void add_segments();
  template <class Visit>
  void for_each_change(Visit&& visit);
  bool is_platform(const void* address);

  const void* code_;
  bool is_command_ = false;  ///< the model's code is in the command
  std::size_t bytes_ = 0;
  std::vector<Range> ranges_;
  std::unordered_set<const void*> seen_;      ///< words that changed in a first execution
  std::unordered_set<const void*> platform_;  ///< words that are the platform's own
};

/// "'counter' (in mm1.so)" for messages.
std::string variable_name(const void* address);

}  // namespace orrery::checker
