// SPDX-License-Identifier: Apache-2.0
//
// For LD_PRELOAD: the system refuses the N-th call of a function from main() on, as the environment
// variable REFUSE says: FUNCTION:N, where FUNCTION is mmap, socketpair or pipe2. No model.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace {

using Main = int(int, char**, char**);
using End = void();

// Written before any other thread exists: relaxed.
Main* start = nullptr;
std::string_view refused;
std::atomic<long> left{0};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Relaxed: only the number counts.
bool is_refused(std::string_view function) {
  return function == refused && left.fetch_sub(1, std::memory_order_relaxed) == 1;
}

int main_with_refusals(int count, char** words, char** environment) {
  if (const char* const asked = std::getenv("REFUSE")) {
    const std::string_view text = asked;
    const std::size_t colon = text.find(':');
    left.store(std::atol(asked + colon + 1), std::memory_order_relaxed);
    refused = text.substr(0, colon);
  }
  return start(count, words, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(Main* program, int count, char** words, End* begin, End* end, End* last,
                      void* stack) {
  start = program;
  return next<int(Main*, int, char**, End*, End*, End*, void*)>("__libc_start_main")(
      main_with_refusals, count, words, begin, end, last, stack);
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  if (is_refused("mmap")) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return next<decltype(mmap)>("mmap")(at, bytes, protection, flags, file, offset);
}

int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  if (is_refused("socketpair")) {
    errno = EMFILE;
    return -1;
  }
  return next<decltype(socketpair)>("socketpair")(domain, type, protocol, ends);
}

int pipe2(int ends[2], int flags) noexcept {
  if (is_refused("pipe2")) {
    errno = EMFILE;
    return -1;
  }
  return next<decltype(pipe2)>("pipe2")(ends, flags);
}

}  // extern "C"
