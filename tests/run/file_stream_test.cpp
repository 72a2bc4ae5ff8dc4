// SPDX-License-Identifier: Apache-2.0
//
// Files that travel between ranks: what arrives is what was there, and no message of another rank
// writes outside of its place.
#include "run/ranks/file_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace orrery {
namespace {

namespace fs = std::filesystem;
using transport::ByteWriter;
using transport::Parcel;

class FileStream : public ::testing::Test {
 protected:
  FileStream() {
    std::string name = (fs::temp_directory_path() / "filesXXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~FileStream() override { fs::remove_all(folder_); }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Parcel parcel(FilePart part, const std::function<void(ByteWriter&)>& fill = {}) {
    ByteWriter writer;
    if (fill) fill(writer);
    Parcel one = writer.take();
    one.head().kind = static_cast<std::uint8_t>(part);
    return one;
  }
  FileReceiver receiver() const {
    return FileReceiver([this](LpId lp, std::uint32_t item) {
      return lp == 0 && item == 0 ? (folder_ / "to/item").string() : std::string();
    });
  }

  fs::path folder_;
};

TEST_F(FileStream, BringsFoldersAndFilesAndNothingElse) {
  const fs::path from = folder_ / "from";
  fs::create_directories(from / "a/b");
  write(from / "a/b/one", "one");
  chmod((from / "a/b/one").c_str(), 04640);  // without the bit that lends the owner's rights
  const timespec times[] = {{1'700'000'000, 5}, {1'700'000'000, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, (from / "a/b/one").c_str(), times, 0), 0);
  write(from / "large", std::string(1'000'000, 'x'));
  write(from / "hole", "x");
  ASSERT_EQ(truncate((from / "hole").c_str(), 3 << 20), 0);
  ASSERT_EQ(symlink("/etc", (from / "link").c_str()), 0);
  ASSERT_EQ(mkfifo((from / "pipe").c_str(), 0600), 0);
  fs::create_directories(folder_ / "to/item/old");

  FileReceiver to = receiver();
  std::size_t largest = 0;
  FileSender sender([&](const Parcel& one) {
    largest = std::max(largest, one.size());
    to.take(one);
  });
  sender.send(0, 0, from);
  sender.end();
  EXPECT_TRUE(to.is_at_end());
  EXPECT_EQ(to.failure(), "");
  EXPECT_LE(largest, std::size_t{300'000});

  const fs::path item = folder_ / "to/item";
  EXPECT_EQ(read(item / "a/b/one"), "one");
  struct stat status {};
  ASSERT_EQ(stat((item / "a/b/one").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'700'000'000);
  EXPECT_EQ(status.st_mtim.tv_nsec, 5);
  EXPECT_EQ(read(item / "large"), read(from / "large"));
  EXPECT_EQ(read(item / "hole"), read(from / "hole"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(item / "link")));
  EXPECT_FALSE(fs::exists(item / "pipe"));
  EXPECT_FALSE(fs::exists(item / "old"));
}

TEST_F(FileStream, RemovesWhatIsNotThere) {
  fs::create_directories(folder_ / "to/item/old");
  FileReceiver to = receiver();
  FileSender sender([&](const Parcel& one) { to.take(one); });
  sender.send(0, 0, folder_ / "nothing");
  sender.end();
  EXPECT_EQ(to.failure(), "");
  EXPECT_FALSE(fs::exists(folder_ / "to/item"));
}

TEST_F(FileStream, RefusesNamesThatLeadElsewhere) {
  using namespace std::string_literals;
  for (const std::string& name : {".."s, "."s, ""s, "a/b"s, "/etc"s, "a\0b"s}) {
    FileReceiver to = receiver();
    const auto named = [&](ByteWriter& w) { w.put(name).put(mode_t{0700}); };
    to.take(parcel(FilePart::item, [](ByteWriter& w) { w.put(LpId{0}).put(std::uint32_t{0}); }));
    to.take(parcel(FilePart::folder, named));  // the item itself, whose name is known
    EXPECT_EQ(to.failure(), "") << name;
    to.take(parcel(FilePart::file, named));
    EXPECT_EQ(to.failure(), "the other rank sends a file with a name that no file has") << name;
  }
}

TEST_F(FileStream, RefusesWhatHasNoPlace) {
  const auto item = [](LpId lp, std::uint32_t number) {
    return parcel(FilePart::item, [&](ByteWriter& w) { w.put(lp).put(number); });
  };
  const auto named = [](FilePart part) {
    return parcel(part, [](ByteWriter& w) { w.put(std::string("x")).put(mode_t{0700}); });
  };
  const auto refuses = [&](std::deque<Parcel> parcels) {
    FileReceiver to = receiver();
    for (const Parcel& one : parcels) to.take(one);
    return !to.failure().empty();
  };
  const auto list = [](auto&&... one) {
    std::deque<Parcel> all;
    (all.push_back(std::move(one)), ...);
    return all;
  };
  EXPECT_TRUE(refuses(list(item(1, 0))));
  EXPECT_TRUE(refuses(list(item(0, 1))));
  EXPECT_TRUE(refuses(list(named(FilePart::file))));
  EXPECT_TRUE(refuses(list(item(0, 0), named(FilePart::file), named(FilePart::file))));
  EXPECT_TRUE(refuses(list(item(0, 0), parcel(FilePart::data, [](ByteWriter& w) {
                             w.put(std::int64_t{0}).put(std::string("x"));
                           }))));
  EXPECT_TRUE(refuses(list(item(0, 0), parcel(FilePart::end_of_folder))));
  EXPECT_TRUE(refuses(list(item(0, 0), parcel(FilePart::end_of_file))));
  EXPECT_TRUE(refuses(list(item(0, 0), parcel(FilePart::file))));
  EXPECT_TRUE(refuses(list(parcel(static_cast<FilePart>(99)))));
  EXPECT_FALSE(refuses(list(item(0, 0), named(FilePart::folder), named(FilePart::file))));
}

}  // namespace
}  // namespace orrery
