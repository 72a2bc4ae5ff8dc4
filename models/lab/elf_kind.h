// SPDX-License-Identifier: Apache-2.0
//
// For which processor a program is (ELF specification: class, byte order, e_machine), so that a host of
// another one is refused before it starts.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>

namespace orrery::lab {

struct ElfKind {
  unsigned bits;     ///< 32 or 64
  unsigned machine;  ///< e_machine

  bool operator==(const ElfKind&) const = default;
};

/// std::nullopt if the file is no program of a little-endian processor.
std::optional<ElfKind> elf_kind(const std::filesystem::path& file);

/// The same of a program in a folder that becomes a root: links lead from there. std::nullopt also if
/// it cannot be opened.
std::optional<ElfKind> elf_kind_below(const std::filesystem::path& root, const char* program);

}  // namespace orrery::lab
