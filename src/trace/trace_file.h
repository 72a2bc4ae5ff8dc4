// SPDX-License-Identifier: Apache-2.0
//
// The file of a traced run: written under a temporary name beside it, and renamed when it is
// complete.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "output/output_folder.h"
#include "trace/committed_events.h"
#include "trace/life.h"

namespace orrery::trace {

class TraceFile {
 public:
  /// Throws UsageError if the file cannot be written, or if its path is something other than a
  /// trace.
  explicit TraceFile(std::string path);
  /// Removes the temporary file if it is not published.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void write(const CommittedEvents& events);
  /// Returns how many records are not in the file.
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
