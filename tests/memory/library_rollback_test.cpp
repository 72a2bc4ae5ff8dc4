// SPDX-License-Identifier: Apache-2.0
//
// What the libraries keep for the process or the thread, used by LPs that are rolled back many
// times: locales and their facets, thread-specific data, buffers of answers. Inside application
// mode nothing is asserted, because GoogleTest's messages would be LP memory.
#include <gtest/gtest.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <locale>
#include <memory_resource>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "memory/application_mode.h"
#include "memory/library_state.h"
#include "memory/lp_heap.h"
#include "memory/region.h"
#include "sanitizers.h"

namespace orrery::memory {
namespace {

using orrery::testing::kSanitizers;

class RolledBack : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { prepare_library_state(); }
  /// Runs `action` for the LP and takes it back, many times, on other threads too.
  template <class Action>
  void run_and_undo(Action&& action) {
    std::vector<std::byte> image(heap_.image_bytes());
    heap_.save(image.data());
    for (int worker = 0; worker < 4; ++worker) {
      std::thread([&] {
        for (int i = 0; i < 50; ++i) {
          {
            const ApplicationMode mode(heap_);
            action();
          }
          heap_.restore(image.data());
        }
      }).join();
    }
  }
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    const ApplicationMode mode(heap_);
    return new T(std::forward<Arguments>(arguments)...);
  }

  /// As the LP writes it: a locale keeps what it has prepared for that. The text is a short one, in
  /// the string itself.
  std::string in_locale(const std::locale& locale, int number) {
    const ApplicationMode mode(heap_);
    std::ostringstream text;
    text.imbue(locale);
    text << number;
    return text.str();
  }

  Arena arena_;
  LpHeap heap_{arena_};
};

struct Dots final : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(RolledBack, LocalesByName) {
  auto* const kept = make<std::locale>("C.UTF-8");
  run_and_undo([&] {
    const std::locale another("C.UTF-8");
    *kept = std::locale("C");
    delete kept;
  });
  EXPECT_EQ(in_locale(*kept, 1234), "1234");
  const ApplicationMode mode(heap_);
  delete kept;
}

TEST_F(RolledBack, FacetsOfTheLocaleThatAllShare) {
  auto* const kept = make<std::locale>(std::locale::classic(), make<Dots>());
  run_and_undo([&] { delete kept; });
  EXPECT_EQ(in_locale(*kept, 1'234'567), "1.234.567");
  EXPECT_EQ(in_locale(std::locale::classic(), 1'234'567), "1234567");
#ifdef __GLIBCXX__
  // How often it is counted, behind the table of its functions: far from the zero that ends it.
  int references = 0;
  const auto& shared = std::use_facet<std::num_put<char>>(std::locale::classic());
  std::memcpy(&references, reinterpret_cast<const std::byte*>(&shared) + sizeof(void*),
              sizeof references);
  EXPECT_GT(references, 1'000'000);
#endif
  const ApplicationMode mode(heap_);
  delete kept;
}

TEST_F(RolledBack, LocalesOfTheCLibrary) {
  locale_t first = nullptr, second = nullptr, copy = nullptr, changed = nullptr, none = nullptr;
  int error = 0;
  {
    const ApplicationMode mode(heap_);
    first = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
    second = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
    copy = duplocale(first);
    changed = newlocale(LC_NUMERIC_MASK, "C", first);
    freelocale(second);
    freelocale(first);
    errno = 0;
    none = newlocale(LC_ALL_MASK, "no_such_locale", nullptr);
    error = errno;
  }
  EXPECT_FALSE(is_lp_pointer(first));
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, copy);
  EXPECT_NE(first, changed);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(error, ENOENT);
  EXPECT_EQ(heap_.live_bytes(), 0U);
  const locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);  // of the platform mode
  EXPECT_NE(own, first);
  freelocale(own);
  freelocale(first);  // shared: it stays
  EXPECT_STREQ(nl_langinfo_l(CODESET, first), "UTF-8");
}

TEST_F(RolledBack, PoolsOfThreads) {
  if (kSanitizers) GTEST_SKIP() << "thread-specific data is the sanitizer's";
  using Pool = std::pmr::synchronized_pool_resource;
  auto* const pool = make<Pool>();
  std::pmr::vector<std::pmr::string>* texts = nullptr;
  {
    const ApplicationMode mode(heap_);
    texts = new std::pmr::vector<std::pmr::string>(pool);
    texts->emplace_back("a text that does not fit into the string itself");
  }
  run_and_undo([&] {
    for (int i = 0; i < 20; ++i) texts->emplace_back(*texts->begin());
    delete texts;
    delete pool;
  });
  {
    const ApplicationMode mode(heap_);
    texts->emplace_back(texts->front());
  }
  EXPECT_EQ(texts->at(1), "a text that does not fit into the string itself");
  {
    const ApplicationMode mode(heap_);
    delete texts;
    delete pool;
  }
  EXPECT_EQ(heap_.live_bytes(), 0U);
}

bool destructor_ran = false;

TEST_F(RolledBack, KeysOfThreadSpecificData) {
  if (kSanitizers) GTEST_SKIP() << "thread-specific data is the sanitizer's";
  pthread_key_t key = 0, again = 0, other = 0, system = 0;
  const auto note = [](void*) { destructor_ran = true; };
  int value = 0;
  ASSERT_EQ(pthread_key_create(&system, nullptr), 0);
  {
    const ApplicationMode mode(heap_);
    pthread_key_create(&key, note);
    pthread_key_create(&other, note);
    pthread_setspecific(key, &value);
    pthread_setspecific(system, &key);
  }
  EXPECT_NE(key, other);
  const auto get = [&](pthread_key_t of) {
    const ApplicationMode mode(heap_);
    return pthread_getspecific(of);
  };
  EXPECT_EQ(get(key), &value);
  EXPECT_EQ(get(other), nullptr);
  EXPECT_EQ(get(system), &key);
  EXPECT_EQ(pthread_getspecific(key), nullptr);  // of which LP?
  run_and_undo([&] {
    if (pthread_getspecific(key) == &value) pthread_setspecific(key, &key);  // on any thread
    pthread_key_delete(key);
    pthread_key_create(&again, nullptr);
  });
  EXPECT_EQ(again, key);
  EXPECT_EQ(get(key), &value);
  EXPECT_FALSE(destructor_ran);
  {
    const ApplicationMode mode(heap_);
    for (const pthread_key_t none : {0xffff'ffffU, 0xdfff'ffffU, 0x9fff'ffffU}) {
      EXPECT_EQ(pthread_key_delete(none), EINVAL) << none;
      EXPECT_EQ(pthread_setspecific(none, &value), EINVAL) << none;
      EXPECT_EQ(pthread_getspecific(none), nullptr) << none;
    }
    EXPECT_EQ(pthread_key_delete(key), 0);
    EXPECT_EQ(pthread_setspecific(key, &value), EINVAL);
    EXPECT_EQ(pthread_key_delete(other), 0);
  }
  EXPECT_EQ(heap_.live_bytes(), 0U);
  EXPECT_EQ(pthread_key_delete(system), 0);
}

TEST_F(RolledBack, SentencesForUnknownErrors) {
  run_and_undo([] {
    volatile std::size_t length = std::strlen(std::strerror(98'765));
    static_cast<void>(length);
    length = std::strlen(strsignal(98'765));
  });
  EXPECT_NE(std::string(std::strerror(98'765)).find("98765"), std::string::npos);
  EXPECT_EQ(heap_.live_bytes(), 0U);
}

}  // namespace
}  // namespace orrery::memory
