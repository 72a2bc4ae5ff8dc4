// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "core/type_name.h"

namespace orrery::checker {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

/// Without the lists of parameters: "(anonymous namespace)::Desk::handle".
std::string shortened(const std::string& name) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string text;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (depth == 0 && name.compare(i, kAnonymous.size(), kAnonymous) == 0) {
      text += kAnonymous;
      i += kAnonymous.size() - 1;
      continue;
    }
    if (name[i] == '(') ++depth;
    if (depth == 0) text += name[i];
    if (name[i] == ')') --depth;
  }
  for (std::size_t at; (at = text.find(" const::")) != std::string::npos;) text.erase(at, 6);
  if (text.ends_with(" const")) text.resize(text.size() - 6);
  return text;
}

std::vector<char> contents(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<char> bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

/// The name of the symbol of `file` that covers `value`, an address relative to the file's base.
std::string covering_symbol(const std::vector<char>& file, std::uintptr_t value,
                            std::size_t* offset) {
  Header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const auto read = [&]<class T>(T& into, std::size_t at) {
    if (at > file.size() || file.size() - at < sizeof into) return false;
    std::memcpy(&into, file.data() + at, sizeof into);
    return true;
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Section section, strings;
    if (!read(section, header.e_shoff + i * sizeof section)) return {};
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (!read(strings, header.e_shoff + section.sh_link * sizeof strings)) return {};
    for (std::size_t at = 0; at + sizeof(Symbol) <= section.sh_size; at += sizeof(Symbol)) {
      Symbol symbol;
      if (!read(symbol, section.sh_offset + at)) return {};
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_OBJECT) || value < symbol.st_value ||
          value - symbol.st_value >= symbol.st_size) {
        continue;
      }
      const std::size_t name = strings.sh_offset + symbol.st_name;
      if (name >= file.size()) return {};
      if (offset != nullptr) *offset = value - symbol.st_value;
      return std::string(file.data() + name, strnlen(file.data() + name, file.size() - name));
    }
  }
  return {};
}

}  // namespace

std::string symbol_at(const void* address, std::size_t* offset) {
  Dl_info info;
  link_map* module = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 ||
      info.dli_fname == nullptr || module == nullptr)
    return {};
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  std::vector<char> file = contents(info.dli_fname);
  if (file.empty()) file = contents("/proc/self/exe");  // started by a name without a path
  const std::string name = covering_symbol(file, value - module->l_addr, offset);
  if (!name.empty()) return shortened(demangled(name.c_str()));
  if (info.dli_sname == nullptr) return {};
  if (offset != nullptr) *offset = value - reinterpret_cast<std::uintptr_t>(info.dli_saddr);
  return shortened(demangled(info.dli_sname));
}

std::string file_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace orrery::checker
