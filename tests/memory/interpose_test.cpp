// SPDX-License-Identifier: Apache-2.0
//
// The interposed allocator: everything a program can ask, containers through checkpoints, memory
// that crosses the border between the modes, and a shared object that knows nothing of the
// platform. Inside application mode nothing is asserted, because GoogleTest's messages would be LP
// memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "interpose_plugin.h"
#include "memory/application_mode.h"
#include "memory/heap_image.h"
#include "memory/library_state.h"
#include "memory/lp_heap.h"
#include "memory/region.h"

namespace orrery::memory {
namespace {

using testing::Image;
using testing::save;

// The compiler may elide pairs of new and delete; a pointer that went through here is safe from it.
template <typename T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// free, of which the compiler does not know what it is: it warns of frees that are wrong on
// purpose.
void (*volatile wrong_free)(void*) = std::free;

class Interposed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { prepare_library_state(); }
  Arena arena_;
  LpHeap heap_{arena_};
};

TEST_F(Interposed, ServesEveryFunctionOfTheFamilyFromTheRunningLp) {
  constexpr std::size_t kCount = 12;
  void* got[kCount] = {};
  std::size_t usable[kCount] = {};
  {
    const ApplicationMode mode(heap_);
    got[0] = opaque(std::malloc(100));
    got[1] = opaque(std::calloc(10, 10));
    got[2] = opaque(std::realloc(nullptr, 100));
    got[3] = opaque(aligned_alloc(256, 512));
    static_cast<void>(posix_memalign(&got[4], 4096, 100));
    got[5] = opaque(memalign(64, 100));
    got[6] = opaque(valloc(100));
    got[7] = opaque(pvalloc(100));
    got[8] = opaque(reallocarray(nullptr, 10, 10));
    got[9] = opaque(::operator new(100));
    got[10] = opaque(::operator new[](100, std::align_val_t{128}));
    got[11] = opaque(::operator new(100, std::nothrow));
    for (std::size_t i = 0; i < kCount; ++i) {
      usable[i] = malloc_usable_size(got[i]);
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_TRUE(heap_.owns(got[i])) << i;
    EXPECT_GE(usable[i], 100U) << i;
  }
  const auto aligned = [&](std::size_t i, std::size_t to) {
    return reinterpret_cast<std::uintptr_t>(got[i]) % to == 0;
  };
  EXPECT_TRUE(aligned(3, 256) && aligned(4, 4096) && aligned(5, 64) && aligned(6, 4096));
  EXPECT_TRUE(aligned(7, 4096) && aligned(10, 128));
  {
    const ApplicationMode mode(heap_);
    for (std::size_t i = 0; i < 9; ++i) {
      std::free(got[i]);
    }
    ::operator delete (got[9], std::size_t{100});
    ::operator delete[](got[10], std::align_val_t{128});
    ::operator delete(got[11], std::nothrow);
  }
  EXPECT_EQ(heap_.live_bytes(), 0U);
}

TEST_F(Interposed, ServesTheSystemInPlatformMode) {
  void* const memory = opaque(std::malloc(100));
  EXPECT_FALSE(is_lp_pointer(memory));
  EXPECT_GE(malloc_usable_size(memory), 100U);
  void* const more = opaque(std::realloc(memory, 1000));
  EXPECT_FALSE(is_lp_pointer(more));
  std::free(more);
  void* const line = opaque(::operator new (64, std::align_val_t{64}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(line) % 64, 0U);
  ::operator delete (line, std::align_val_t{64});
  EXPECT_EQ(heap_.run_count(), 0U);
}

TEST_F(Interposed, ReusesAndZeroesForCalloc) {
  bool zeroed = true;
  {
    const ApplicationMode mode(heap_);
    char* const dirty = opaque(static_cast<char*>(std::malloc(1000)));
    std::memset(dirty, 1, 1000);
    std::free(dirty);
    char* const clean = opaque(static_cast<char*>(std::calloc(1000, 1)));
    for (int i = 0; i < 1000; ++i) {
      zeroed = zeroed && clean[i] == 0;
    }
    std::free(clean);
  }
  EXPECT_TRUE(zeroed);
}

TEST_F(Interposed, FailsAsTheStandardSays) {
  volatile std::size_t huge = kLargestRequestBytes + 1;
  volatile std::size_t many = ~std::size_t{0} / 2;
  bool thrown = false;
  bool null = true;
  int error = 0;
  int aligned_error = 0;
  {
    const ApplicationMode mode(heap_);
    errno = 0;
    null = opaque(std::malloc(huge)) == nullptr;
    error = errno;
    null = null && opaque(std::calloc(many, 4)) == nullptr;
    null = null && opaque(reallocarray(nullptr, many, 4)) == nullptr;
    null = null && opaque(::operator new(huge, std::nothrow)) == nullptr;
    void* result = nullptr;
    aligned_error = posix_memalign(&result, 24, 8);
    try {
      opaque(::operator new(huge));
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
  }
  EXPECT_TRUE(null && thrown);
  EXPECT_EQ(error, ENOMEM);
  EXPECT_EQ(aligned_error, EINVAL);
  EXPECT_EQ(heap_.live_bytes(), 0U) << "the exception was freed where it was made";
}

struct Misuse {
  HeapMisuse what;
  const void* pointer;
  const LpHeap* heap;
  bool platform;
};
thread_local std::vector<Misuse> misuses;

TEST_F(Interposed, ReportsDoubleAndForeignFrees) {
  LpHeap other(arena_);
  misuses.clear();
  thread_context.on_misuse = [](HeapMisuse what, const void* pointer, LpHeap* heap) {
    misuses.push_back({what, pointer, heap, running_heap() == nullptr});
  };
  char* mine = nullptr;
  char* theirs = nullptr;
  {
    const ApplicationMode mode(other);
    theirs = opaque(static_cast<char*>(std::malloc(20)));
  }
  {
    const ApplicationMode mode(heap_);
    mine = opaque(static_cast<char*>(std::malloc(200)));
    wrong_free(mine + 16);
    wrong_free(theirs);
    static_cast<void>(opaque(std::realloc(opaque(theirs), 5)));
    char* const freed = opaque(static_cast<char*>(std::malloc(20)));
    wrong_free(freed);
    wrong_free(freed);
    wrong_free(mine);
  }
  thread_context.on_misuse = nullptr;
  ASSERT_EQ(misuses.size(), 4U);
  EXPECT_EQ(misuses[0].what, HeapMisuse::not_start);
  EXPECT_EQ(misuses[0].pointer, mine + 16);
  EXPECT_EQ(misuses[1].what, HeapMisuse::foreign);
  EXPECT_EQ(misuses[2].what, HeapMisuse::foreign);
  EXPECT_EQ(misuses[3].what, HeapMisuse::not_live);
  for (const Misuse& misuse : misuses) {
    EXPECT_EQ(misuse.heap, &heap_);
    EXPECT_TRUE(misuse.platform);
  }
  EXPECT_EQ(heap_.live_bytes(), 0U);
  EXPECT_EQ(other.usable_size(theirs), 32U);
}

TEST_F(Interposed, AbortsWithASentenceWhenNobodyHandlesMisuse) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const ApplicationMode mode(heap_);
        void* const memory = opaque(std::malloc(20));
        wrong_free(memory);
        wrong_free(memory);
      },
      "freed twice");
}

TEST_F(Interposed, KeepsMemoryThatCrossesTheBorderSafe) {
  auto* const system_text = static_cast<char*>(std::malloc(100));
  std::strcpy(system_text, "a text that an allocator would write its links over");
  const std::string before = system_text;
  auto* const grown = static_cast<char*>(std::malloc(50));
  std::strcpy(grown, "platform");
  std::string* lp_text = nullptr;
  char* moved = nullptr;
  {
    const ApplicationMode mode(heap_);
    std::free(opaque(system_text));
    moved = opaque(static_cast<char*>(std::realloc(opaque(grown), 500)));
    lp_text = opaque(new std::string(100, 'l'));
  }
  EXPECT_EQ(system_text, before) << "still allocated, as the free may be rolled back";
  EXPECT_STREQ(grown, "platform") << "still allocated, too";
  EXPECT_TRUE(heap_.owns(moved));
  EXPECT_STREQ(moved, "platform");
  const std::size_t live = heap_.live_bytes();
  char* const back = opaque(static_cast<char*>(std::realloc(moved, 1000)));
  EXPECT_FALSE(is_lp_pointer(back));
  EXPECT_STREQ(back, "platform");
  delete opaque(lp_text);
  EXPECT_EQ(heap_.live_bytes(), live);
  std::free(system_text);
  std::free(grown);
  std::free(back);
}

TEST_F(Interposed, ModesNest) {
  LpHeap other(arena_);
  const LpHeap* seen[5] = {};
  {
    const ApplicationMode outer(heap_);
    seen[0] = running_heap();
    {
      const PlatformMode platform;
      seen[1] = running_heap();
      const ApplicationMode inner(other);
      seen[2] = running_heap();
    }
    seen[3] = running_heap();
  }
  seen[4] = running_heap();
  EXPECT_EQ(seen[0], &heap_);
  EXPECT_EQ(seen[1], nullptr);
  EXPECT_EQ(seen[2], &other);
  EXPECT_EQ(seen[3], &heap_);
  EXPECT_EQ(seen[4], nullptr);
}

// ---- A shared object
// -----------------------------------------------------------------------------

class SharedObject : public Interposed {
 protected:
  void SetUp() override {
    library_ = dlopen(ORRERY_MEMORY_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    plugin_ = reinterpret_cast<GetPlugin>(dlsym(library_, "get_plugin"))();
    prepare_worker_thread();
    create();
  }
  void TearDown() override {
    {
      const ApplicationMode mode(heap_);
      plugin_->destroy(state_);
    }
    dlclose(library_);
  }
  void create() {
    const ApplicationMode mode(heap_);
    state_ = plugin_->create();
  }
  void handle(std::uint64_t seed) {
    const ApplicationMode mode(heap_);
    plugin_->handle(state_, seed);
  }
  std::uint64_t digest() {
    const ApplicationMode mode(heap_);
    return plugin_->digest(state_);
  }

  void* library_ = nullptr;
  const Plugin* plugin_ = nullptr;
  PluginState* state_ = nullptr;
};

TEST_F(SharedObject, ContainersSurviveRollback) {
  EXPECT_TRUE(heap_.owns(state_));
  std::vector<Image> images{save(heap_)};
  std::vector<std::uint64_t> digests{digest()};
  for (std::uint64_t event = 1; event < 60; ++event) {
    handle(event * 7919);
    images.push_back(save(heap_));
    digests.push_back(digest());
  }
  for (const std::size_t target : {50U, 59U, 3U, 0U, 31U}) {
    // A longer past may come back after a shorter one: images stay good while the heap lives.
    heap_.restore(images[target].data());
    ASSERT_EQ(digest(), digests[target]);
    handle(424242);  // speculation that is rolled back
    heap_.restore(images[target].data());
    for (std::size_t event = target + 1; event < 60; ++event) {
      handle(event * 7919);
      ASSERT_EQ(digest(), digests[event]);
    }
  }
}

TEST_F(SharedObject, LeavesNothingBehind) {
  const std::size_t before = heap_.live_bytes();
  const ApplicationMode mode(heap_);
  PluginState* const second = plugin_->create();
  for (std::uint64_t event = 1; event < 20; ++event) {
    plugin_->handle(second, event * 31);
  }
  plugin_->destroy(second);
  plugin_->throw_and_catch();
  const std::size_t after = heap_.live_bytes();
  leave_application_mode();
  EXPECT_EQ(after, before);
}

TEST_F(SharedObject, KeepsStateOfTheProcessAndTheThreadOutOfTheHeap) {
  const void* of_process = nullptr;
  const void* of_thread = nullptr;
  std::size_t live = 0;
  std::thread thread([&] {  // whose thread-local storage of the library does not exist yet
    prepare_worker_thread();
    const std::size_t before = heap_.live_bytes();
    enter_application_mode(heap_);
    of_process = plugin_->static_memory();
    of_thread = plugin_->thread_local_memory();
    leave_application_mode();
    live = heap_.live_bytes() - before;
  });
  thread.join();
  EXPECT_FALSE(is_lp_pointer(of_process));
  // The object itself is storage of the thread, but its text was allocated by its constructor,
  // which ran in the handler: model code that uses thread_local is at fault, and it must not crash
  // us.
  EXPECT_TRUE(heap_.owns(of_thread));
  EXPECT_EQ(live, chunk_bytes(class_of(101))) << "and nothing but the text is in the heap";
}

TEST_F(SharedObject, ReadsLinesAndPrintsWithoutLeavingBuffersInTheHeap) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::fputs("one line\n", file);
  std::rewind(file);
  const std::size_t before = heap_.live_bytes();
  std::uint64_t length = 0;
  {
    const ApplicationMode mode(heap_);
    length = plugin_->read_line(file);
    std::printf("%s %.17g\n", "printed in application mode", 0.1);
  }
  EXPECT_EQ(length, 9U);
  EXPECT_EQ(heap_.live_bytes(), before);
  std::fclose(file);
}

// ---- Several workers
// -----------------------------------------------------------------------------

TEST_F(Interposed, WorkersDoNotDisturbEachOther) {
  constexpr int kWorkers = 4;
  std::vector<std::thread> workers;
  std::vector<std::uint64_t> sums(kWorkers);
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      Arena arena;
      std::vector<LpHeap> heaps;
      for (int lp = 0; lp < 20; ++lp) {
        heaps.emplace_back(arena);
      }
      std::vector<std::vector<std::string>*> states(20);
      for (int event = 0; event < 2000; ++event) {
        const auto lp = static_cast<std::size_t>(event * 13 % 20);
        const ApplicationMode mode(heaps[lp]);
        if (states[lp] == nullptr) {
          states[lp] = new std::vector<std::string>;
        }
        states[lp]->emplace_back(static_cast<std::size_t>(event % 90), 'x');
        sums[static_cast<std::size_t>(worker)] += states[lp]->size();
      }
      for (std::size_t lp = 0; lp < 20; ++lp) {
        const ApplicationMode mode(heaps[lp]);
        delete states[lp];
      }
      for (const LpHeap& heap : heaps) {
        sums[static_cast<std::size_t>(worker)] += heap.live_bytes();
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  for (const std::uint64_t sum : sums) {
    EXPECT_EQ(sum, sums[0]);
  }
}

}  // namespace
}  // namespace orrery::memory
