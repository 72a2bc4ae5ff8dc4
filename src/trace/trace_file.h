// SPDX-License-Identifier: Apache-2.0
//
// The file that a traced run leaves: written under a temporary name beside it, and renamed when it
// is whole.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "observe/output_folder.h"
#include "trace/committed_events.h"
#include "trace/life.h"

namespace orrery::trace {

class TraceFile {
 public:
  /// Throws UsageError if it cannot be written, or if something else than a trace is there.
  explicit TraceFile(std::string path);
  /// Removes what is not published.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void write(const CommittedEvents& events);
  /// Returns how many records are not in it.
  std::uint64_t write(const std::vector<Lane>& lanes, unsigned rank, double tick_seconds,
                      std::uint64_t most_bytes);
  void publish();
  std::uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  std::function<void(std::string&)> flush();

  const std::string path_, temporary_;
  std::unique_ptr<FileWriter> out_;
  std::uint64_t bytes_ = 0;
};

}  // namespace orrery::trace
