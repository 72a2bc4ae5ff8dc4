// SPDX-License-Identifier: Apache-2.0
#include "elf_kind.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <array>
#include <cstring>

#include "file.h"

namespace orrery::lab {
namespace {

std::optional<ElfKind> read_kind(const File& file) {
  constexpr std::size_t kClass = 4, kMachine = 18;
  constexpr unsigned char k64Bits = 2, kLittleEndian = 1;
  std::array<unsigned char, kMachine + 2> header{};
  if (!file.is_open() ||
      read(file.get(), header.data(), header.size()) != static_cast<ssize_t>(header.size()) ||
      std::memcmp(header.data(),
                  "\x7f"
                  "ELF",
                  kClass) != 0 ||
      header[kClass + 1] != kLittleEndian)
    return std::nullopt;
  return ElfKind{header[kClass] == k64Bits ? 64U : 32U,
                 header[kMachine] + 256U * header[kMachine + 1]};
}

}  // namespace

std::optional<ElfKind> elf_kind(const std::filesystem::path& file) {
  return read_kind(File(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
}

std::optional<ElfKind> elf_kind_below(const std::filesystem::path& root, const char* program) {
  const File folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return std::nullopt;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT;
  return read_kind(
      File(static_cast<int>(syscall(SYS_openat2, folder.get(), program, &how, sizeof how))));
}

}  // namespace orrery::lab
