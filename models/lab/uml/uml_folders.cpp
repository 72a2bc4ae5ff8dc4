// SPDX-License-Identifier: Apache-2.0
#include "uml_folders.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "../file.h"
#include "../guest.h"
#include "../guest_etc.h"
#include "../host_script.h"

namespace orrery::lab {
namespace {

/// Sets all file times to the guest's start, so that no file shows the machine's date.
void set_times(const std::filesystem::path& folder) {
  const auto start = std::chrono::file_clock::from_sys(
      std::chrono::sys_seconds(std::chrono::seconds(kStartOfDayS)));
  std::filesystem::last_write_time(folder, start);
  for (const auto& one : std::filesystem::recursive_directory_iterator(folder))
    std::filesystem::last_write_time(one, start);
}

/// Programs for hosts by name, with the files that guest/build made.
std::vector<std::pair<std::string, std::filesystem::path>> programs_of(
    const UmlSettings& settings) {
  std::vector<std::pair<std::string, std::filesystem::path>> programs;
  for (const char* const name : kProgramsOfHosts)
    programs.emplace_back(name, settings.program(name));
  if (!settings.olsrd.empty()) programs.back().second = settings.olsrd;
  return programs;
}

/// The files that are the same for all hosts with the same kind of root.
struct SharedFiles {
  std::map<std::string, std::string> texts;  ///< by path below the folder of the guest
  std::filesystem::path first;               ///< folder of the first host that has them
};

SharedFiles shared_files(const Topology& topology, bool of_machine) {
  SharedFiles files;
  for (const auto& [name, text] : etc_of(topology, of_machine))
    files.texts.emplace("etc/" + name, text);
  files.texts.emplace("folders", folders_of(of_machine));
  return files;
}

/// Writes the shared files for a host. The results contain them once: the folders of other hosts have
/// links to those of the first.
void share(SharedFiles& files, const UmlSettings& settings) {
  const std::filesystem::path at = settings.folder / "guest";
  const auto is_linked = [&](const std::filesystem::path& name) {
    std::error_code none;
    if (files.first.empty()) return false;
    std::filesystem::create_hard_link(files.first / "guest" / name, at / name, none);
    return !none;  // copies where the file system has no links
  };
  for (const auto& [name, text] : files.texts) {
    std::filesystem::create_directories((at / name).parent_path());
    if (!is_linked(name)) write_file(at / name, text);
  }
  for (const auto& [name, from] : programs_of(settings))
    if (!is_linked(name)) std::filesystem::copy_file(from, at / name);
  if (files.first.empty()) files.first = settings.folder;
}

void prepare_folder(const Host& host, const UmlSettings& settings) {
  const std::filesystem::path& at = settings.folder;
  std::filesystem::remove_all(at);
  for (const char* const folder : {"guest/files", "lab", "out", "root"})
    std::filesystem::create_directories(at / folder);
  write_file(at / "guest/host", script_of(host, settings.config));
  write_file(at / "guest/hostname", host.name + "\n");
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    std::filesystem::copy(from, at / "guest/files" / std::to_string(number++),
                          std::filesystem::copy_options::recursive);
}

}  // namespace

void prepare_uml_folders(const Topology& topology, std::span<const UmlSettings> hosts) {
  SharedFiles of_machine = shared_files(topology, true),
              of_own_root = shared_files(topology, false);
  for (const UmlSettings& one : hosts) {
    prepare_folder(topology.hosts[one.host], one);
    share(one.root == "/" ? of_machine : of_own_root, one);
    set_times(one.folder / "guest");
  }
}

}  // namespace orrery::lab
