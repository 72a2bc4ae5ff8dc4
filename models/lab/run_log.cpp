// SPDX-License-Identifier: Apache-2.0
#include "run_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "orrery/orrery.h"

#include <fmt/format.h>

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "orrery lab 1";
constexpr const char* kName = "run.log";
constexpr std::int64_t kStepNs = 100'000'000;
constexpr std::string_view kOutsideKinds[] = {"typed", "size", "rate"};

/// Writes bytes that are no printable ASCII, and '%', as "%0a".
std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < ' ' || byte > '~' || letter == '%')
      text += fmt::format("%{:02x}", byte);
    else
      text += letter;
  }
  return text;
}

/// The content of a regular file. Throws UsageError.
std::string read_log(const fs::path& path) {
  constexpr off_t kMostBytes = off_t{1} << 28;
  const File file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const int error = errno;
  struct stat status {};
  if (!file.is_open())
    throw UsageError(
        fmt::format("there is no run to repeat in '{}': its run.log cannot be read ({})",
                    path.parent_path().string(), std::strerror(error)));
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > kMostBytes)
    throw UsageError(fmt::format("'{}' is no log of a run: it is no file, or longer than 256 MiB",
                                 path.string()));
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t bytes = ::read(file.get(), text.data() + have, text.size() - have);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    have += static_cast<std::size_t>(bytes);
  }
  text.resize(have);
  return text;
}

/// Reads the lines of a log that may be a stranger's.
class LogReader {
 public:
  explicit LogReader(const fs::path& path) : path_(path), text_(read_log(path)), rest_(text_) {}

  RunRecords read() {
    while (next_line()) {
      if (number_ == 1) {
        if (line_ != kFirstLine) fail("it does not begin with '" + std::string(kFirstLine) + "'");
      } else if (!begun_) {
        read_head();
      } else {
        read_record();
      }
    }
    if (!begun_) fail("its head has no end");
    return std::move(records_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(
        fmt::format("'{}', line {}, is no log of a run: {}", path_.string(), number_, what));
  }

  /// The next whole line in `line_`.
  bool next_line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return false;
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++number_;
    return true;
  }

  /// The part of the line up to a space, which is taken off.
  std::string_view word() {
    const std::string_view word = line_.substr(0, line_.find(' '));
    line_.remove_prefix(std::min(word.size() + 1, line_.size()));
    return word;
  }
  template <class Number>
  Number number(int base = 10) {
    const std::string_view text = word();
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size() || std::cmp_less(value, 0))
      fail("'" + escaped(text.substr(0, 40)) + "' is no number");
    return value;
  }
  std::string bytes() {
    std::string bytes;
    for (std::size_t i = 0; i < line_.size(); ++i) {
      if (line_[i] != '%') {
        bytes += line_[i];
        continue;
      }
      unsigned char byte = 0;
      const char* const digits = line_.data() + i + 1;
      if (line_.size() - i < 3 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
        fail("'%' is not followed by two digits");
      bytes += static_cast<char>(byte);
      i += 2;
    }
    return bytes;
  }

  void read_head() {
    const std::string_view what = word();
    if (what == "seed") {
      records_.seed = number<std::uint64_t>();
    } else if (what == "until") {
      records_.until_ns = number<std::int64_t>();
    } else if (what == "set") {
      const std::string name(word());
      records_.settings[name] = bytes();
    } else if (what == "sees") {
      const std::string digest(word());
      records_.seen[bytes()] = digest;
    } else if (what == "begin") {
      begun_ = true;
    } else {
      fail("unknown record");
    }
  }

  void read_record() {
    const std::string_view what = word();
    const auto kind = std::find(std::begin(kOutsideKinds), std::end(kOutsideKinds), what);
    const auto at_ns = number<std::int64_t>();
    if (kind != std::end(kOutsideKinds)) {
      read_outside(static_cast<Outside::Kind>(kind - std::begin(kOutsideKinds)), at_ns);
    } else if (what == "sent") {
      std::vector<Sent>& sent = records_.sent[std::string(word())];
      if (at_ns == 0 || (!sent.empty() && sent.back().until_ns >= at_ns))
        fail("its time is not later than that of the record before");
      sent.push_back({at_ns, number<std::uint64_t>(16)});
    } else {
      fail("unknown record");
    }
  }

  void read_outside(Outside::Kind kind, std::int64_t at_ns) {
    if (!records_.outside.empty() && records_.outside.back().at_ns > at_ns)
      fail("its time is earlier than that of the record before");
    Outside one{at_ns, kind, bytes()};
    if (one.bytes.size() > RunRecords::kMostTyped)
      fail(fmt::format("it has more than {} bytes", RunRecords::kMostTyped));
    if (kind == Outside::Kind::size && one.bytes.size() != 4) fail("a size has four bytes");
    if (kind == Outside::Kind::rate) {
      double rate = 0;
      const char* const last = one.bytes.data() + one.bytes.size();
      const auto [end, error] = std::from_chars(one.bytes.data(), last, rate);
      if (error != std::errc() || end != last || !std::isfinite(rate) || rate < 0)
        fail("a rate is a number, 0 or more");
    }
    records_.outside.push_back(std::move(one));
  }

  const fs::path path_;
  const std::string text_;
  std::string_view rest_, line_;
  std::size_t number_ = 0;
  bool begun_ = false;
  RunRecords records_;
};

