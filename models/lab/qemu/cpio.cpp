// SPDX-License-Identifier: Apache-2.0
#include "cpio.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../guest.h"
#include "orrery/orrery.h"

namespace orrery::lab {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw UsageError("'" + path.string() + "' cannot be read");
  return bytes;
}

}  // namespace

void Cpio::pad() {
  archive_.resize((archive_.size() + 3) / 4 * 4, '\0');
}

void Cpio::add(std::string_view path, std::uint32_t mode, std::string_view bytes,
               std::uint32_t major, std::uint32_t minor) {
  constexpr std::uint32_t kRoot = 0, kLinks = 1, kDevice = 0, kChecksum = 0;
  archive_ += "070701";
  for (const std::uint32_t field :
       {++number_, mode, kRoot, kRoot, kLinks, static_cast<std::uint32_t>(kStartOfDayS),
        static_cast<std::uint32_t>(bytes.size()), kDevice, kDevice, major, minor,
        static_cast<std::uint32_t>(path.size() + 1), kChecksum})
    archive_ += fmt::format("{:08X}", field);
  archive_ += path;
  archive_ += '\0';
  pad();
  archive_ += bytes;
  pad();
}

void Cpio::add_console() {
  add("dev/console", 0020600, "", 5, 1);
}

void Cpio::add_copy(const std::string& path, const std::filesystem::path& from) {
  const auto status = std::filesystem::status(from);
  if (std::filesystem::is_regular_file(status)) {
    const bool executable =
        (status.permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
    return add_file(path, content_of(from), executable);
  }
  if (!std::filesystem::is_directory(status)) return;
  add_folder(path);
  std::vector<std::filesystem::path> names;
  for (const auto& one : std::filesystem::directory_iterator(from))
    if (!one.is_symlink()) names.push_back(one.path().filename());
  std::sort(names.begin(), names.end());
  for (const auto& name : names) add_copy(path + "/" + name.string(), from / name);
}

std::string Cpio::finish() {
  add("TRAILER!!!", 0, "");
  return std::move(archive_);
}

}  // namespace orrery::lab
