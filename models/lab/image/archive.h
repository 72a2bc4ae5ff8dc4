// SPDX-License-Identifier: Apache-2.0
//
// An archive of an image of containers (`docker save`, or an OCI image layout in a tar), and the
// archives in it, which are layers of files. All are read by libarchive, with limits, since they may
// be a stranger's. Nothing is unpacked onto the machine.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace orrery::lab::image {

/// What is wrong with an archive, as a sentence without a full stop.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Limits {
  static constexpr std::uint64_t kBytes = std::uint64_t{16} << 30;  ///< of all files of an image
  static constexpr std::uint64_t kFiles = 2'000'000;
  static constexpr std::size_t kLayers = 256, kJsonBytes = std::size_t{16} << 20;
  static constexpr std::size_t kPath = 4095, kName = 255;
};

/// Says that the archive lacks a file.
ImageError missing(const std::string& name);

/// A path of an archive without "." and with no "/" at its ends; "" is the root. Throws ImageError if
/// it leads out of the archive by "..", or is too long. `what`: to name it ("the file").
std::string plain_path(std::string_view path, std::string_view what);

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

/// Reads the headers of an archive in turn.
class Entries {
 public:
  explicit Entries(Archive archive, std::string name)
      : archive_(std::move(archive)), name_(std::move(name)) {}

  /// The next entry, which is valid until the next call; nullptr at the end. Throws ImageError.
  archive_entry* next();
  /// Reads a part of the entry's content; 0 at its end. Throws ImageError.
  std::size_t read(char* to, std::size_t bytes);

 private:
  [[noreturn]] void fail() const;

  Archive archive_;
  std::string name_;
  std::uint64_t count_ = 0;
};

/// The archive of an image.
class OuterArchive {
 public:
  explicit OuterArchive(std::filesystem::path path) : path_(std::move(path)) {}

  /// The content of a file of JSON; std::nullopt if there is none. Throws ImageError.
  std::optional<std::string> text(const std::string& name) const;
  /// Opens a layer, which is an archive of its own, compressed or not, and calls `action` with its
  /// entries. A layer with its SHA-256 in its name must have it. Throws ImageError.
  void read_layer(const std::string& name, const std::function<void(Entries&)>& action) const;

 private:
  std::optional<Entries> find(const std::string& name) const;

  std::filesystem::path path_;
};

}  // namespace orrery::lab::image
