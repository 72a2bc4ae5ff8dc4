// SPDX-License-Identifier: Apache-2.0
//
// Wraps functions of the C library that keep state from one call to the next, or return a buffer of
// their own (POSIX lists them as not thread-safe), for the whole process. The checker names a
// handler that calls them (outside_calls.h), since several workers would call them at once, and no
// rollback restores their state. Memory that they allocate for longer than an event must not lie in
// an LP's heap, so they run in platform mode.
//
// Linked as an object into executables, like interpose_outside.cpp and for the same reason. This
// file does not include headers that define one of these functions inline.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cwchar>
#include <locale>

#include "memory/application_mode.h"
#include "memory/library_state.h"
#include "memory/next_definition.h"
#include "memory/outside_calls.h"

namespace outside = orrery::memory;
using Call = orrery::memory::OutsideCall;

#define ORRERY_EXPORT \
  extern "C" __attribute__((visibility("default"), no_sanitize("address,thread,undefined")))

// Defines a function that calls the hidden function in platform mode, and notes the call if
// `tells`.
#define ORRERY_WRAP_IF(tells, call, result, name, parameters, arguments) \
  ORRERY_EXPORT result name parameters noexcept {                        \
    static constinit std::atomic<result(*) parameters> known{nullptr};   \
    if (tells) outside::note(Call::call);                                \
    const outside::PlatformMode platform;                                \
    return outside::next_definition(known, #name) arguments;             \
  }
#define ORRERY_WRAP(call, result, name, parameters, arguments) \
  ORRERY_WRAP_IF(true, call, result, name, parameters, arguments)

struct tm;
struct passwd;
struct group;
struct option;
struct hostent;
struct servent;
struct protoent;
struct HashEntry {  // <search.h>: ENTRY
  char* key;
  void* data;
};

// ---- Text and time
ORRERY_WRAP(strtok, char*, strtok, (char* text, const char* delimiters), (text, delimiters))
ORRERY_WRAP(asctime, char*, asctime, (const tm* parts), (parts))
ORRERY_WRAP(ctime, char*, ctime, (const long* time), (time))
ORRERY_WRAP(gmtime, tm*, gmtime, (const long* time), (time))
ORRERY_WRAP(localtime, tm*, localtime, (const long* time), (time))
ORRERY_WRAP(ecvt, char*, ecvt, (double x, int digits, int* point, int* sign),
            (x, digits, point, sign))
ORRERY_WRAP(ecvt, char*, fcvt, (double x, int digits, int* point, int* sign),
            (x, digits, point, sign))
ORRERY_WRAP(ecvt, char*, qecvt, (long double x, int digits, int* point, int* sign),
            (x, digits, point, sign))
ORRERY_WRAP(ecvt, char*, qfcvt, (long double x, int digits, int* point, int* sign),
            (x, digits, point, sign))
ORRERY_WRAP(l64a, char*, l64a, (long number), (number))

// ---- Random numbers: setting the shared state
ORRERY_WRAP(srand, void, srand, (unsigned seed), (seed))
ORRERY_WRAP(srandom, void, srandom, (unsigned seed), (seed))
ORRERY_WRAP(srandom, char*, initstate, (unsigned seed, char* state, std::size_t bytes),
            (seed, state, bytes))
ORRERY_WRAP(srandom, char*, setstate, (char* state), (state))
ORRERY_WRAP(srand48, void, srand48, (long seed), (seed))
ORRERY_WRAP(srand48, unsigned short*, seed48, (unsigned short seed[3]), (seed))
ORRERY_WRAP(srand48, void, lcong48, (unsigned short parameters[7]), (parameters))

// ---- Mathematics: the sign of the gamma function in a variable
ORRERY_WRAP(lgamma, double, lgamma, (double x), (x))
ORRERY_WRAP(lgamma, float, lgammaf, (float x), (x))
ORRERY_WRAP(lgamma, long double, lgammal, (long double x), (x))
ORRERY_WRAP(lgamma, double, gamma, (double x), (x))
ORRERY_WRAP(lgamma, float, gammaf, (float x), (x))
ORRERY_WRAP(lgamma, long double, gammal, (long double x), (x))

// ---- Multibyte characters: the state of a conversion, where the caller gives none
ORRERY_WRAP(mblen, int, mblen, (const char* text, std::size_t bytes), (text, bytes))
ORRERY_WRAP(mbtowc, int, mbtowc, (wchar_t * wide, const char* text, std::size_t bytes),
            (wide, text, bytes))
ORRERY_WRAP(wctomb, int, wctomb, (char* text, wchar_t wide), (text, wide))
ORRERY_WRAP(wctomb, int, __wctomb_chk, (char* text, wchar_t wide, std::size_t room),
            (text, wide, room))
#define ORRERY_CONVERSION(call, name, parameters, arguments) \
  ORRERY_WRAP_IF(state == nullptr, call, std::size_t, name, parameters, arguments)
ORRERY_CONVERSION(mbrlen, mbrlen, (const char* text, std::size_t bytes, std::mbstate_t* state),
                  (text, bytes, state))
ORRERY_CONVERSION(mbrlen, __mbrlen, (const char* text, std::size_t bytes, std::mbstate_t* state),
                  (text, bytes, state))
ORRERY_CONVERSION(mbrtowc, mbrtowc,
                  (wchar_t * wide, const char* text, std::size_t bytes, std::mbstate_t* state),
                  (wide, text, bytes, state))
ORRERY_CONVERSION(wcrtomb, wcrtomb, (char* text, wchar_t wide, std::mbstate_t* state),
                  (text, wide, state))
ORRERY_CONVERSION(wcrtomb, __wcrtomb_chk,
                  (char* text, wchar_t wide, std::mbstate_t* state, std::size_t room),
                  (text, wide, state, room))
ORRERY_CONVERSION(mbsrtowcs, mbsrtowcs,
                  (wchar_t * wide, const char** text, std::size_t most, std::mbstate_t* state),
                  (wide, text, most, state))
ORRERY_CONVERSION(mbsrtowcs, mbsnrtowcs,
                  (wchar_t * wide, const char** text, std::size_t bytes, std::size_t most,
                   std::mbstate_t* state),
                  (wide, text, bytes, most, state))
ORRERY_CONVERSION(wcsrtombs, wcsrtombs,
                  (char* text, const wchar_t** wide, std::size_t most, std::mbstate_t* state),
                  (text, wide, most, state))
ORRERY_CONVERSION(wcsrtombs, wcsnrtombs,
                  (char* text, const wchar_t** wide, std::size_t characters, std::size_t most,
                   std::mbstate_t* state),
                  (text, wide, characters, most, state))
ORRERY_CONVERSION(mbrtowc, mbrtoc16,
                  (char16_t* wide, const char* text, std::size_t bytes, std::mbstate_t* state),
                  (wide, text, bytes, state))
ORRERY_CONVERSION(mbrtowc, mbrtoc32,
                  (char32_t* wide, const char* text, std::size_t bytes, std::mbstate_t* state),
                  (wide, text, bytes, state))
ORRERY_CONVERSION(wcrtomb, c16rtomb, (char* text, char16_t wide, std::mbstate_t* state),
                  (text, wide, state))
ORRERY_CONVERSION(wcrtomb, c32rtomb, (char* text, char32_t wide, std::mbstate_t* state),
                  (text, wide, state))

// ---- State of the process. A call of setlocale that only reads the name changes nothing.
ORRERY_WRAP_IF(name != nullptr, setlocale, char*, setlocale, (int category, const char* name),
               (category, name))
// The argument may lie in an LP's heap, so a locale of the same name takes its place. The symbol is
// std::locale::global in the C++ ABI.
ORRERY_EXPORT std::locale _ZNSt6locale6globalERKS_(const std::locale& locale) {
  static constinit std::atomic<std::locale (*)(const std::locale&)> known{nullptr};
  auto* const global = outside::next_definition(known, "_ZNSt6locale6globalERKS_");
  if (outside::running_heap() == nullptr) return global(locale);
  outside::note(Call::setlocale);
  const outside::PlatformMode platform;
  const std::string name = locale.name();
  return global(name == "*" ? locale : std::locale(name.c_str()));
}
ORRERY_WRAP(setenv, int, setenv, (const char* name, const char* value, int replace),
            (name, value, replace))
ORRERY_WRAP(setenv, int, unsetenv, (const char* name), (name))
ORRERY_WRAP(setenv, int, putenv, (char* text), (text))
ORRERY_WRAP(setenv, int, clearenv, (), ())
ORRERY_WRAP(getopt, int, getopt, (int count, char* const* words, const char* letters),
            (count, words, letters))
ORRERY_WRAP(getopt, int, getopt_long,
            (int count, char* const* words, const char* letters, const option* longer, int* index),
            (count, words, letters, longer, index))
ORRERY_WRAP(getopt, int, getopt_long_only,
            (int count, char* const* words, const char* letters, const option* longer, int* index),
            (count, words, letters, longer, index))
ORRERY_WRAP(hsearch, int, hcreate, (std::size_t entries), (entries))
ORRERY_WRAP(hsearch, HashEntry*, hsearch, (HashEntry entry, int action), (entry, action))
ORRERY_WRAP(hsearch, void, hdestroy, (), ())
ORRERY_WRAP(tmpnam, char*, tmpnam, (char* name), (name))
ORRERY_WRAP(tmpnam, char*, tempnam, (const char* folder, const char* prefix), (folder, prefix))

// ---- The dynamic linker's lists of loaded objects
namespace {
using Open = void*(const char*, int) noexcept;
[[gnu::noinline]] void* open_in_platform_mode(Open* open, const char* file, int mode) noexcept {
  const outside::PlatformMode platform;
  void* const library = open(file, mode);
  outside::prepare_worker_thread();
  return library;
}
}  // namespace
// Outside of handlers this is a tail call: dlopen searches for a name without a path according to
// the calling module.
ORRERY_EXPORT void* dlopen(const char* file, int mode) noexcept {
  static constinit std::atomic<Open*> known{nullptr};
  Open* const open = outside::next_definition(known, "dlopen");
  if (outside::running_heap() != nullptr) return open_in_platform_mode(open, file, mode);
  return open(file, mode);
}
ORRERY_EXPORT int dlclose(void* library) noexcept {
  static constinit std::atomic<int (*)(void*)> known{nullptr};
  const outside::PlatformMode platform;
  return outside::next_definition(known, "dlclose")(library);
}
// (Not dlerror: looking up its next definition would forget the error.)

// ---- Answers from files and the system, in buffers of the library
ORRERY_WRAP(ttyname, char*, ttyname, (int file), (file))
ORRERY_WRAP(ttyname, char*, getlogin, (), ())
ORRERY_WRAP(getpwnam, passwd*, getpwnam, (const char* name), (name))
ORRERY_WRAP(getpwnam, passwd*, getpwuid, (unsigned id), (id))
ORRERY_WRAP(getpwnam, passwd*, getpwent, (), ())
ORRERY_WRAP(getgrnam, group*, getgrnam, (const char* name), (name))
ORRERY_WRAP(getgrnam, group*, getgrgid, (unsigned id), (id))
ORRERY_WRAP(getgrnam, group*, getgrent, (), ())
ORRERY_WRAP(inet_ntoa, char*, inet_ntoa, (unsigned address), (address))
ORRERY_WRAP(gethostbyname, hostent*, gethostbyname, (const char* name), (name))
ORRERY_WRAP(gethostbyname, hostent*, gethostbyaddr, (const void* address, unsigned bytes, int type),
            (address, bytes, type))
ORRERY_WRAP(gethostbyname, servent*, getservbyname, (const char* name, const char* protocol),
            (name, protocol))
ORRERY_WRAP(gethostbyname, servent*, getservbyport, (int port, const char* protocol),
            (port, protocol))
ORRERY_WRAP(gethostbyname, protoent*, getprotobyname, (const char* name), (name))
ORRERY_WRAP(gethostbyname, protoent*, getprotobynumber, (int number), (number))
