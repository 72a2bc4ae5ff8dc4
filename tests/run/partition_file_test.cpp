// SPDX-License-Identifier: Apache-2.0
//
// Partitions as files: what is written is read, what is wrong gets its sentence, and results do not
// depend on where LPs lie.
#include "run/world/partition_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "equality/delay_model.h"
#include "orrery/error.h"
#include "run/engine_cases.h"
#include "run/options/model_checks.h"
#include "run/world/placement.h"

namespace orrery::testing {
namespace {

class PartitionFile : public ::testing::Test {
 protected:
  ~PartitionFile() override { std::remove(path_.c_str()); }

  std::string write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::vector<std::uint16_t> read(const std::string& text, const Clusters& clusters = {}) {
    notes_.clear();
    return read_partition(write(text), 4, 3, PartKind::worker, clusters, notes_);
  }
  std::string refusal(const std::string& text, const Clusters& clusters = {}) {
    try {
      read(text, clusters);
    } catch (const UsageError& error) {
      const std::string begin = "partition '" + path_ + "': ", said = error.what();
      EXPECT_EQ(said.substr(0, begin.size()), begin);
      return said.substr(std::min(begin.size(), said.size()));
    }
    return "accepted";
  }

  const std::string path_ = ::testing::TempDir() + "orrery-partition-" + std::to_string(getpid());
  std::vector<std::string> notes_;
};

TEST_F(PartitionFile, IsReadWithComments) {
  EXPECT_EQ(read("# by hand\n2\n\n 0\r\n% that was one\n1\n0"),
            (std::vector<std::uint16_t>{2, 0, 1, 0}));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(PartitionFile, EmptyPartsAreNoted) {
  read("0\n0\n2\n2\n");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], "partition '" + path_ + "' leaves 1 of 3 workers without LPs");
}

TEST_F(PartitionFile, WrongOnesAreRefused) {
  EXPECT_EQ(refusal("0\n1\n2\n"), "it has 3 numbers, and the model 4 LPs");
  EXPECT_EQ(refusal("0\n1\n2\n0\n1\n"),
            "line 5: the model has 4 LPs, and this line is one too many");
  EXPECT_EQ(refusal("0\n#\n3\n"), "line 3: there is no worker 3, the run has 0 to 2");
  for (const char* wrong : {"-1", "one", "1 2", "1.5", "99999999999"})
    EXPECT_EQ(refusal(std::string("0\n") + wrong + "\n"),
              "line 2: the number of a worker is expected, not '" + std::string(wrong) + "'");
  Clusters clusters(4);
  clusters.merge(3, 1);
  EXPECT_EQ(refusal("0\n1\n0\n2\n", clusters),
            "LPs 1 and 3 may reach each other without delay, so this engine needs them on one "
            "worker, not on 1 and 2");
  EXPECT_EQ(read("0\n1\n0\n1\n", clusters)[3], 1);
}

TEST_F(PartitionFile, WhatCannotBeReadOrWrittenIsRefused) {
  std::vector<std::string> notes;
  for (const char* path : {"/nowhere/at-all", "/"}) {
    EXPECT_THROW(read_partition(path, 4, 3, PartKind::rank, {}, notes), UsageError);
    EXPECT_THROW(write_partition(path, {0, 1}, 2, PartKind::rank), UsageError);
  }
  EXPECT_THROW(write_partition("/dev/full", {0, 1}, 2, PartKind::rank), UsageError);
}

TEST_F(PartitionFile, WhatIsWrittenIsReadAgain) {
  const std::vector<std::uint16_t> parts = {1, 0, 2, 1};
  write_partition(path_, parts, 3, PartKind::worker);
  std::stringstream text;
  text << std::ifstream(path_).rdbuf();
  EXPECT_EQ(text.str(), "# worker of each of 4 LPs, 0 to 2\n1\n0\n2\n1\n");
  EXPECT_EQ(read(text.str()), parts);
}

/// Also where workers have none, or one has nearly all.
TEST_F(PartitionFile, ResultsAreTheSame) {
  const DelayModel model({.lps = 40,
                          .promise = DelayModelOptions::Promise::for_all,
                          .horizon = Duration::from_ticks(1'000)});
  const CommunicationGraph graph = communication_of(model);
  RunOptions options;
  options.workers = 3;
  options.bind = false;
  options.set(threads_option(), 3);
  for (const char* engine : {"timewarp", "conservative"}) {
    for (const auto& part_of : {+[](int id) { return id * 7 % 3; }, +[](int id) { return id % 2; },
                                +[](int id) { return id == 5 ? 0 : 2; }}) {
      std::string text;
      for (int id = 0; id < 40; ++id) text += std::to_string(part_of(id)) + "\n";
      options.set(partition_option(), write(text));
      const std::vector<std::uint16_t> placed = place_lps(model, graph, options, 3, notes_).parts;
      for (int id = 0; id < 40; ++id) ASSERT_EQ(placed[static_cast<std::size_t>(id)], part_of(id));
      expect_same(run_model(model, "sequential", {}), run_model(model, engine, options), engine);
    }
  }
}

}  // namespace
}  // namespace orrery::testing
