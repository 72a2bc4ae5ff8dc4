// SPDX-License-Identifier: Apache-2.0
//
// The log of rows: what was written comes back, to the point that a snapshot names; what is behind
// it is cut off, and damage is told with its place.
#include "output/row_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/error.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

using LoggedLine = std::tuple<Key, std::uint32_t, LpId, std::uint32_t, std::vector<std::uint64_t>>;

struct Replayed final : RowWriter {
  std::vector<LoggedLine> lines;
  void write(const Row& row) override {
    lines.emplace_back(row.key, row.ordinal, row.lp, row.table,
                       std::vector<std::uint64_t>(row.cells.begin(), row.cells.end()));
  }
};

class RowLogTest : public testing::Test {
 protected:
  RowLogTest() {
    std::string name = (fs::temp_directory_path() / "orrery-rows-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/rows.log";
  }
  ~RowLogTest() override { fs::remove_all(folder_); }

  /// The i-th row of a run.
  Row row(std::uint64_t i) {
    cells_.assign(i % 5, i * 0x9e3779b97f4a7c15);
    return {Key(Time::from_ticks(static_cast<std::int64_t>(i) - 2), static_cast<std::uint32_t>(i),
                static_cast<LpId>(3 * i), Key::kMaxSequence - i),
            static_cast<std::uint32_t>(i % 3), static_cast<LpId>(7 * i),
            static_cast<std::uint32_t>(i % 2), cells_};
  }
  void write(RowLog& log, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) log.write(row(i));
  }
  std::vector<LoggedLine> lines(std::uint64_t begin, std::uint64_t end) {
    Replayed recorder;
    for (std::uint64_t i = begin; i < end; ++i) recorder.write(row(i));
    return recorder.lines;
  }
  std::vector<LoggedLine> replayed(std::uint64_t bytes) const {
    Replayed recorder;
    RowLog::replay(path_, bytes, recorder);
    return recorder.lines;
  }

  std::string folder_, path_;
  std::vector<std::uint64_t> cells_;
};

TEST_F(RowLogTest, ComesBack) {
  RowLog log(path_, 0);
  EXPECT_TRUE(replayed(log.flush()).empty());
  write(log, 0, 20'000);
  const std::uint64_t bytes = log.flush();
  EXPECT_EQ(bytes, fs::file_size(path_));
  EXPECT_EQ(replayed(bytes), lines(0, 20'000));
  log.synchronise();
}

TEST_F(RowLogTest, GoesOnWhereASnapshotIs) {
  std::uint64_t kept = 0;
  {
    RowLog log(path_, 0);
    write(log, 0, 100);
    kept = log.flush();
    write(log, 1000, 1100);  // of a run that was killed later
    log.flush();
  }
  std::ofstream(path_, std::ios::app) << "half a record";
  RowLog log(path_, kept);
  EXPECT_EQ(fs::file_size(path_), kept);
  write(log, 100, 150);
  EXPECT_EQ(replayed(log.flush()), lines(0, 150));
}

TEST_F(RowLogTest, TellsDamage) {
  std::uint64_t bytes = 0;
  {
    RowLog log(path_, 0);
    write(log, 0, 10);
    bytes = log.flush();
  }
  for (std::uint64_t at = 0; at < bytes; at += 3) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char before = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(before ^ 16)).flush();
    EXPECT_THROW(replayed(bytes), UsageError) << at;
    EXPECT_THROW(RowLog(path_, bytes), UsageError) << at;
    file.seekp(static_cast<std::streamoff>(at));
    file.put(before).flush();
  }
  EXPECT_EQ(replayed(bytes), lines(0, 10));
  EXPECT_THROW(replayed(bytes + 8), UsageError) << "it is shorter";
  EXPECT_THROW(replayed(bytes - 8), UsageError) << "a record is cut";
  EXPECT_THROW(RowLog(folder_ + "/nowhere", 100), UsageError);
  EXPECT_THROW(RowLog(folder_ + "/no/folder", 0), UsageError);
}

}  // namespace
}  // namespace orrery
