// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/data_watch.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "engine/checker/symbols.h"
#include "memory/poison.h"

namespace orrery::checker {
namespace {

/// Namespaces and libraries whose data a handler may change: these belong to the platform or its
/// libraries, and are not state of a model.
constexpr std::array<std::string_view, 6> kPlatformNames = {"orrery::memory::",
                                                            "orrery::checker::",
                                                            "orrery::cycles_per_second",
                                                            "fmt::",
                                                            "CLI::",
                                                            "std::"};
/// In the command, all other data of the platform, too: its other threads, such as the one of the
/// live page, change it while a handler runs. Models of the command have these namespaces or their
/// own.
constexpr std::array<std::string_view, 2> kPlatformNamesOfCommand = {"orrery::", "nlohmann::"};
constexpr std::array<std::string_view, 3> kModelNamesOfCommand = {
    "orrery::lab::", "orrery::models::", "orrery::testing::"};

template <std::size_t count>
bool begins_with_any(std::string_view name, const std::array<std::string_view, count>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view one) { return name.starts_with(one); });
}

constexpr std::uintptr_t kWord = sizeof(std::uint64_t);

struct Span {
  std::uintptr_t begin, end;
};

struct Search {
  std::uintptr_t code;
  bool is_command = false;
  std::vector<Span> found;
};

/// Removes `hole` from `spans`: data that the dynamic linker write-protects after start.
void remove(std::vector<Span>& spans, Span hole) {
  std::vector<Span> left;
  for (const Span& span : spans) {
    if (span.begin < hole.begin) left.push_back({span.begin, std::min(span.end, hole.begin)});
    if (span.end > hole.end) left.push_back({std::max(span.begin, hole.end), span.end});
  }
  spans = left;
}

int visit_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto at = [&](const ElfW(Phdr) & header) {
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    return Span{begin, begin + header.p_memsz};
  };
  const auto* const first = info->dlpi_phdr;
  const auto* const last = first + info->dlpi_phnum;
  const bool ours = std::any_of(first, last, [&](const ElfW(Phdr) & header) {
    const Span span = at(header);
    return header.p_type == PT_LOAD && span.begin <= search.code && search.code < span.end;
  });
  if (!ours) return 0;
  search.is_command = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  for (const auto* header = first; header != last; ++header)
    if (header->p_type == PT_LOAD && (header->p_flags & PF_W) != 0)
      search.found.push_back(at(*header));
  for (const auto* header = first; header != last; ++header) {
    if (header->p_type == PT_GNU_RELRO) remove(search.found, at(*header));
    // The command's thread-local data is the platform's record of the mode.
    if (header->p_type == PT_TLS && !search.is_command && info->dlpi_tls_data != nullptr) {
      const auto begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
      search.found.push_back({begin, begin + header->p_memsz});
    }
  }
  return 1;
}

}  // namespace

DataWatch::DataWatch(const Model& model) {
  std::memcpy(&code_, static_cast<const void*>(&model), sizeof code_);  // the table of its class
  add_segments();
}

void DataWatch::add_segments() {
  Search search{reinterpret_cast<std::uintptr_t>(code_), false, {}};
  dl_iterate_phdr(visit_object, &search);
  is_command_ = search.is_command;
  for (const Span& span : search.found) {
    // Whole words: segments start and end at words, except for a shorter last variable.
    const std::uintptr_t begin = (span.begin + kWord - 1) / kWord * kWord;
    const std::uintptr_t end = span.end / kWord * kWord;
    if (begin >= end) continue;
    ranges_.push_back(
        {reinterpret_cast<const std::byte*>(begin), std::vector<std::byte>(end - begin)});
    bytes_ += end - begin;
  }
  refresh();
}

// A sanitizer puts poisoned zones between variables, hence this class copies and compares without
// its checks.
void DataWatch::refresh() {
  for (Range& range : ranges_)
    memory::copy_poisoned(range.copy.data(), range.begin, range.copy.size());
}

/// Visits each word that changed, and takes its value as the new basis.
template <class Visit>
__attribute__((no_sanitize("address", "thread"))) void DataWatch::for_each_change(Visit&& visit) {
  for (Range& range : ranges_) {
    const auto* now = reinterpret_cast<const std::uint64_t*>(range.begin);
    auto* before = reinterpret_cast<std::uint64_t*>(range.copy.data());
    for (std::size_t i = 0; i < range.copy.size() / sizeof(std::uint64_t); ++i) {
      if (before[i] == now[i]) continue;
      const auto byte = static_cast<unsigned>(std::countr_zero(before[i] ^ now[i])) / 8;
      before[i] = now[i];
      visit(reinterpret_cast<const std::byte*>(now + i) + byte);
    }
  }
}

bool DataWatch::is_platform(const void* address) {
  if (platform_.contains(address)) return true;
  const std::string name = symbol_at(address);
  std::string_view bare = name;
  if (bare.starts_with("guard variable for ")) bare.remove_prefix(19);
  // "known": pointers to the real functions, in the interposed functions of the C library.
  // Two underscores: data of the compiler and the sanitizers.
  const bool ours = bare.empty() || bare.starts_with("__") || bare.ends_with("::known") ||
                    begins_with_any(bare, kPlatformNames) ||
                    (is_command_ && begins_with_any(bare, kPlatformNamesOfCommand) &&
                     !begins_with_any(bare, kModelNamesOfCommand));
  if (ours) platform_.insert(address);
  return ours;
}

const void* DataWatch::changed_again() {
  const void* found = nullptr;
  for_each_change([&](const std::byte* address) {
    const auto* word = address - reinterpret_cast<std::uintptr_t>(address) % kWord;
    if (seen_.insert(word).second || found != nullptr || is_platform(address)) return;
    found = address;
  });
  return found;
}

const void* DataWatch::changed() {
  const void* found = nullptr;
  for_each_change([&](const std::byte* address) {
    if (found == nullptr && !is_platform(address)) found = address;
  });
  return found;
}

std::string variable_name(const void* address) {
  std::size_t offset = 0;
  const std::string name = symbol_at(address, &offset);
  const std::string file = file_of(address);
  if (name.empty()) return fmt::format("a variable at {} in {}", address, file);
  return offset == 0 ? fmt::format("'{}' (in {})", name, file)
                     : fmt::format("'{}' + {} (in {})", name, offset, file);
}

}  // namespace orrery::checker
