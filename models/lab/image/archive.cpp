// SPDX-License-Identifier: Apache-2.0
#include "archive.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "../sha256.h"

namespace orrery::lab::image {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 16;

/// A reader of tars, plain or compressed. Other formats, and filters by programs of the machine, are
/// left out.
Archive new_reader() {
  Archive reader(archive_read_new(), archive_read_free);
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_xz(reader.get());
  return reader;
}

/// The bytes of a layer, as libarchive asks for them.
struct LayerBytes {
  Entries* entries;
  Sha256 digest;
  std::array<char, kPartBytes> part;

  std::size_t next() {
    const std::size_t bytes = entries->read(part.data(), part.size());
    digest.add(part.data(), bytes);
    return bytes;
  }
};

la_ssize_t read_part(archive* reader, void* data, const void** part) {
  auto& bytes = *static_cast<LayerBytes*>(data);
  try {
    *part = bytes.part.data();
    return static_cast<la_ssize_t>(bytes.next());
  } catch (const ImageError& error) {
    archive_set_error(reader, EIO, "%s", error.what());
    return -1;
  }
}

/// The SHA-256 that a name of an OCI image layout has; "" if it has none.
std::string digest_in(const std::string& name) {
  constexpr std::string_view kFolder = "blobs/sha256/";
  return name.starts_with(kFolder) ? name.substr(kFolder.size()) : "";
}

}  // namespace

ImageError missing(const std::string& name) {
  return ImageError("'" + name.substr(0, 200) + "' is missing in it");
}

std::string plain_path(std::string_view path, std::string_view what) {
  std::string plain;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..")
      throw ImageError(std::string(what) + " '" + std::string(path.substr(0, 200)) +
                       "' leads out of the image by '..'");
    if (name.size() > Limits::kName || plain.size() + name.size() > Limits::kPath)
      throw ImageError(std::string(what) + " '" + std::string(path.substr(0, 100)) +
                       "...' has a longer path than Linux takes");
    plain += (plain.empty() ? "" : "/") + std::string(name);
  }
  return plain;
}

archive_entry* Entries::next() {
  archive_entry* entry = nullptr;
  const int result = archive_read_next_header(archive_.get(), &entry);
  if (result == ARCHIVE_EOF) return nullptr;
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN) fail();
  if (++count_ > Limits::kFiles) throw ImageError(name_ + " has more than 2 million files");
  if (archive_entry_pathname(entry) == nullptr)
    throw ImageError(name_ + " has a file without a name");
  return entry;
}

std::size_t Entries::read(char* to, std::size_t bytes) {
  const la_ssize_t got = archive_read_data(archive_.get(), to, bytes);
  if (got < 0) fail();
  return static_cast<std::size_t>(got);
}

void Entries::fail() const {
  const char* const why = archive_error_string(archive_.get());
  throw ImageError(name_ + " cannot be read: " + (why == nullptr ? "it is damaged" : why));
}

/// The archive at the entry `name`. A name may be a link to another, as `docker save` makes for layers
/// that occur twice.
std::optional<Entries> OuterArchive::find(const std::string& name) const {
  constexpr int kMostLinks = 4;
  std::string wanted = plain_path(name, "the file");
  for (int links = 0; links <= kMostLinks; ++links) {
    Archive reader = new_reader();
    if (archive_read_open_filename(reader.get(), path_.c_str(), kPartBytes) != ARCHIVE_OK)
      throw ImageError(std::string("it is no tar: ") + archive_error_string(reader.get()));
    Entries entries(std::move(reader), "the archive");
    std::string link;
    while (archive_entry* const entry = entries.next()) {
      if (plain_path(archive_entry_pathname(entry), "the file") != wanted) continue;
      const char* const hard = archive_entry_hardlink(entry);
      const char* const soft = archive_entry_symlink(entry);
      if (hard == nullptr && soft == nullptr) return entries;
      const auto folder = std::filesystem::path(wanted).parent_path();
      link = hard != nullptr ? hard : (folder / soft).lexically_normal().string();
      break;
    }
    if (link.empty()) break;
    wanted = plain_path(link, "the link to");
  }
  return std::nullopt;
}

std::optional<std::string> OuterArchive::text(const std::string& name) const {
  std::optional<Entries> entries = find(name);
  if (!entries) return std::nullopt;
  std::string text;
  std::vector<char> part(kPartBytes);
  while (const std::size_t bytes = entries->read(part.data(), part.size())) {
    text.append(part.data(), bytes);
    if (text.size() > Limits::kJsonBytes)
      throw ImageError("'" + name.substr(0, 200) + "' is longer than 16 MiB");
  }
  return text;
}

void OuterArchive::read_layer(const std::string& name,
                              const std::function<void(Entries&)>& action) const {
  std::optional<Entries> outer = find(name);
  if (!outer) throw missing(name);
  LayerBytes bytes{&*outer, {}, {}};
  Archive reader = new_reader();
  archive_read_support_format_empty(reader.get());
  const std::string shown = "the layer '" + name.substr(0, 200) + "'";
  if (archive_read_open(reader.get(), &bytes, nullptr, read_part, nullptr) != ARCHIVE_OK)
    throw ImageError(shown + " is no tar: " + archive_error_string(reader.get()));
  Entries entries(std::move(reader), shown);
  action(entries);
  while (bytes.next() > 0) continue;
  if (const std::string wanted = digest_in(name); !wanted.empty() && bytes.digest.text() != wanted)
    throw ImageError(shown + " is damaged: it has another SHA-256 than its name");
}

}  // namespace orrery::lab::image