std::string line_of(const Outside& one) {
  return fmt::format("{} {} {}\n", kOutsideKinds[static_cast<std::size_t>(one.kind)], one.at_ns,
                     escaped(one.bytes));
}

std::string line_of(std::string_view host, const Sent& one) {
  return fmt::format("sent {} {} {:016x}\n", one.until_ns, host, one.digest);
}

}  // namespace

RunRecords RunRecords::read(const fs::path& folder) {
  return LogReader(folder / kName).read();
}

std::int64_t RunRecords::end_ns() const {
  std::int64_t end = outside.empty() ? 0 : outside.back().at_ns + 1;
  for (const auto& [host, all] : sent)
    if (!all.empty()) end = std::max(end, all.back().until_ns);
  return end;
}

void RunRecords::cut(std::int64_t end_ns) {
  std::erase_if(outside, [&](const Outside& one) { return one.at_ns >= end_ns; });
  for (auto& [host, all] : sent)
    std::erase_if(all, [&](const Sent& one) { return one.until_ns > end_ns; });
}

std::string RunRecords::text() const {
  std::string text = fmt::format("{}\nseed {}\nuntil {}\n", kFirstLine, seed, until_ns);
  for (const auto& [name, value] : settings)
    text += fmt::format("set {} {}\n", name, escaped(value));
  for (const auto& [what, digest] : seen)
    text += fmt::format("sees {} {}\n", digest, escaped(what));
  text += "begin\n";
  for (const Outside& one : outside) text += line_of(one);
  for (const auto& [host, all] : sent)
    for (const Sent& one : all) text += line_of(host, one);
  return text;
}

void RunLog::begin(std::int64_t until_ns) {
  records_.until_ns = until_ns;
  const fs::path path = folder_ / kName, begun = folder_ / (std::string(kName) + ".new");
  write_file(begun, records_.text());
  fs::rename(begun, path);
  file_ = File(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file_.is_open()) throw UsageError("'" + path.string() + "' cannot be written");
}

void RunLog::add(const Outside& outside) const {
  write(line_of(outside));
}

void RunLog::add(std::string_view host, const Sent& sent) const {
  write(line_of(host, sent));
}

void RunLog::write(const std::string& line) const {
  if (ended_.load(std::memory_order_relaxed)) return;
  ssize_t bytes = -1;
  do {
    bytes = ::write(file_.get(), line.data(), line.size());
  } while (bytes < 0 && errno == EINTR);
  if (bytes != static_cast<ssize_t>(line.size()))
    throw ModelFault(fmt::format("'{}' cannot be written: {}", (folder_ / kName).string(),
                                 bytes < 0 ? std::strerror(errno) : "the disk is full"));
}

SentFrames::SentFrames(const RunLog* log, const std::string& host) : log_(log), host_(host) {
  if (log_ == nullptr) return;
  if (const auto found = log_->repeated().sent.find(host); found != log_->repeated().sent.end())
    repeated_ = found->second;
}

void SentFrames::sent(std::int64_t time_ns, unsigned device, std::span<const std::byte> frame) {
  if (log_ == nullptr) return;
  if (now_.until_ns != 0 && time_ns >= now_.until_ns) close();
  now_.until_ns = (time_ns / kStepNs + 1) * kStepNs;
  const std::hash<std::string_view> hash;
  const std::uint64_t all[] = {now_.digest, static_cast<std::uint64_t>(time_ns), device,
                               hash({reinterpret_cast<const char*>(frame.data()), frame.size()})};
  now_.digest = hash({reinterpret_cast<const char*>(all), sizeof all});
}

void SentFrames::close() {
  if (repeated_.empty()) {
    log_->add(host_, now_);
  } else {
    is_same_ = is_same_ && repeated_.front() == now_;
    repeated_ = repeated_.subspan(1);
  }
  now_.until_ns = 0;
}

bool SentFrames::passed(std::int64_t time_ns) {
  if (now_.until_ns != 0 && time_ns >= now_.until_ns) close();
  return is_same_ && (repeated_.empty() || repeated_.front().until_ns > time_ns);
}

}  // namespace orrery::lab
