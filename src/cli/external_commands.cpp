// SPDX-License-Identifier: Apache-2.0
#include "cli/external_commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "orrery-";

/// Empty if the system does not say.
fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

fs::path external_program(const std::string& name) {
  return own_folder() / (std::string(kPrefix) + name);
}

}  // namespace

void exec_external_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || own_folder().empty()) return;
  const fs::path other = external_program(fs::path(argv[1]).filename().string());
  if (access(other.c_str(), X_OK) != 0) return;
  std::vector<char*> words(argv + 1, argv + argc);
  words.push_back(nullptr);
  execv(other.c_str(), words.data());
}

std::vector<std::string> external_commands() {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(own_folder(), error)) {
    const std::string name = entry.path().filename().string();
    // A file with an extension, such as a plugin, is no program.
    if (name.starts_with(kPrefix) && name.find('.') == std::string::npos &&
        access(entry.path().c_str(), X_OK) == 0)
      names.push_back(name.substr(kPrefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string help_of_external_command(const std::string& name) {
  std::string quoted;
  for (const char c : external_program(name).string())
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* const pipe = popen(("'" + quoted + "' --help").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start orrery-" + name);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (pclose(pipe) != 0) throw std::runtime_error("orrery-" + name + " --help failed");
  return text;
}

}  // namespace orrery::cli
