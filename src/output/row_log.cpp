// SPDX-License-Identifier: Apache-2.0
#include "output/row_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <fstream>

#include "core/file_output.h"
#include "core/row_cells.h"
#include "orrery/error.h"

namespace orrery {
namespace {

constexpr std::uint64_t kMagic = 0x31676f6c73776f72;  // "rowslog1"
constexpr std::size_t kBufferWords = 32768;

std::uint64_t head_of(const std::uint64_t* words, std::size_t count) {
  return XXH3_64bits(words, count * sizeof *words) << 32 | count;
}

/// Calls visit(const Row&) for each record of the first `bytes`.
template <class Visit>
void read_log(const std::string& path, std::uint64_t bytes, Visit&& visit) {
  const auto refuse = [&](std::uint64_t at) {
    throw UsageError(fmt::format("'{}' is damaged at byte {}", path, at));
  };
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](std::uint64_t* to, std::size_t count, std::uint64_t at) {
    if (at + count * sizeof *to > bytes ||
        !file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * sizeof *to)))
      refuse(at);
    return at + count * sizeof *to;
  };
  std::uint64_t word = 0, at = read(&word, 1, 0);
  if (word != kMagic) refuse(0);
  std::vector<std::uint64_t> words;
  while (at < bytes) {
    const std::uint64_t begin = at;
    at = read(&word, 1, at);
    const std::uint64_t count = word & 0xffffffff;
    if (count < PackedRow::kHeadWords || count > PackedRow::kHeadWords + row_cells::kMostWords)
      refuse(begin);
    words.resize(count);
    at = read(words.data(), count, at);
    if (head_of(words.data(), count) != word) refuse(begin);
    const Row row = PackedRow::read(words.data());
    if (PackedRow::kHeadWords + row.cells.size() != count) refuse(begin);
    visit(row);
  }
}

}  // namespace

RowLog::RowLog(std::string path, std::uint64_t kept_bytes) : path_(std::move(path)) {
  if (kept_bytes > 0) read_log(path_, kept_bytes, [](const Row&) {});
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kept_bytes)) != 0 ||
      lseek(file_, 0, SEEK_END) < 0)
    refuse_to_write(path_);
  bytes_ = kept_bytes;
  if (kept_bytes == 0) buffer_.push_back(kMagic);
}

RowLog::~RowLog() {
  if (file_ >= 0) close(file_);
}

void RowLog::write(const Row& row) {
  const std::size_t head = buffer_.size();
  buffer_.push_back(0);
  PackedRow::append(row, buffer_);
  buffer_[head] = head_of(&buffer_[head + 1], buffer_.size() - head - 1);
  if (buffer_.size() >= kBufferWords) flush();
}

std::uint64_t RowLog::flush() {
  const std::size_t bytes = buffer_.size() * sizeof buffer_[0];
  if (!write_fully(file_, buffer_.data(), bytes)) refuse_to_write(path_);
  bytes_ += bytes;
  buffer_.clear();
  return bytes_;
}

void RowLog::synchronise() const {
  if (!synchronise_contents(file_)) refuse_to_write(path_);
}

void RowLog::replay(const std::string& path, std::uint64_t bytes, RowWriter& writer) {
  read_log(path, bytes, [&](const Row& row) { writer.write(row); });
}

}  // namespace orrery
