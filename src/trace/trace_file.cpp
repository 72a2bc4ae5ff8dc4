// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/file_output.h"
#include "orrery/error.h"
#include "trace/reader.h"

namespace orrery::trace {

TraceFile::TraceFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".part") {
  std::error_code unknown;
  const auto status = std::filesystem::status(path_, unknown);
  if (std::filesystem::exists(status) &&
      !(std::filesystem::is_regular_file(status) && is_trace(path_)))
    throw UsageError(fmt::format(
        "--trace: '{}' is there and is no trace of orrery, so it is not replaced", path_));
  out_ = std::make_unique<FileWriter>(temporary_);
}

TraceFile::~TraceFile() {
  if (out_ == nullptr) return;
  out_.reset();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

std::function<void(std::string&)> TraceFile::flush() {
  return [this](std::string& text) {
    bytes_ += text.size();
    out_->write(text);
    text.clear();
  };
}

void TraceFile::write(const CommittedEvents& events) {
  events.append_packets(flush());
}

std::uint64_t TraceFile::write(const std::vector<Lane>& lanes, unsigned rank, double tick_seconds,
                               std::uint64_t most_bytes) {
  return append_life(lanes, rank, tick_seconds, most_bytes, flush());
}

void TraceFile::publish() {
  out_->finish();
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw UsageError(fmt::format("cannot write '{}': {}", path_, error.message()));
  out_.reset();
}

}  // namespace orrery::trace
