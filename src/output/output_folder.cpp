// SPDX-License-Identifier: Apache-2.0
#include "output/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/file_output.h"
#include "orrery/error.h"

namespace orrery {
namespace fs = std::filesystem;
namespace {

std::string reason(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full; free some space or choose another folder with --out";
    case EDQUOT:
      return "the disk quota is used up; choose another folder with --out";
    default:
      return std::strerror(error);
  }
}

/// True for a name that stays within the folder, since users may edit a report.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

}  // namespace

OutputFolder::OutputFolder(std::string path, std::string_view final_name, bool force)
    : path_(std::move(path)), final_name_(final_name) {
  create_and_lock();
  if (std::error_code unknown; !force && fs::exists(in_folder(final_name_), unknown)) {
    close(lock_);
    throw UsageError(fmt::format(
        "folder '{}' holds the {} of an earlier run; choose another with --out, or replace it with "
        "--force",
        path_, final_name_));
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  for (const std::string& name : names_) fs::remove(temporary(name), ignored);
  fs::remove(temporary(final_name_), ignored);
  if (made_) rmdir(path_.c_str());  // fails if the folder is not empty
  close(lock_);                     // releases the lock
}

void OutputFolder::create_and_lock() {
  std::error_code error;
  made_ = fs::create_directories(path_, error);
  std::error_code unknown;  // the code above refuses a name that is too long
  if (error && !fs::is_directory(path_, unknown))
    throw UsageError(fmt::format("cannot make the output folder '{}': {}", path_, error.message()));
  lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0)
    throw UsageError(fmt::format("cannot use the output folder '{}': {}", path_, reason(errno)));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(lock_);
    throw UsageError(
        fmt::format("another run is writing to folder '{}'; choose another with --out", path_));
  }
}

std::string OutputFolder::in_folder(std::string_view name) const {
  return (fs::path(path_) / name).string();
}

std::string OutputFolder::temporary(std::string_view name) const {
  return in_folder(std::string(name) + ".part");
}

std::string OutputFolder::add(std::string_view name) {
  names_.emplace_back(name);
  return temporary(name);
}

void OutputFolder::add(std::string_view name, std::string_view text) {
  FileWriter file(add(name));
  file.write(text);
  file.finish();
}

void OutputFolder::publish(std::string_view final_text) {
  FileWriter report(temporary(final_name_));
  report.write(final_text);
  report.finish();
  remove_earlier_run();
  for (const std::string& name : names_) rename_into_place(name);
  synchronise_names();
  rename_into_place(final_name_);
  names_.clear();
  synchronise_names();
}

void OutputFolder::synchronise_names() const {
  if (!synchronise(lock_))
    throw UsageError(fmt::format("cannot write to folder '{}': {}", path_, reason(errno)));
}

/// Removes the old report first, so that it never stands beside files of another run.
void OutputFolder::remove_earlier_run() const {
  std::ifstream stream(in_folder(final_name_));
  if (!stream) return;
  const auto old = nlohmann::json::parse(stream, nullptr, false);
  std::error_code ignored;
  fs::remove(in_folder(final_name_), ignored);
  if (const std::string page = in_folder(kPageName); is_page(page)) fs::remove(page, ignored);
  if (!old.is_object() || !old.contains("files") || !old["files"].is_array()) return;
  for (const auto& name : old["files"])
    if (name.is_string() && is_plain_name(name.get<std::string>()))
      fs::remove(in_folder(name.get<std::string>()), ignored);
}

void OutputFolder::rename_into_place(std::string_view name) const {
  if (std::rename(temporary(name).c_str(), in_folder(name).c_str()) != 0)
    throw UsageError(fmt::format("cannot write '{}': {}", in_folder(name), reason(errno)));
}

bool is_page(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string begin(kPageMark.size(), ' ');
  return stream.read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
         begin == kPageMark;
}

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) refuse();
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FileWriter::flush() {
  if (!write_fully(descriptor_, buffer_.data(), buffer_.size())) refuse();
  buffer_.clear();
}

void FileWriter::finish() {
  flush();
  if (!synchronise(descriptor_)) refuse();
  const int descriptor = std::exchange(descriptor_, -1);
  if (close(descriptor) != 0) refuse();
}

void FileWriter::refuse() const {
  throw UsageError(fmt::format("cannot write '{}': {}", path_, reason(errno)));
}

}  // namespace orrery
