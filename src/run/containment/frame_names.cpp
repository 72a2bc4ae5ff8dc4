// SPDX-License-Identifier: Apache-2.0
#include "run/containment/frame_names.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/type_name.h"

#ifdef ORRERY_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace orrery {
namespace {

constexpr std::size_t kMostLines = 8;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

template <std::size_t kCount>
bool begins_with_any(std::string_view text, const std::array<const char*, kCount>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view one) { return text.starts_with(one); });
}

/// Prefixes of the platform's functions that call model code, directly or indirectly.
bool is_platforms(std::string_view function) {
  constexpr std::array kBegins = {
      "orrery::LogicalProcess<",  "orrery::Execution<",         "orrery::HandlerExecution::",
      "orrery::detail::",         "bool orrery::detail::",      "bool orrery::recoverable<",
      "void orrery::detail::",    "bool orrery::guarded_call<", "orrery::create_lp(",
      "orrery::FinalExecution::", "orrery::Finisher::"};
  return begins_with_any(function, kBegins);
}

/// Prefixes of the functions through which a call that ends the process, or is refused, passes.
bool is_way_out(std::string_view function) {
  constexpr std::array kBegins = {"orrery::drop_or_note(",
                                  "orrery::(anonymous namespace)::leave_by(",
                                  "orrery::(anonymous namespace)::drop_or_",
                                  "orrery::(anonymous namespace)::on_",
                                  "orrery::memory::(anonymous namespace)::free_",
                                  "orrery::ThreadWatch::on_signal(",
                                  "orrery::memory::(anonymous namespace)::tell_",
                                  "__",
                                  "std::terminate("};
  constexpr std::array kNames = {"abort",  "raise",      "gsignal", "exit",   "_exit",
                                 "_Exit",  "quick_exit", "kill",    "tgkill", "pthread_kill",
                                 "signal", "sigaction",  "fork",    "free"};
  return begins_with_any(function, kBegins) ||
         std::find(kNames.begin(), kNames.end(), function) != kNames.end();
}

struct Named {
  std::string function;  ///< empty: unknown
  std::string line;      ///< "pcs.cpp:120"
};

#ifdef ORRERY_HAVE_LIBDW

class Names {
 public:
  Names() : modules_(dwfl_begin(&kCallbacks)) {
    if (modules_ == nullptr) return;
    dwfl_report_begin(modules_);
    dwfl_linux_proc_report(modules_, getpid());
    dwfl_report_end(modules_, nullptr, nullptr);
  }
  ~Names() {
    if (modules_ != nullptr) dwfl_end(modules_);
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  Named of(std::uintptr_t address) const {
    Named named;
    Dwfl_Module* const module = modules_ == nullptr ? nullptr : dwfl_addrmodule(modules_, address);
    if (module == nullptr) return named;
    if (const char* name = dwfl_module_addrname(module, address)) named.function = demangled(name);
    if (Dwfl_Line* const line = dwfl_module_getsrc(module, address)) {
      int number = 0;
      const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
      if (file != nullptr) named.line = fmt::format("{}:{}", file_name(file), number);
    }
    return named;
  }

 private:
  /// Searches for debug information in the modules only, not in other files, not on the network.
  static int find_no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*,
                                const char*, GElf_Word, char**) {
    return -1;
  }
  static constexpr Dwfl_Callbacks kCallbacks{.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = find_no_other_file,
                                             .section_address = nullptr,
                                             .debuginfo_path = nullptr};
  Dwfl* const modules_;
};

#else

class Names {
 public:
  Named of(std::uintptr_t) const { return {}; }
};

#endif

/// "wireless.so+0x1234"; empty if the address is in no module.
std::string module_and_offset(std::uintptr_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr)
    return "";
  return fmt::format("{}+{:#x}", file_name(info.dli_fname),
                     address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
}

std::string text_of(const Named& named, std::uintptr_t address) {
  if (named.function.empty()) return module_and_offset(address);
  return named.line.empty() ? named.function : fmt::format("{} ({})", named.function, named.line);
}

}  // namespace

bool can_name_frames() {
#ifdef ORRERY_HAVE_LIBDW
  return true;
#else
  return false;
#endif
}

std::vector<std::string> name_frames(const Frames& frames) {
  std::vector<std::string> all;
  if (frames.count == 0) return all;
  const Names names;
  for (std::size_t i = 0; i < frames.count && all.size() < kMostLines; ++i) {
    // The return address of a call at the very end of a function lies behind the function.
    const std::uintptr_t back = i == 0 && frames.begins_with_instruction ? 0 : 1;
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(frames.at[i]) - back;
    const Named named = names.of(address);
    if (all.empty() && is_way_out(named.function)) continue;
    if (is_platforms(named.function)) {
      // The handler was inlined into the platform's function that calls it.
      if (all.empty() && !named.line.empty()) all.push_back(named.line);
      break;
    }
    std::string text = text_of(named, address);
    if (text.empty()) break;
    all.push_back(std::move(text));
  }
  return all;
}

std::string frame_lines(const Frames& frames) {
  std::string lines;
  for (const std::string& one : name_frames(frames))
    lines += fmt::format("\n  {} {}", lines.empty() ? "in" : "called by", one);
  return lines;
}

}  // namespace orrery
