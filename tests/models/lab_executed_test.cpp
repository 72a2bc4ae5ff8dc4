// SPDX-License-Identifier: Apache-2.0
//
// What hosts executed: files are found where a host saw them and nowhere else, whatever it tells.
#include "../../models/lab/uml/uml_executed.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace orrery::lab::testing {
namespace {

// FIPS 180-4 examples (NIST, SHA256.pdf), and of no bytes.
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

class LabExecuted : public ::testing::Test {
 protected:
  LabExecuted() {
    std::filesystem::remove_all(at_);
    settings_.folder = at_ / "host";
    settings_.root = at_ / "root";
    write(at_ / "host/guest/init", "abc");
    write(at_ / "root/usr/bin/tool", "abc");
    write(at_ / "secret", "abc");
    std::filesystem::create_symlink("../../../secret", at_ / "root/usr/bin/out");
    std::filesystem::create_symlink("../..", at_ / "root/usr/up");
  }
  ~LabExecuted() override { std::filesystem::remove_all(at_); }

  static void write(const std::filesystem::path& path, std::string_view text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  /// What is known after a host has told this list.
  std::string of(std::string_view list) {
    write(settings_.executed_file(), list);
    add_uml_executed(host_, settings_, executed_);
    const std::string csv = executed_.csv();
    return csv.substr(csv.find('\n') + 1);
  }
  template <std::size_t kBytes>
  std::string of(const char (&list)[kBytes]) {
    return of(std::string_view(list, kBytes));  // with the last zero
  }

  const std::filesystem::path at_ =
      std::filesystem::path(::testing::TempDir()) / ("lab-executed-" + std::to_string(getpid()));
  Host host_;
  UmlSettings settings_;
  ExecutedFiles executed_;
};

TEST(LabSha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256("abc"), kOfAbc);
  EXPECT_EQ(sha256(""), kOfNothing);
}

TEST_F(LabExecuted, FilesAreThoseThatTheHostSaw) {
  EXPECT_EQ(of("f/guest//usr/bin/tool\0f/guest/lab/init\0o/tmp/made\0f/guest/out/too"),
            std::string("\"/lab/init\",laboratory,") + kOfAbc + ",3,1\n" +
                "\"/out/too\",host,,,1\n\"/tmp/made\",host,,,1\n\"/usr/bin/tool\",root," + kOfAbc +
                ",3,1\n");
  EXPECT_EQ(executed_.cut(), 0u);
}

TEST_F(LabExecuted, AFileOfSeveralHostsIsListedOnce) {
  of("f/guest/usr/bin/tool\0f/guest//usr/bin/tool");
  EXPECT_EQ(of("f/guest/usr/bin/tool"), std::string("\"/usr/bin/tool\",root,") + kOfAbc + ",3,2\n");
  EXPECT_EQ(executed_.count(), 1u);
}

TEST_F(LabExecuted, WhatWasPutInIsReadWhereTheHostCannotWrite) {
  host_.files = {{"/root/a", "a"}, {"/root/b/", "b"}};
  write(at_ / "host/guest/files/0", "abc");
  write(at_ / "host/guest/files/1/below/x", "");
  EXPECT_EQ(of("o/root/a\0o/root/b/below/x\0o/root/b/new\0f/guest/lab/files/0\0o/root/ab"),
            std::string("\"/lab/files/0\",put in,") + kOfAbc + ",3,1\n\"/root/a\",put in," +
                kOfAbc + ",3,1\n\"/root/ab\",host,,,1\n\"/root/b/below/x\",put in," + kOfNothing +
                ",0,1\n\"/root/b/new\",host,,,1\n");
}

TEST_F(LabExecuted, NothingElseIsRead) {
  for (const std::string_view path :
       {"/guest/../secret", "/guest/usr/../../secret", "/guest/usr/bin/out", "/guest/usr/up/secret",
        "/guest/usr/bin", "/guest/", "/secret", "", "/guest/lab/../../../secret",
        "/guest/lab/files/../../lab/executed"}) {
    ExecutedFiles executed;
    write(settings_.executed_file(), "f" + std::string(path) + '\0');
    add_uml_executed(host_, settings_, executed);
    EXPECT_NE(executed.csv().find("\",unknown,,,1\n"), std::string::npos) << path;
  }
  settings_.root = "/";
  EXPECT_EQ(of("f/guest/etc/passwd\0x/guest/usr/bin/env"),
            "\"/etc/passwd\",unknown,,,1\n\"/guest/usr/bin/env\",unknown,,,1\n");
}

TEST_F(LabExecuted, NamesThatAHostChoosesEndNoField) {
  EXPECT_EQ(of("o/tmp/a,\"b\"\n\\\xff"), "\"/tmp/a,\"\"b\"\"\\x0a\\x5c\\xff\",host,,,1\n");
}

TEST_F(LabExecuted, AListWithoutAnEndIsTold) {
  EXPECT_EQ(of(std::string_view("o/tmp/a\0o/tm", 12)), "\"/tmp/a\",host,,,1\n");
  EXPECT_EQ(executed_.cut(), 1u);
  of("o/tmp/a\0+");
  EXPECT_EQ(executed_.cut(), 2u);
  of(std::string_view());
  EXPECT_EQ(executed_.cut(), 3u);
  of(std::string(std::size_t{5} << 20, '\0'));
  EXPECT_EQ(executed_.cut(), 4u);
  settings_.folder = at_ / "nothing";
  add_uml_executed(host_, settings_, executed_);
  EXPECT_EQ(executed_.cut(), 5u);
}

}  // namespace
}  // namespace orrery::lab::testing
