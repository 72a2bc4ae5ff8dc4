// SPDX-License-Identifier: Apache-2.0
//
// orrery llf run -- COMMAND: schedules the ranks of MPI programs that share a machine, without a
// change to the programs. It sets environment variables that all processes of the command inherit,
// and preloads the stub (llf/mpi/stub.cpp), which does the rest. llf status and llf clean serve all
// programs that use liborrery-llf.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "core/plugin_file.h"
#include "core/process.h"
#include "core/text.h"
#include "llf/mpi/environment.h"
#include "orrery/error.h"
#include "orrery/llf.h"
#include "output/text_table.h"
#include "output/watch.h"
#include "run/options/option_forms.h"

namespace orrery::cli {
namespace {

using Words = std::vector<std::string>;

struct LlfRequest {
  Words words;
  Words command;  ///< behind "--"
  std::string group, tokens;
};

// --- run
// ------------------------------------------------------------------------------------------

std::string stub() {
  const std::string path = plugin_file("orrery-llf-mpi.so");
  if (path.empty())
    throw UsageError(
        "orrery-llf-mpi.so, which 'orrery llf run' puts between programs and MPI, is not there: "
        "neither beside the command nor where it is installed; build or install orrery again");
  if (path.find_first_of(" :") != std::string::npos)
    throw UsageError("'" + path +
                     "' cannot be preloaded, because the system takes blanks and colons in it for "
                     "ends of names; install orrery elsewhere");
  return path;
}

std::string group_of(const LlfRequest& request) {
  if (request.group.empty()) return fmt::format("mpi.{}", getpid());
  const bool is_name = request.group.size() <= 71 &&
                       std::all_of(request.group.begin(), request.group.end(), [](unsigned char c) {
                         return std::isalnum(c) != 0 || std::strchr("._-", c) != nullptr;
                       });
  if (is_name) return request.group;
  throw UsageError("--group '" + request.group +
                   "' is no name of a group: it has 1 to 71 letters, digits, and . _ -");
}

/// A file that exists until a process of the command joins the group.
class Mark {
 public:
  Mark() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/orrery-llf-XXXXXX";
    const int file = mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0)
      throw UsageError(
          fmt::format("there can be no file in '{}', the folder for temporary files: {}",
                      folder == nullptr ? "/tmp" : folder, std::strerror(errno)));
    close(file);
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { unlink(path_.c_str()); }

  const std::string& path() const { return path_; }
  bool is_there() const { return access(path_.c_str(), F_OK) == 0; }

 private:
  std::string path_;
};

void set_environment(const LlfRequest& request, const Mark& mark) {
  const std::string preloaded = stub();
  const char* const others = std::getenv("LD_PRELOAD");
  setenv("LD_PRELOAD",
         (others == nullptr || *others == '\0' ? preloaded : preloaded + ":" + others).c_str(), 1);
  setenv(llf::mpi::kGroup, group_of(request).c_str(), 1);
  setenv(llf::mpi::kUnusedMark, mark.path().c_str(), 1);
  unsetenv(llf::mpi::kTokens);
  if (!request.tokens.empty()) {
    option_forms::read_count("--tokens", request.tokens, 1, 1024);
    setenv(llf::mpi::kTokens, request.tokens.c_str(), 1);
  }
  // Open MPI must yield where it spins, and must not bind ranks to cores, since a token is valid
  // for any core. Settings of the user stay.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
}

std::atomic<pid_t> started{0};
constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Passes signals that another process sends to this one on to the command; the terminal sends its
/// signals to the command, too.
void pass_on(int signal, siginfo_t* from, void*) {
  const pid_t process = started.load(std::memory_order_relaxed);
  if (process > 0 && from->si_code <= 0) kill(process, signal);
}

/// Signals that are ignored, as under nohup, stay ignored, in the command as well.
void catch_signals() {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : kPassedOn)
    if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
}

