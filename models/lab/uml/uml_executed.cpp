// SPDX-License-Identifier: Apache-2.0
#include "uml_executed.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../guest/folders.h"

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;
using Origin = ExecutedFiles::Origin;

constexpr std::size_t kMostListBytes = std::size_t{4}
                                       << 20;  ///< of a list; the lab's kernel stops at 1 MiB
constexpr std::string_view kRoot = "/guest/";  ///< root of a guest, as its kernel's process sees it

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// "/a//b" as "a/b"; std::nullopt for paths with "." or "..".
std::optional<fs::path> plain(std::string_view path) {
  fs::path result;
  for (const fs::path& name : fs::path(path).relative_path()) {
    if (name == "." || name == "..") return std::nullopt;
    if (!name.empty()) result /= name;
  }
  if (result.empty()) return std::nullopt;
  return result;
}

/// The part of `path` below `folder`: "" if they are equal, std::nullopt if `path` lies elsewhere.
std::optional<fs::path> within(const fs::path& folder, const fs::path& path) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (end != folder.end()) return std::nullopt;
  fs::path result;
  for (auto name = rest; name != path.end(); ++name) result /= *name;
  return result;
}

/// Finds the files of one host.
class Finder {
 public:
  Finder(const Host& host, const UmlSettings& settings, ExecutedFiles& files)
      : host_(host), settings_(settings), files_(files) {}

  ExecutedFiles::Entry find(std::string_view told) const {
    const std::string_view path = told.substr(std::min<std::size_t>(1, told.size()));
    if (told.starts_with('o')) return find_own(path);
    if (told.starts_with('r')) return {std::string(path), Origin::root, {}};
    if (told.starts_with('f') && path.starts_with(kRoot))
      return find_of_machine(path.substr(kRoot.size()));
    return {std::string(path), Origin::unknown, {}};
  }

 private:
  ExecutedFiles::Entry find_of_machine(std::string_view path) const;
  ExecutedFiles::Entry find_own(std::string_view path) const;

  const Host& host_;
  const UmlSettings& settings_;
  ExecutedFiles& files_;
};

ExecutedFiles::Entry Finder::find_of_machine(std::string_view path) const {
  const auto below = plain(path);
  if (!below) return {std::string(path), Origin::unknown, {}};
  const std::string seen = "/" + below->string();
  const std::string first = below->begin()->string();
  if (first == "out") return {seen, Origin::host, {}};
  if (const auto ours = within("lab", *below)) {
    const bool put_in = within("files", *ours).has_value();
    return files_.found(seen, put_in ? Origin::put_in : Origin::laboratory,
                        settings_.folder / "guest", *ours);
  }
  if (settings_.root != "/") {
    if (is_one_of(kHiddenFolders, first)) return {seen, Origin::unknown, {}};
    return files_.found(seen, Origin::root, settings_.root, *below);
  }
  if (!is_one_of(kProgramFolders, first)) return {seen, Origin::unknown, {}};
  return files_.found(seen, Origin::machine, "/", *below);
}

/// A file of the topology's `files` is read from the copy that the host cannot write.
ExecutedFiles::Entry Finder::find_own(std::string_view path) const {
  const auto below = plain(path);
  std::size_t number = 0;
  for (const auto& [to, from] : host_.files) {
    const auto target = plain(to);
    const auto rest = below && target ? within(*target, *below) : std::nullopt;
    if (rest) {
      const fs::path kept = fs::path("files") / std::to_string(number);
      ExecutedFiles::Entry one = files_.found(path, Origin::put_in, settings_.folder / "guest",
                                              rest->empty() ? kept : kept / *rest);
      if (one.content) return one;
    }
    ++number;
  }
  return {std::string(path), Origin::host, {}};
}

}  // namespace

void add_uml_executed(const Host& host, const UmlSettings& settings, ExecutedFiles& to) {
  std::ifstream file(settings.executed_file(), std::ios::binary);
  std::string list(kMostListBytes, '\0');
  file.read(list.data(), static_cast<std::streamsize>(list.size()));
  list.resize(static_cast<std::size_t>(file.gcount()));
  const bool is_whole = !list.empty() && list.size() < kMostListBytes && list.back() == '\0' &&
                        list.find(std::string_view("\0+", 2)) == std::string::npos;
  const Finder finder(host, settings, to);
  std::vector<ExecutedFiles::Entry> executed;
  if (fs::is_regular_file(settings.root))
    executed.push_back(to.found("root", Origin::root, settings.root.parent_path(), "root"));
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) break;
    if (const std::string_view told = rest.substr(0, end); !told.starts_with('+'))
      executed.push_back(finder.find(told));
    rest.remove_prefix(end + 1);
  }
  to.add(executed, is_whole);
}

}  // namespace orrery::lab
