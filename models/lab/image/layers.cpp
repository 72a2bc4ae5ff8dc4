// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace orrery::lab::image {
namespace {

constexpr std::string_view kWhiteout = ".wh.", kOpaque = ".wh..wh..opq";

/// The folder of a path, and the name in it.
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string join(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

void check(int result, archive* to) {
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
    throw ImageError(std::string("sqfstar does not take its files: ") + archive_error_string(to));
}

}  // namespace

Layers::Layers(const OuterArchive& archive, const std::vector<std::string>& names)
    : archive_(archive), names_(names) {
  for (std::size_t layer = 0; layer < names_.size(); ++layer)
    archive_.read_layer(names_[layer], [&](Entries& entries) { read_headers(entries, layer); });
}

/// Removes what a layer hides of those below before it adds the layer's files, whatever their order.
void Layers::read_headers(Entries& entries, std::size_t layer) {
  std::vector<std::pair<std::string, File>> files;
  std::size_t number = 0;
  while (archive_entry* const entry = entries.next()) {
    const std::string path = plain_path(archive_entry_pathname(entry), "the file");
    const auto [folder, name] = split(path);
    File file{archive_entry_filetype(entry),
              static_cast<unsigned>(archive_entry_perm(entry)),
              archive_entry_uid(entry),
              archive_entry_gid(entry),
              archive_entry_mtime(entry),
              0,
              "",
              layer,
              number++};
    if (++files_ > Limits::kFiles) throw ImageError("it has more than 2 million files");
    if (name == kOpaque) {
      remove_below(folder);
    } else if (name.starts_with(kWhiteout)) {
      const std::string hidden = join(folder, std::string_view(name).substr(kWhiteout.size()));
      remove_below(hidden);
      tree_.erase(hidden);
    } else if (const char* const target = archive_entry_hardlink(entry); target != nullptr) {
      file.kind = 0;
      file.target = plain_path(target, "the link to");
      files.emplace_back(path, std::move(file));
    } else {
      if (const char* const soft = archive_entry_symlink(entry); soft != nullptr)
        file.target = soft;
      if (file.kind == AE_IFREG) file.bytes = static_cast<std::uint64_t>(archive_entry_size(entry));
      if (file.bytes > Limits::kBytes || (bytes_ += file.bytes) > Limits::kBytes)
        throw ImageError("its files have more than 16 GiB");
      files.emplace_back(path, std::move(file));
    }
  }
  for (auto& [path, file] : files) {
    if (file.kind == 0) {
      link(path, file.target);
    } else if (file.kind == AE_IFREG || file.kind == AE_IFDIR || file.kind == AE_IFLNK ||
               file.kind == AE_IFIFO) {
      add(path, std::move(file));
    }
  }
}

void Layers::remove_below(const std::string& path) {
  if (path.empty()) return tree_.clear();
  tree_.erase(tree_.lower_bound(path + "/"), tree_.lower_bound(path + "0"));  // '0' follows '/'
}

/// Folders above a file that no layer has, or that are no folders in the layers below.
void Layers::add_parents(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    File& folder = tree_[path.substr(0, slash)];
    if (folder.kind == AE_IFDIR) continue;
    folder = File();
    folder.kind = AE_IFDIR;
    folder.mode = 0755;
  }
}

void Layers::add(const std::string& path, File file) {
  if (path.empty()) {
    if (file.kind == AE_IFDIR) tree_[""] = std::move(file);
    return;
  }
  add_parents(path);
  if (file.kind != AE_IFDIR) remove_below(path);
  tree_[path] = std::move(file);
}

/// A hard link shares the place of its content with its target.
void Layers::link(const std::string& path, const std::string& target) {
  const auto found = tree_.find(target);
  if (found == tree_.end() || found->second.kind == AE_IFDIR)
    throw ImageError("the hard link '" + path.substr(0, 200) + "' leads to '" +
                     target.substr(0, 200) + "', which is no file of the image");
  if (path != target) add(path, File(found->second));
}

bool Layers::has_file(const std::string& path) const {
  constexpr int kMostLinks = 40;
  std::string at, rest = path;
  for (int links = 0; !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = split(at).first;
      continue;
    }
    const auto found = tree_.find(join(at, name));
    if (found == tree_.end() || links > kMostLinks) return false;
    if (found->second.kind != AE_IFLNK) {
      at = found->first;
      continue;
    }
    ++links;
    if (found->second.target.starts_with('/')) at.clear();
    rest = found->second.target + "/" + rest;
  }
  const auto found = tree_.find(at);
  return found != tree_.end() && found->second.kind == AE_IFREG;
}

/// Writes the header of a file. `first`: the path with the same content that is written before.
void Layers::write_header(archive* to, const std::string& path, const File& file,
                          const std::string* first) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), file.kind);
  archive_entry_set_perm(entry.get(), static_cast<__LA_MODE_T>(file.mode));
  archive_entry_set_uid(entry.get(), file.user);
  archive_entry_set_gid(entry.get(), file.group);
  archive_entry_set_mtime(entry.get(), file.time_s, 0);
  archive_entry_set_size(entry.get(), first == nullptr ? static_cast<la_int64_t>(file.bytes) : 0);
  if (file.kind == AE_IFLNK) archive_entry_set_symlink(entry.get(), file.target.c_str());
  if (first != nullptr) archive_entry_set_hardlink(entry.get(), first->c_str());
  check(archive_write_header(to, entry.get()), to);
}

void Layers::write_tar(int descriptor) const {
  Archive to(archive_write_new(), archive_write_free);
  archive_write_set_format_pax_restricted(to.get());
  archive_write_add_filter_none(to.get());
  check(archive_write_open_fd(to.get(), descriptor), to.get());
  for (const auto& [path, file] : tree_)
    if (file.kind != AE_IFREG && !path.empty()) write_header(to.get(), path, file, nullptr);
  for (std::size_t layer = 0; layer < names_.size(); ++layer)
    archive_.read_layer(names_[layer],
                        [&](Entries& entries) { write_contents(to.get(), entries, layer); });
  check(archive_write_close(to.get()), to.get());
}

/// Writes those files of a layer that are left. A content with several paths is written once.
void Layers::write_contents(archive* to, Entries& entries, std::size_t layer) const {
  std::map<std::size_t, std::vector<const Tree::value_type*>> wanted;
  for (const auto& one : tree_)
    if (one.second.kind == AE_IFREG && one.second.layer == layer)
      wanted[one.second.number].push_back(&one);
  std::vector<char> part(std::size_t{1} << 16);
  for (std::size_t number = 0; entries.next() != nullptr; ++number) {
    const auto found = wanted.find(number);
    if (found == wanted.end()) continue;
    const auto& [first, file] = *found->second.front();
    write_header(to, first, file, nullptr);
    while (const std::size_t bytes = entries.read(part.data(), part.size()))
      if (archive_write_data(to, part.data(), bytes) < 0) check(ARCHIVE_FATAL, to);
    for (std::size_t i = 1; i < found->second.size(); ++i)
      write_header(to, found->second[i]->first, file, &first);
  }
}

}  // namespace orrery::lab::image
