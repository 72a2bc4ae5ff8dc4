// SPDX-License-Identifier: Apache-2.0
#include "core/modules.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace orrery {
namespace {

constexpr unsigned long kAsk = 0xffffffff;

/// The build id in a segment of notes, or "".
std::string build_id_in(const char* notes, std::size_t bytes) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name_at = sizeof note, id_at = name_at + padded(note.n_namesz);
    const std::size_t whole = id_at + padded(note.n_descsz);
    if (whole > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(notes + name_at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      const auto* const id = reinterpret_cast<const unsigned char*>(notes + id_at);
      return fmt::format("{:02x}", fmt::join(id, id + note.n_descsz, ""));
    }
    notes += whole;
    bytes -= whole;
  }
  return "";
}

int add_module(dl_phdr_info* info, std::size_t, void* list) {
  auto& modules = *static_cast<std::vector<Module>*>(list);
  Module module;
  module.path = info->dlpi_name;
  module.base = info->dlpi_addr;
  module.is_fixed = info->dlpi_addr == 0;
  module.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      module.begin = std::min(module.begin, begin);
      module.end = std::max(module.end, begin + part.p_memsz);
    } else if (part.p_type == PT_NOTE && module.build_id.empty()) {
      module.build_id = build_id_in(reinterpret_cast<const char*>(begin), part.p_memsz);
    }
  }
  if (module.begin < module.end) modules.push_back(std::move(module));
  return 0;
}

}  // namespace

std::vector<Module> loaded_modules() {
  std::vector<Module> modules;
  dl_iterate_phdr(add_module, &modules);
  std::error_code unknown;
  if (!modules.empty() && modules.front().path.empty())
    modules.front().path = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  return modules;
}

std::string build_of_program() {
  const std::vector<Module> modules = loaded_modules();
  return modules.empty() ? "" : modules.front().build_id;
}

std::string build_of_model(const std::string& path) {
  std::error_code unknown;
  for (const Module& module : loaded_modules())
    if (std::filesystem::equivalent(module.path, path, unknown)) return module.build_id;
  return "";
}

void execute_without_random_addresses() {
  const int now = personality(kAsk);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), {});
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < words.size(); at += std::strlen(&words[at]) + 1)
    arguments.push_back(&words[at]);
  arguments.push_back(nullptr);
  if (arguments.size() > 1) execv("/proc/self/exe", arguments.data());
  personality(static_cast<unsigned long>(now));
}

}  // namespace orrery
