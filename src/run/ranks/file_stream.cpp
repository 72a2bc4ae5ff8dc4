// SPDX-License-Identifier: Apache-2.0
#include "run/ranks/file_stream.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "transport/ranks/bytes.h"

namespace orrery {
namespace {

using transport::ByteReader;
using transport::ByteWriter;
using transport::Parcel;

constexpr unsigned kMostLevels = 1'000;  ///< an open folder each
constexpr std::int64_t kPiece = std::int64_t{256} << 10;

Parcel as(FilePart part, ByteWriter& writer) {
  Parcel parcel = writer.take();
  parcel.head().kind = static_cast<std::uint8_t>(part);
  return parcel;
}

[[noreturn]] void throw_errno(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

}  // namespace

// ---- Sender

void FileSender::send(LpId lp, std::uint32_t item, const std::string& path) {
  ByteWriter writer;
  writer.put(lp).put(item);
  send_(as(FilePart::item, writer));
  path_ = path;
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) return put(AT_FDCWD, path.c_str(), 0);
  if (errno != ENOENT) fail("it cannot be read");
}

void FileSender::end() {
  ByteWriter none;
  send_(as(FilePart::end, none));
}

void FileSender::fail(const std::string& what) {
  ByteWriter writer;
  writer.put(fmt::format("'{}': {}: {}", path_, what, std::strerror(errno)));
  send_(as(FilePart::failure, writer));
}

/// Sockets, pipes, devices and links are left out.
void FileSender::put(int folder, const char* name, unsigned level) {
  struct stat status {};
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(fmt::format("'{}' in it cannot be read", name));
  const bool is_folder = S_ISDIR(status.st_mode);
  if (!is_folder && !S_ISREG(status.st_mode)) return;
  if (level >= kMostLevels) {
    errno = ELOOP;
    return fail("its folders are nested too deeply");
  }
  const Descriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return fail(fmt::format("'{}' in it cannot be read", name));
  ByteWriter begin, end;
  begin.put(std::string_view(level == 0 ? "" : name)).put(status.st_mode & 0777);
  end.put(status.st_mtim);
  send_(as(is_folder ? FilePart::folder : FilePart::file, begin));
  if (is_folder) {
    put_folder(file.get(), level);
  } else {
    put_file(file.get(), status.st_size);
    end.put(std::int64_t{status.st_size});
  }
  send_(as(is_folder ? FilePart::end_of_folder : FilePart::end_of_file, end));
}

void FileSender::put_folder(int descriptor, unsigned level) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(dup(descriptor)), closedir);
  if (folder == nullptr) return fail("a folder in it cannot be read");
  while (const dirent* entry = readdir(folder.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      put(descriptor, entry->d_name, level + 1);
}

/// Holes are left out: the receiver's file has them, too.
void FileSender::put_file(int descriptor, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes;) {
    const std::int64_t from = lseek(descriptor, at, SEEK_DATA);
    if (from < 0 && errno == ENXIO) return;
    const std::int64_t to = from < 0 ? -1 : std::int64_t{lseek(descriptor, from, SEEK_HOLE)};
    if (to < 0) return fail("a file in it cannot be read");
    put_data(descriptor, from, std::min(to, bytes));
    at = to;
  }
}

void FileSender::put_data(int descriptor, std::int64_t from, std::int64_t to) {
  while (from < to) {
    const auto piece = static_cast<std::size_t>(std::min(to - from, kPiece));
    std::string bytes(piece, '\0');
    const ssize_t got = pread(descriptor, bytes.data(), piece, from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("a file in it cannot be read");
    if (got == 0) return;
    ByteWriter writer;
    writer.put(from).put(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)));
    send_(as(FilePart::data, writer));
    from += got;
  }
}

// ---- Receiver

void FileReceiver::take(const Parcel& parcel) {
  const auto part = static_cast<FilePart>(parcel.head().kind);
  if (part == FilePart::end) {
    ended_ = true;
    folders_.clear();
    file_.reset();
  }
  if (!failure_.empty() || part == FilePart::end) return;
  try {
    apply(parcel);
  } catch (const std::exception& error) {
    failure_ = error.what();
    folders_.clear();
    file_.reset();
  }
}