/// Blocks the signals until this process knows the command's process number: the command may run,
/// and a signal come, before that. The command itself starts with its signals unblocked.
void start(const Words& command) {
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int signal : kPassedOn) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);
  try {
    started = start_process({.words = command, .program = command[0], .mask = &before});
  } catch (const std::system_error& error) {
    throw UsageError(fmt::format("'{}' cannot be started: {}", command[0], error.code().message()));
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

int run_command(const LlfRequest& request) {
  Words command(request.words.begin() + 1, request.words.end());
  command.insert(command.end(), request.command.begin(), request.command.end());
  if (command.empty())
    throw UsageError(
        "'orrery llf run' needs a command, as in 'orrery llf run -- mpirun -n 8 ./simulator'");
  const Mark mark;
  set_environment(request, mark);
  catch_signals();
  start(command);
  const int code = exit_code_of(wait_for_process(started));
  llf_clean(
      std::getenv(llf::mpi::kGroup));  // removes the group of killed ranks; fails if one is alive
  if (code == 0 && mark.is_there())
    fmt::print(
        stderr,
        "orrery: no process of '{}' has begun MPI through the shim, so nothing was scheduled "
        "(companions/llf/README.md says which programs it does not see)\n",
        printable(command[0]));
  return code;
}

// --- status, clean
// --------------------------------------------------------------------------------

/// The groups of this user.
Words groups() {
  const std::string begin = fmt::format("orrery-llf.{}.", geteuid());
  Words found;
  if (DIR* const folder = opendir("/dev/shm")) {
    while (const dirent* const entry = readdir(folder))
      if (const std::string name = entry->d_name; name.starts_with(begin))
        found.push_back(name.substr(begin.size()));
    closedir(folder);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<llf_view> look(const std::string& group) {
  std::vector<llf_view> views(1024);
  const int count =
      llf_look(group.c_str(), views.data(), sizeof(llf_view), static_cast<unsigned>(views.size()));
  if (count < 0) throw UsageError(llf_error());
  views.resize(static_cast<std::size_t>(count));
  return views;
}

std::string text_of(llf_time time) {
  return time == LLF_NEVER      ? "never"
         : time == LLF_EARLIEST ? "unknown"
                                : std::to_string(static_cast<long long>(time));
}

void show_groups() {
  TextTable table({{"group"}, {"federates", TextTable::Align::right}});
  for (const std::string& group : groups()) table.add({group, std::to_string(look(group).size())});
  if (table.empty())
    print_out("there is no group\n");
  else
    print_out("{}", table.text(Terminal::of(STDOUT_FILENO)));
}

void show_group(const std::string& group) {
  const Words all = groups();
  if (std::find(all.begin(), all.end(), group) == all.end())
    throw UsageError(fmt::format("there is no group '{}'{}", group, near_matches(group, all)));
  constexpr auto kRight = TextTable::Align::right;
  TextTable table(
      {{"federate"}, {"process", kRight}, {"state"}, {"LVT", kRight}, {"unread", kRight}});
  for (const llf_view& view : look(group))
    table.add({view.name, std::to_string(view.process), view.state, text_of(view.lvt),
               view.unread == LLF_NEVER ? "none" : text_of(view.unread)});
  if (table.empty())
    print_out("group '{}' has no federates; 'orrery llf clean' removes it\n", group);
  else
    print_out("{}", table.text(Terminal::of(STDOUT_FILENO)));
}

void clean_group(const std::string& group) {
  if (llf_clean(group.c_str()) != 0) throw UsageError(llf_error());
}

/// Removes all groups without a living process.
void clean_all() {
  unsigned removed = 0;
  for (const std::string& group : groups()) {
    if (!look(group).empty()) continue;
    clean_group(group);
    ++removed;
  }
  print_out("{} removed\n", removed == 1 ? "1 group" : fmt::format("{} groups", removed));
}

constexpr CommandText kLlfText = {
    .name = "llf",
    .summary = "Run a program over MPI with more ranks than cores; show groups of liborrery-llf",
    .operands = "run|status|clean [WORDS...] [OPTIONS]",
    .prose =
        R"(Ranks that wait by polling take the cores from other ranks. 'run' puts a library between the ranks of a
command and MPI, without a change to the program: a rank that waits sleeps, and no more ranks run than
there are cores. The exit code is that of the command. 'status' and 'clean' serve all simulators that
use liborrery-llf: 'status' shows the federates of a group and their states, 'clean' removes the groups
of dead runs.)",
    .examples = R"(orrery llf run -- mpirun -n 8 ./simulator --its --options
orrery llf run --group mine --tokens 2 -- mpirun -n 8 --oversubscribe ./simulator
orrery llf status           the groups
orrery llf status mine      its federates
orrery llf clean)",
    .more =
        R"(Everything behind '--' is the command. The program is linked with Open MPI or MPICH, as a shared
library.)",
    .takes_command = true};

class LlfCommand final : public Command {
 public:
  LlfCommand() : Command(kLlfText) {}

  void declare(OptionTable& options) override {
    options.operands("WORDS", request_.words,
                     "'run --' and a command, or 'status' or 'clean' and a group");
    options.value("--group", request_.group, "NAME", "run: name of the ranks' group (a new group)");
    options.value("--tokens", request_.tokens, "N",
                  "run: number of ranks that run at a time (as many as there are cores)");
  }

  int run(OptionTable&, const Invocation& call) override {
    request_.command = call.other;
    const Words& words = request_.words;
    const std::string verb = words.empty() ? "" : words[0];
    if (verb == "run") return run_command(request_);
    if ((verb != "status" && verb != "clean") || words.size() > 2 || !request_.command.empty())
      throw UsageError(
          "'orrery llf' needs 'run -- COMMAND', 'status [GROUP]' or 'clean [GROUP]', as in 'orrery "
          "llf run -- mpirun -n 8 ./simulator'");
    if (!request_.group.empty() || !request_.tokens.empty())
      throw UsageError("--group and --tokens are for 'orrery llf run'");
    if (verb == "status" && words.size() == 2)
      show_group(words[1]);
    else if (verb == "status")
      show_groups();
    else if (words.size() == 2)
      clean_group(words[1]);
    else
      clean_all();
    flush_out();
    return kExitOk;
  }

 private:
  LlfRequest request_;
};

const CommandEntry kLlfEntry(12, make_command<LlfCommand>);

}  // namespace
}  // namespace orrery::cli
