// SPDX-License-Identifier: Apache-2.0
//
// The log of a run, from which the run can be repeated up to any time (again.h). A run is
// deterministic, so the log holds only what determines it: settings, digests of what hosts see, and
// what came from outside, which is noted before it has an effect. Digests of what each host has sent,
// ten for each second of virtual time in which it sends, show whether a repetition does the same.
//
// The log is a text, a line for each record, in the file run.log in the folder of hosts:
//
//   orrery lab 1                    the format
//   seed 1
//   until 60000000000               the horizon, in ns
//   set topology /home/a/my.toml    a parameter of the model
//   sees 9f86d0... the file ...     SHA-256 of what hosts see
//   begin
//   typed 2500000000 ls%0a          what came from outside at a virtual time: typed text,
//   size 500000000 %00%18%00%50     the size of the terminal,
//   rate 2500000000 0.5             another rate
//   sent 2600000000 b 0123456789abcdef    a digest of all that host b sent before this time
//
// Each record is one write to the end of the file. So after a kill -9 the log holds all records but
// perhaps a part of the last one, which is left out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file.h"

namespace orrery::lab {

/// What came from outside at a virtual time.
struct Outside {
  enum class Kind : std::uint8_t { typed, size, rate };
  std::int64_t at_ns = 0;
  Kind kind = Kind::typed;
  std::string bytes;
};

/// What a host has sent before a virtual time.
struct Sent {
  std::int64_t until_ns = 0;
  std::uint64_t digest = 0;
  bool operator==(const Sent&) const = default;
};

struct RunRecords {
  static constexpr std::size_t kMostTyped = 1400;  ///< bytes of one record

  std::uint64_t seed = 1;
  std::int64_t until_ns = 0;
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> seen;        ///< digests by what is seen
  std::vector<Outside> outside;                   ///< by time
  std::map<std::string, std::vector<Sent>> sent;  ///< by host, by time

  /// Reads the log in a folder of hosts. The file may be from a stranger. Throws UsageError.
  static RunRecords read(const std::filesystem::path& folder);

  /// The first time of which there is no record.
  std::int64_t end_ns() const;
  /// Drops what is of `end_ns` or later.
  void cut(std::int64_t end_ns);
  /// The lines of a log.
  std::string text() const;
};

/// Writes the log. Any thread may add records.
class RunLog {
 public:
  /// `records`: what the run repeats, and the run's own settings.
  RunLog(std::filesystem::path folder, RunRecords records)
      : folder_(std::move(folder)), records_(std::move(records)) {}

  const RunRecords& repeated() const { return records_; }
  /// Makes the file with all records so far; replaces a log that lies there at once. Throws
  /// UsageError.
  void begin(std::int64_t until_ns);
  void add(const Outside& outside) const;
  void add(std::string_view host, const Sent& sent) const;
  /// The user has ended the run: further records are left out, since hosts may get ahead until the run
  /// stops.
  void end() { ended_.store(true, std::memory_order_relaxed); }

 private:
  void write(const std::string& line) const;

  std::filesystem::path folder_;
  RunRecords records_;
  File file_;
  std::atomic<bool> ended_ = false;  // relaxed: a record more does no harm
};

/// What one host sends, as records of the log. While a run is repeated, compares them with those of
/// the earlier run.
class SentFrames {
 public:
  /// `log`: nullptr if the run keeps none.
  SentFrames(const RunLog* log, const std::string& host);

  /// The host has sent a frame, later than all before.
  void sent(std::int64_t time_ns, unsigned device, std::span<const std::byte> frame);
  /// The host sends nothing more before `time_ns`. Returns false if it has done something else than
  /// in the run that is repeated.
  bool passed(std::int64_t time_ns);

 private:
  void close();

  const RunLog* log_;
  const std::string& host_;
  std::span<const Sent> repeated_;  ///< still to come
  Sent now_;                        ///< until_ns is 0 if nothing has been sent in its time
  bool is_same_ = true;
};

}  // namespace orrery::lab