void FileReceiver::apply(const Parcel& parcel) {
  ByteReader reader(parcel);
  switch (static_cast<FilePart>(parcel.head().kind)) {
    case FilePart::item: {
      const auto lp = reader.get<LpId>();
      return begin_item(lp, reader.get<std::uint32_t>());
    }
    case FilePart::folder:
      return enter_folder(reader);
    case FilePart::end_of_folder:
      if (folders_.size() < 2) throw std::logic_error("a folder ends that has not begun");
      set_time(folders_.back()->get(), reader);
      folders_.pop_back();
      return;
    case FilePart::file:
      return begin_file(reader);
    case FilePart::data:
      return write(reader);
    case FilePart::end_of_file: {
      if (file_ == nullptr) throw std::logic_error("a file ends that has not begun");
      set_time(file_->get(), reader);
      file_.reset();
      return;
    }
    case FilePart::failure:
      throw std::runtime_error(reader.get_text());
    case FilePart::end:
      return;
  }
  throw std::logic_error("the other rank sends what no file has");
}

/// Removes what lies at the item's path, and opens the folder in which the item will be.
void FileReceiver::begin_item(LpId lp, std::uint32_t item) {
  path_ = place_(lp, item);
  if (path_.empty()) throw std::logic_error("the other rank sends a file that no LP leaves here");
  const std::filesystem::path path(path_);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path.parent_path());
  folders_.clear();
  file_.reset();
  folders_.push_back(std::make_unique<Descriptor>(
      open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (folders_.back()->get() < 0) throw_errno(path_);
  top_name_ = path.filename();
}

/// The name of a folder or file that begins; the item's own is known here.
std::string FileReceiver::next_name(ByteReader& reader) {
  const std::string name = reader.get_text();
  if (folders_.empty() || file_ != nullptr || folders_.size() > kMostLevels)
    throw std::logic_error("the other rank sends a file in a place that has none");
  if (folders_.size() == 1) {
    if (top_name_.empty()) throw std::logic_error("the other rank sends an item twice");
    return std::exchange(top_name_, {});
  }
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw std::logic_error("the other rank sends a file with a name that no file has");
  return name;
}

void FileReceiver::enter_folder(ByteReader& reader) {
  const std::string name = next_name(reader);
  const mode_t mode = reader.get<mode_t>() & 0777;
  const int in = folders_.back()->get();
  if (mkdirat(in, name.c_str(), 0700) != 0) throw_errno(path_);
  auto folder = std::make_unique<Descriptor>(
      openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder->get() < 0 || fchmod(folder->get(), mode | 0700) != 0) throw_errno(path_);
  folders_.push_back(std::move(folder));
}

void FileReceiver::begin_file(ByteReader& reader) {
  const std::string name = next_name(reader);
  const mode_t mode = reader.get<mode_t>() & 0777;
  file_ = std::make_unique<Descriptor>(openat(folders_.back()->get(), name.c_str(),
                                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                              0600));
  if (file_->get() < 0 || fchmod(file_->get(), mode | 0600) != 0) throw_errno(path_);
}

void FileReceiver::write(ByteReader& reader) {
  if (file_ == nullptr) throw std::logic_error("the other rank sends bytes of no file");
  auto at = reader.get<std::int64_t>();
  const std::string bytes = reader.get_text();
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = pwrite(file_->get(), rest.data(), rest.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw_errno(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
}

/// The end of a file also says how long it is, since a hole may be its end.
void FileReceiver::set_time(int descriptor, ByteReader& reader) const {
  const auto time = reader.get<timespec>();
  if (!reader.at_end() && ftruncate(descriptor, reader.get<std::int64_t>()) != 0)
    throw_errno(path_);
  const timespec times[] = {time, time};
  if (futimens(descriptor, times) != 0) throw_errno(path_);
}

}  // namespace orrery
