// SPDX-License-Identifier: Apache-2.0
//
// Locales by name. The C library loads and counts them in lists of the process. If a handler made
// one, its memory would lie in an LP's heap and be rolled back behind the library's back. A locale
// that is freed, rolled back and freed again would be counted twice. std::locale("...") and its
// facets make such locales.
//
// A locale_t never changes, so a handler gets a shared locale: for each name it is made once, in
// platform mode, and never freed. The C++ library's data about it (facets, counts of references) is
// ordinary memory of the LP; library_state.cpp takes care of the shared counts there.
//
// Linked as an object into executables, like interpose.cpp and for the same reason.
#include <locale.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <cwchar>
#include <mutex>
#include <string>
#include <vector>

#include "memory/application_mode.h"
#include "memory/next_definition.h"

namespace orrery::memory {
namespace {

using New = locale_t(int, const char*, locale_t);
using Duplicate = locale_t(locale_t);
using Free = void(locale_t);

constinit std::atomic<New*> known_new{nullptr};
constinit std::atomic<Duplicate*> known_duplicate{nullptr};
constinit std::atomic<Free*> known_free{nullptr};

locale_t make(int categories, const char* name, locale_t base) {
  return next_definition(known_new, "newlocale")(categories, name, base);
}
locale_t duplicate(locale_t locale) {
  return next_definition(known_duplicate, "duplocale")(locale);
}

class SharedLocales {
 public:
  // Never destroyed: late destructors may call freelocale.
  static SharedLocales& instance() {
    static auto& locales = *new SharedLocales;
    return locales;
  }

  locale_t get(int categories, const char* name, locale_t base) {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.categories == categories && entry.name == name && entry.base == base) {
        return entry.made;
      }
    }
    // newlocale consumes the locale that it changes, and `base` may serve others, so it gets a
    // copy.
    const locale_t changed = base == nullptr ? nullptr : duplicate(base);
    const locale_t made = make(categories, name, changed);
    if (made == nullptr) {
      const int error = errno;
      if (changed != nullptr) next_definition(known_free, "freelocale")(changed);
      errno = error;
      return nullptr;
    }
    use_once(made);
    entries_.push_back({categories, name, base, made});
    return made;
  }
  locale_t copy_of(locale_t locale) {
    {
      const std::lock_guard lock(mutex_);
      if (is_shared(locale)) return locale;
    }
    return duplicate(locale);
  }
  bool has(locale_t locale) {
    const std::lock_guard lock(mutex_);
    return is_shared(locale);
  }

 private:
  struct Entry {
    int categories;
    std::string name;
    locale_t base, made;
  };

  bool is_shared(locale_t locale) const {
    for (const Entry& entry : entries_)
      if (entry.made == locale) return true;
    return false;
  }

  // Makes the tables that the C library creates at first use: for conversions and other calendars.
  static void use_once(locale_t locale) {
    const locale_t before = uselocale(locale);
    static_cast<void>(std::btowc('a'));
    static_cast<void>(std::wctob(L'a'));
    wchar_t wide[8];
    std::mbstate_t state{};
    const char* text = "a";
    std::mbsrtowcs(wide, &text, 8, &state);
    std::tm parts{};
    parts.tm_mday = 1;
    char date[64];
    static_cast<void>(std::strftime(date, sizeof date, "%c %Ey %Od", &parts));
    uselocale(before);
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

locale_t new_locale(int categories, const char* name, locale_t base) noexcept {
  if (running_heap() == nullptr || name == nullptr) return make(categories, name, base);
  const PlatformMode platform;
  return SharedLocales::instance().get(categories, name, base);
}

locale_t copy_locale(locale_t locale) noexcept {
  if (running_heap() == nullptr) return duplicate(locale);
  const PlatformMode platform;
  return SharedLocales::instance().copy_of(locale);
}

// In a handler a locale that is not shared is left allocated, like all system memory: the LP may be
// rolled back.
void free_locale(locale_t locale) noexcept {
  if (running_heap() != nullptr || SharedLocales::instance().has(locale)) return;
  next_definition(known_free, "freelocale")(locale);
}

}  // namespace
}  // namespace orrery::memory

namespace locales = orrery::memory;

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default")))

ORRERY_EXPORT locale_t newlocale(int categories, const char* name, locale_t base) noexcept {
  return locales::new_locale(categories, name, base);
}
ORRERY_EXPORT locale_t duplocale(locale_t locale) noexcept {
  return locales::copy_locale(locale);
}
ORRERY_EXPORT void freelocale(locale_t locale) noexcept {
  locales::free_locale(locale);
}
// The names that the C++ library calls.
ORRERY_EXPORT locale_t __newlocale(int categories, const char* name, locale_t base) noexcept {
  return locales::new_locale(categories, name, base);
}
ORRERY_EXPORT locale_t __duplocale(locale_t locale) noexcept {
  return locales::copy_locale(locale);
}
ORRERY_EXPORT void __freelocale(locale_t locale) noexcept {
  locales::free_locale(locale);
}
