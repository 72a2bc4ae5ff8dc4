// SPDX-License-Identifier: Apache-2.0
//
// Makes the first uses of library state; library_state.h says why and what is not covered.
#include "memory/library_state.h"

#include <execinfo.h>
#include <iconv.h>
#include <link.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <cwchar>
#include <locale>
#include <mutex>
#include <regex>
#include <sstream>

#include "memory/application_mode.h"
#include "memory/thread_storage.h"

namespace orrery::memory {
namespace {

void prepare_stdio() {
  // The platform's own buffers, since only input or output makes a stream call malloc.
  static char in[BUFSIZ];
  static char out[BUFSIZ];
  if (__fbufsize(stdin) == 0) {
    std::setvbuf(stdin, in, _IOFBF, sizeof in);
  }
  if (__fbufsize(stdout) == 0) {
    std::setvbuf(stdout, out, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, sizeof out);
  }
}

void prepare_time_zone() {
  name_time_zone();
  tzset();
}

void prepare_conversions() {
  wchar_t wide[8];
  std::mbstate_t state{};
  const char* text = "a";
  std::mbsrtowcs(wide, &text, 8, &state);
  if (const iconv_t conversion = iconv_open("UTF-8", "UTF-16LE");
      conversion != reinterpret_cast<iconv_t>(-1)) {
    iconv_close(conversion);
  }
}

void prepare_locale() {
  std::ostringstream out;
  out << 1.5 << ' ' << 12345678 << ' ' << true << ' ' << static_cast<const void*>(&out);
  std::istringstream in(out.str());
  double number = 0;
  in >> number;
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::use_facet<std::time_put<char>>(out.getloc())
      .put(std::ostreambuf_iterator<char>(out), out, ' ', &parts, 'c');
  static_cast<void>(std::regex_match("a1", std::regex("[[:alpha:]]\\d", std::regex::icase)));
}

#ifdef __GLIBCXX__
// How the C++ library lays out a locale and a facet (its ABI since GCC 3.4).
struct LocaleParts {
  int references;
  struct FacetParts {
    const void* functions;
    int references;
  } * *facets;
  std::size_t facet_count;
};

// Shared locales and their facets count references. A handler that is rolled back may have
// increased a count without decreasing it again, or decreased it twice. So the count drifts, and at
// zero the facet would be deleted. Each count therefore starts so high that no drift reaches zero.
void keep_for_ever(const std::locale& locale) {
  constexpr int kMany = 1 << 30;
  const auto keep = [](int& references) {
    // Other threads may be counting; no order is needed for a count.
    if (__atomic_load_n(&references, __ATOMIC_RELAXED) < kMany / 2)
      __atomic_fetch_add(&references, kMany, __ATOMIC_RELAXED);
  };
  static_assert(sizeof locale == sizeof(LocaleParts*));
  LocaleParts* parts = nullptr;
  std::memcpy(&parts, static_cast<const void*>(&locale), sizeof parts);
  keep(parts->references);
  for (std::size_t i = 0; i < parts->facet_count; ++i)
    if (parts->facets[i] != nullptr) keep(parts->facets[i]->references);
}
#else
void keep_for_ever(const std::locale&) {}
#endif

int touch_storage(dl_phdr_info* info, std::size_t, void*) {
  if (info->dlpi_tls_modid != 0) thread_storage_of(info->dlpi_tls_modid);
  return 0;
}

}  // namespace

// Without TZ, localtime copies the name of the default file at every call and frees the last copy.
// If TZ names that file, localtime keeps its first copy.
void name_time_zone() {
  setenv("TZ", ":/etc/localtime", 0);
}

void prepare_library_state() {
  // Runs may begin at the same time, as ranks that are threads of one process do, and libraries do
  // not lock the shared state that they initialise.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const PlatformMode platform;
  prepare_stdio();
  prepare_time_zone();
  prepare_conversions();
  prepare_locale();
  keep_for_ever(std::locale::classic());
  keep_for_ever(std::locale());
  void* frames[4];
  backtrace(frames, 4);  // loads the unwinder
  prepare_worker_thread();
}

void prepare_worker_thread() {
  const PlatformMode platform;
  // dl_iterate_phdr holds the lock of the list of libraries meanwhile. __tls_get_addr takes no lock
  // that a holder of that lock would wait for.
  dl_iterate_phdr(touch_storage, nullptr);
}

}  // namespace orrery::memory
