// SPDX-License-Identifier: Apache-2.0
//
// The orrery command: executes the subcommand on the command line, and turns every error into one
// sentence on standard error and an exit code.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/command_line.h"
#include "cli/complete.h"
#include "cli/external_commands.h"
#include "cli/standard_output.h"
#include "memory/library_state.h"
#include "memory/region.h"
#include "orrery/error.h"
#include "run/containment/crash_guard.h"
#include "run/threads/supervised_run.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::cli {
namespace {

/// Ends this process when the process named in ORRERY_PARENT ends, in whatever way. Processes that
/// this command starts do not inherit the variable.
void end_with_parent() {
  const char* const text = std::getenv("ORRERY_PARENT");
  if (text == nullptr) return;
  const auto parent = static_cast<pid_t>(std::strtol(text, nullptr, 10));
  unsetenv("ORRERY_PARENT");
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The parent may have ended already.
  if (getppid() != parent && kill(parent, 0) != 0 && errno == ESRCH) _exit(kExitSignal + SIGTERM);
}

/// True for errors that mean: the system is out of a resource, or a limit is reached.
bool is_of_resources(const std::error_code& code) {
  if (code.category() != std::generic_category() && code.category() != std::system_category())
    return false;
  constexpr std::array kCodes = {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT, ENOBUFS};
  return std::find(kCodes.begin(), kCodes.end(), code.value()) != kCodes.end();
}

int main_within_bounds(int argc, char** argv) {
  prctl(PR_SET_NAME, "orrery");  // a process that was executed again, or as a rank, is "exe"
  try {
    if (argc > 1 && std::string_view(argv[1]) == kCompleteVerb) {
      print_out("{}", completions({argv + 2, argv + argc}));
      flush_out();
      return kExitOk;
    }
    const int code = CommandLine().execute(argc, argv);
    flush_out();
    return code;
  } catch (const UsageError& error) {
    return refuse(kExitUsage, error.what());
  } catch (const ModelFault& fault) {
    return refuse(kExitFault, fault.what());
  } catch (const std::bad_alloc&) {
    return refuse(kExitSystem, "there is not enough memory" + memory::Region::limit_advice());
  } catch (const SystemFailure& failure) {
    return refuse(kExitSystem, failure.what());
  } catch (const transport::RankRefused& refused) {
    return refuse(kExitSystem, refused.what());
  } catch (const std::system_error& error) {
    if (!is_of_resources(error.code()))
      return refuse(kExitInternal, fmt::format("internal error: {}", error.what()));
    return refuse(kExitSystem,
                  fmt::format("the system refused what the run needs ({}): limits of threads, "
                              "processes and open files are what 'ulimit -a' shows",
                              error.what()));
  } catch (const std::exception& error) {
    return refuse(kExitInternal, fmt::format("internal error: {}", error.what()));
  } catch (...) {
    return refuse(kExitInternal, "internal error: an exception that is not a std::exception");
  }
}

}  // namespace
}  // namespace orrery::cli

int main(int argc, char** argv) {
  orrery::cli::end_with_parent();
  orrery::cli::exec_external_command(argc, argv);
  // Before there are threads: others may read the environment. The user may have set the variable
  // to see the messages of hwloc (core/topology.h).
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  orrery::memory::name_time_zone();
  orrery::cli::hold_standard_streams();
  const orrery::CrashGuard guard;
  return orrery::cli::main_within_bounds(argc, argv);
}
