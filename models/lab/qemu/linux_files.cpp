// SPDX-License-Identifier: Apache-2.0
#include "linux_files.h"

#include <string>

#include "../file.h"
#include "../guest_etc.h"
#include "../host_script.h"
#include "cpio.h"

namespace orrery::lab {

namespace fs = std::filesystem;

void write_start_archive(const Topology& topology, const Host& host,
                         const std::map<std::string, fs::path>& programs, const ImageConfig& config,
                         const fs::path& to) {
  Cpio archive;
  for (const char* const folder : {"dev", "given", "mnt", "lab", "lab/files", "lab/etc"})
    archive.add_folder(folder);
  archive.add_console();
  for (const auto& [name, from] : programs) archive.add_copy(name, from);
  archive.add_file("lab/host", script_of(host, config));
  archive.add_file("lab/hostname", host.name + "\n");
  for (const auto& [name, text] : etc_of(topology, false))
    archive.add_file("lab/etc/" + name, text);
  archive.add_file("lab/folders", folders_of(false));
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    archive.add_copy("lab/files/" + std::to_string(number++), from);
  write_file(to, archive.finish());
}

}  // namespace orrery::lab
