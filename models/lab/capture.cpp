// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>

namespace orrery::lab {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

struct FileHeader {
  std::uint32_t magic = 0xa1b23c4d;  ///< nanoseconds
  std::uint16_t major = 2, minor = 4;
  std::uint32_t reserved[2] = {0, 0};
  std::uint32_t most_bytes = 65535, link_type = 1;
};
struct RecordHeader {
  std::uint32_t seconds, nanoseconds, captured_bytes, bytes;
};

File create(const std::string& path) {
  File file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) throw std::system_error(errno, std::generic_category(), path);
  return file;
}

}  // namespace

template <class Value>
void Capture::put(const Value& value) {
  const std::size_t at = buffer_.size();
  buffer_.resize(at + sizeof value);
  std::memcpy(buffer_.data() + at, &value, sizeof value);
}

Capture::Capture(const std::string& path) : file_(create(path)) {
  put(FileHeader());
}

void Capture::add(std::int64_t time_ns, std::span<const std::byte> frame) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto bytes = static_cast<std::uint32_t>(frame.size());
  put(RecordHeader{static_cast<std::uint32_t>(time_ns / kSecond),
                   static_cast<std::uint32_t>(time_ns % kSecond), bytes, bytes});
  buffer_.insert(buffer_.end(), frame.begin(), frame.end());
  if (buffer_.size() >= kBufferBytes) flush();
}

/// Frames of one time keep the order in which they came, in which the guest gets them.
void Capture::received(std::int64_t time_ns, std::span<const std::byte> frame) {
  auto place = received_.end();
  while (place != received_.begin() && std::prev(place)->time_ns > time_ns) --place;
  received_.insert(place, {time_ns, {frame.begin(), frame.end()}});
}

/// Frames that arrived at `time_ns` or before come first.
void Capture::sent(std::int64_t time_ns, std::span<const std::byte> frame) {
  passed(time_ns + 1);
  add(time_ns, frame);
}

void Capture::passed(std::int64_t time_ns) {
  for (; !received_.empty() && received_.front().time_ns < time_ns; received_.pop_front())
    add(received_.front().time_ns, received_.front().bytes);
}

void Capture::flush() {
  std::span<const std::byte> left = buffer_;
  while (!left.empty()) {
    const ssize_t written = write(file_.get(), left.data(), left.size());
    if (written < 0 && errno != EINTR) break;  // the disk is full; the report has the frames
    if (written > 0) left = left.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

}  // namespace orrery::lab
