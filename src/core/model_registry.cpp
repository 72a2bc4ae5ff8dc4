// SPDX-License-Identifier: Apache-2.0
//
// Models by name. Static initialisers register models, so the table is function-local; a shared
// object with models registers them the same way during dlopen.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/model_registry.h"
#include "core/text.h"
#include "memory/model_heap.h"

namespace orrery {
namespace {

std::vector<ModelInfo>& model_table() {
  static std::vector<ModelInfo> table;
  return table;
}

/// Set by register_model when a shared object was built against other headers.
std::string& abi_mismatch() {
  static std::string name;
  return name;
}

/// Insertions, deletions, replacements and swaps of neighbours (Damerau 1964).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> names_of_models() {
  std::vector<std::string> names;
  for (const ModelInfo& info : model_table()) names.push_back(info.name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".so");
}

/// Loads a shared object and returns the models that it registered.
std::vector<ModelInfo> load_models(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    throw UsageError(fmt::format("model file '{}' does not exist", path));
  if (!std::filesystem::is_regular_file(status))  // the loader would wait for ever at a pipe
    throw UsageError(
        fmt::format("model file '{}' is no file, but a directory, pipe or device", path));
  static std::vector<std::pair<std::string, std::vector<ModelInfo>>> loaded;
  const std::string absolute = std::filesystem::canonical(path).string();
  for (const auto& [known, infos] : loaded)
    if (known == absolute) return infos;
  const std::size_t before = model_table().size();
  // The handle is never closed, since the code must stay while models may exist.
  if (dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    throw UsageError(fmt::format("cannot load model file '{}': {}", path, dlerror()));
  if (!abi_mismatch().empty()) {
    throw UsageError(fmt::format(
        "model '{}' in '{}' was compiled against another version of Orrery's headers; compile it "
        "again",
        abi_mismatch(), path));
  }
  std::vector<ModelInfo> added(model_table().begin() + static_cast<std::ptrdiff_t>(before),
                               model_table().end());
  if (added.empty())
    throw UsageError(fmt::format("'{}' holds no model; is ORRERY_MODEL missing?", path));
  loaded.emplace_back(absolute, added);
  return added;
}

std::unique_ptr<Model> made(const ModelInfo& info) {
  const memory::ModelScope scope;
  return info.make();
}

}  // namespace

std::string near_matches(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 100;  // longer than any name; quadratic time
  if (word.size() > kLongestWord) return "";
  const std::string folded = lower_case(word);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::string name = lower_case(candidate);
    const std::size_t distance = edit_distance(folded, name);
    const bool prefix = !folded.empty() && name.starts_with(folded);
    if (prefix || distance <= std::max<std::size_t>(1, candidate.size() / 3))
      near.emplace_back(prefix ? 0 : distance, candidate);
  }
  std::sort(near.begin(), near.end());
  if (near.empty()) return "";
  if (lower_case(near.front().second) == folded) near.resize(1);
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size() && i < 3; ++i)
    text += (i == 0 ? "'" : " or '") + near[i].second + "'";
  return text + "?";
}

const std::vector<ModelInfo>& models() {
  auto& table = model_table();
  std::sort(table.begin(), table.end(),
            [](const ModelInfo& a, const ModelInfo& b) { return a.name < b.name; });
  return table;
}

std::unique_ptr<Model> make_model(std::string_view name_or_path, std::string* name) {
  if (is_path(name_or_path)) {
    const auto infos = load_models(std::string(name_or_path));
    if (infos.size() > 1) {
      throw UsageError(fmt::format("'{}' holds {} models; a model file must hold one", name_or_path,
                                   infos.size()));
    }
    if (name != nullptr) *name = infos.front().name;
    return made(infos.front());
  }
  for (const ModelInfo& info : model_table()) {
    if (info.name != name_or_path) continue;
    if (name != nullptr) *name = info.name;
    return made(info);
  }
  throw UsageError(fmt::format("there is no model '{}'{} ('orrery list' shows all)", name_or_path,
                               near_matches(name_or_path, names_of_models())));
}

void set_parameter(Model& model, std::string_view name, std::string_view value) {
  std::vector<std::string> names;
  for (ParameterBase* parameter : model.parameters()) {
    if (parameter->name() == name) {
      const memory::ModelScope scope;
      return parameter->set(value);
    }
    names.push_back(parameter->name());
  }
  throw UsageError(fmt::format("the model has no parameter '{}'{} (parameters: {})", name,
                               near_matches(name, names), joined(names)));
}

std::string find_model_data(std::string_view name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* data = std::getenv("ORRERY_DATA")) folders.emplace_back(data);
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  for (fs::path up = command.parent_path(); !error && up.has_relative_path();
       up = up.parent_path()) {
    folders.push_back(up / "share/orrery/models");
    if (fs::exists(up / "include/orrery/model.h", error)) folders.push_back(up / "models");
  }
  for (const fs::path& folder : folders)
    if (fs::exists(folder / name, error)) return (folder / name).string();
  return "";
}

namespace detail {

void register_model(const char* name, const char* summary, ModelFactory factory, int abi_version) {
  if (abi_version != kAbiVersion) {
    abi_mismatch() = name;
    return;
  }
  model_table().push_back({name, summary, factory});
}

}  // namespace detail
}  // namespace orrery
