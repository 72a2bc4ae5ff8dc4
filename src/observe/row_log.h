// SPDX-License-Identifier: Apache-2.0
//
// Rows of a run that may be resumed: an append-only file of records with checksums, in the order in
// which a database would get them. A snapshot notes how long the file is; what is behind that goes
// when the run is resumed from it. The files that people read are made from it when the run is over
// (result_files.h): a database that is written in one transaction is fast, and lost with its
// process.
//
// A record is a word (a checksum of 32 bits, and the number of words that follow) and the packed
// row (core/rows.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/rows.h"
#include "observe/row_store.h"

namespace orrery {

class RowLog final : public RowWriter {
 public:
  /// Begins it anew, or goes on behind its first `kept_bytes`, which are read and verified. Throws
  /// UsageError if it cannot, or if they are damaged.
  RowLog(std::string path, std::uint64_t kept_bytes);
  ~RowLog() override;
  RowLog(const RowLog&) = delete;
  RowLog& operator=(const RowLog&) = delete;

  void write(const Row& row) override;
  /// Everything that was written is in the file; its length. While nobody writes.
  std::uint64_t flush();
  /// What is in the file is on the disk. By any thread.
  void synchronise() const;

  /// Hands the rows of the first `bytes` of a log to a writer. Throws UsageError.
  static void replay(const std::string& path, std::uint64_t bytes, RowWriter& writer);

 private:
  const std::string path_;
  std::vector<std::uint64_t> buffer_;
  std::uint64_t bytes_ = 0;  ///< in the file
  int file_ = -1;
};

}  // namespace orrery
