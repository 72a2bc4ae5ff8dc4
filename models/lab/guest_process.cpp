// SPDX-License-Identifier: Apache-2.0
#include "guest_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

extern char** environ;

namespace orrery::lab {
namespace {

/// A guest needs about ten open files. Systems start with a low limit that any process may raise.
void allow_many_files() {
  static const bool done = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
      limit.rlim_cur = limit.rlim_max;
      setrlimit(RLIMIT_NOFILE, &limit);
    }
    return true;
  }();
  static_cast<void>(done);
}

/// The words that guest/enter.c expects.
std::vector<std::string> words_of(const GuestCommand& command,
                                  const std::vector<std::filesystem::path>& groups) {
  std::vector<std::string> words = {command.enter,
                                    command.folder,
                                    command.program,
                                    std::to_string(command.seed),
                                    command.root,
                                    std::to_string(command.out_megabytes),
                                    std::to_string(command.file_megabytes),
                                    groups.empty() ? "-" : groups.front(),
                                    groups.size() < 2 ? "-" : groups.back(),
                                    command.calls};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  return words;
}

/// The descriptors of the new process: input, console, the pipe that ends it, and the extra one.
class Descriptors {
 public:
  Descriptors(const std::string& console, int life_line, int extra) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, console.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    posix_spawn_file_actions_adddup2(&actions_, life_line, 3);
    posix_spawn_file_actions_adddup2(&actions_, extra, GuestProcess::kExtra);
  }
  ~Descriptors() { posix_spawn_file_actions_destroy(&actions_); }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// A descriptor for the same file, above those that the new process gets.
File above_all(int descriptor) {
  constexpr int kLeast = 16;
  File file(fcntl(descriptor, F_DUPFD_CLOEXEC, kLeast));
  if (!file.is_open())
    throw std::system_error(errno, std::generic_category(), "a descriptor for a guest");
  return file;
}

}  // namespace

GuestProcess::GuestProcess(GuestCommand&& command) {
  allow_many_files();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const File end(ends[0]), far = above_all(ends[0]), extra = above_all(command.extra.get());
  life_line_ = File(ends[1]);
  const Descriptors descriptors(command.folder / "console", far.get(), extra.get());
  if (command.groups != nullptr)
    groups_ = command.groups->make(command.folder.filename(), command.limits);
  std::vector<std::string> words = words_of(command, groups_);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // In a session of its own, since a signal to a process group reaches all processes of the group.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int error =
      posix_spawn(&id_, arguments[0], descriptors.get(), &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    ControlGroups::remove(groups_);
    throw std::system_error(error, std::generic_category(), arguments[0]);
  }
  process_ = File(static_cast<int>(syscall(SYS_pidfd_open, id_, 0)));
}

GuestProcess::~GuestProcess() {
  if (id_ > 0) end();
}

bool GuestProcess::end() {
  life_line_ = File();
  constexpr int kEnds = 120'000;  // copying a full /out to a slow disk takes a while
  pollfd ends{process_.get(), POLLIN, 0};
  int ready = 0;
  do {  // signals to the engine must not lose the results
    ready = poll(&ends, 1, kEnds);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) kill(id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
  id_ = -1;
  ControlGroups::remove(groups_);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace orrery::lab
