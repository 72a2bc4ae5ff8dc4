// SPDX-License-Identifier: Apache-2.0
//
// The rows of a run that may be resumed: an append-only file of records with checksums, in the
// order in which a database would get them. A snapshot stores the length of the file; a resume cuts
// the file to that length. When the run has ended, its results are made from this file
// (result_files.h): a database that is written in one transaction is fast, but lost with its
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
#include "output/row_store.h"

namespace orrery {

class RowLog final : public RowWriter {
 public:
  /// Starts a new file, or appends behind the first `kept_bytes`, which are read and verified.
  /// Throws UsageError if the file cannot be written or those bytes are damaged.
  RowLog(std::string path, std::uint64_t kept_bytes);
  ~RowLog() override;
  RowLog(const RowLog&) = delete;
  RowLog& operator=(const RowLog&) = delete;

  void write(const Row& row) override;
  /// Writes the buffer to the file and returns the file's length. No thread may write meanwhile.
  std::uint64_t flush();
  /// Forces the file's content to the disk. By any thread.
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
