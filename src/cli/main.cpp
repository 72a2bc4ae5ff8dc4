// SPDX-License-Identifier: Apache-2.0
//
// The orrery command: executes the subcommand on the command line, and turns every error into one
// sentence on standard error and an exit code.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/again.h"
#include "cli/beside.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/help.h"
#include "cli/rank_session.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "core/text.h"
#include "memory/region.h"
#include "orrery/error.h"
#include "run/crash_guard.h"

namespace orrery::cli {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

/// Refuses words that belong to no option.
void refuse_extras(const CLI::App& command, const std::string& name) {
  for (const std::string& word : command.remaining()) {
    if (word.starts_with("-")) {
      throw UsageError(
          fmt::format("'{0}' has no option '{1}'{2} ('{0} --help' shows all)", name, word,
                      near_matches(word.substr(0, word.find('=')), flags_of(command))));
    }
  }
  for (const std::string& word : command.remaining())
    throw UsageError(
        fmt::format("'{0}' does not know what to do with '{1}' ('{0} --help' helps)", name, word));
}

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

void refuse_unknown_command(const CommandLine& commands) {
  const auto words = commands.app.remaining();
  if (words.empty() || words.front().starts_with("-")) return refuse_extras(commands.app, "orrery");
  std::vector<std::string> names;
  for (const CLI::App* command : commands.app.get_subcommands(nullptr))
    names.push_back(command->get_name());
  for (const std::string& other : commands_beside()) names.push_back(other);
  throw UsageError(fmt::format("there is no command '{}'{} (commands: {})", words.front(),
                               near_matches(words.front(), names), fmt::join(names, ", ")));
}

int dispatch(CommandLine& commands) {
  const auto chosen = commands.app.get_subcommands();
  if (chosen.empty() || !commands.app.remaining().empty()) refuse_unknown_command(commands);
  if (chosen.empty()) {
    print_out("{}", commands.app.help());
    return kExitOk;
  }
  CLI::App* command = chosen.front();
  refuse_extras(*command, "orrery " + command->get_name());
  if (command == commands.list) return list_command(commands.list_arguments);
  if (command == commands.describe) {
    if (commands.describe_arguments.words.empty())
      throw UsageError(
          "which model or engine? 'orrery describe NAME' needs one; 'orrery list' shows all");
    refuse_mpi_launcher("orrery describe");
    complete_arguments(*command, commands.describe_arguments);
    return describe_command(commands.describe_arguments);
  }
  if (command == commands.run) {
    complete_arguments(*command, commands.run_arguments);
    return run_command(commands.run_arguments);
  }
  if (command == commands.resume || command == commands.fork) {
    ResumeArguments& arguments =
        command == commands.fork ? commands.fork_arguments : commands.resume_arguments;
    complete_arguments(*command, arguments);
    return resume_command(arguments);
  }
  if (command == commands.snapshot) return snapshot_command(commands.snapshot_arguments);
  if (command == commands.trace) {
    complete_arguments(*command, commands.trace_arguments);
    return trace_command(commands.trace_arguments);
  }
  if (command == commands.advise) {
    refuse_mpi_launcher("orrery advise");
    complete_arguments(*command, commands.advise_arguments);
    return advise_command(commands.advise_arguments);
  }
  if (command == commands.director) {
    complete_arguments(*command, commands.director_arguments);
    return director_command(commands.director_arguments);
  }
  if (command == commands.llf) return llf_command(commands.llf_arguments);
  if (command == commands.report) {
    complete_arguments(*command, commands.page_arguments);
    return page_command(commands.page_arguments);
  }
  if (command == commands.manual) return manual_command(commands, commands.manual_arguments);
  if (command == commands.completion) return completion_command(commands.completion_arguments);
  if (command == commands.sweep) {
    refuse_mpi_launcher("orrery sweep");
    complete_arguments(*command, commands.sweep_arguments);
    return sweep_command(commands.sweep_arguments);
  }
  refuse_mpi_launcher("orrery compare");
  complete_arguments(*command, commands.compare_arguments);
  return compare_command(commands.compare_arguments);
}

int refuse(int code, const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {}\n", printable(sentence));
  return code;
}

int show_help(const CLI::App& app, const CLI::Success& wanted,
              const std::vector<std::string>& words) {
  try {
    std::ostringstream version;
    const bool is_help = dynamic_cast<const CLI::CallForHelp*>(&wanted) != nullptr;
    if (!is_help) app.exit(wanted, version, version);
    write_out(is_help ? help_text(app, words) : version.str());
    flush_out();
    return kExitOk;
  } catch (const UsageError& error) {
    return refuse(kExitUsage, error.what());
  }
}

/// CLI11 would give "--out=" the next word as its value, but the user wrote "--out" and "". Words
/// behind "--" belong to another command.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool are_ours = true;
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--") are_ours = false;
    const bool empty_value =
        are_ours && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (empty_value) word.pop_back();
    words.push_back(std::move(word));
    if (empty_value) words.emplace_back();
  }
  return words;
}

void parse(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  app.parse(static_cast<int>(pointers.size()), pointers.data());
}

void read(CommandLine& commands, const std::vector<std::string>& words, char** argv) {
  for (RunArguments* run :
       {&commands.run_arguments, static_cast<RunArguments*>(&commands.resume_arguments),
        static_cast<RunArguments*>(&commands.fork_arguments)}) {
    run->command_line = argv;
    run->command.assign(words.begin() + 1, words.end());
  }
  const auto mark = std::find(words.begin(), words.end(), "--");
  const bool is_for_another = words.size() > 1 && words[1] == "llf" && mark != words.end();
  if (is_for_another) commands.llf_arguments.command.assign(mark + 1, words.end());
  parse(commands.app, is_for_another ? std::vector<std::string>(words.begin(), mark) : words);
}

/// Parses again, as if the user had written the command in the report that --again names.
void read_again(std::optional<CommandLine>& commands, std::vector<std::string> words, char** argv) {
  const auto repeated = std::make_shared<Again>(commands->run_arguments.again);
  const std::vector<std::string> given(words.begin() + 2, words.end());
  const std::vector<std::string> command = repeated->words(*commands->run, given);
  words.resize(1);
  words.insert(words.end(), command.begin(), command.end());
  read(commands.emplace(), words, argv);
  commands->run_arguments.repeated = repeated;
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
  std::optional<CommandLine> commands(std::in_place);
  try {
    if (argc > 1 && std::string_view(argv[1]) == kCompleteVerb) {
      print_out("{}", completions(*commands, {argv + 2, argv + argc}));
      flush_out();
      return kExitOk;
    }
    const std::vector<std::string> words = words_of(argc, argv);
    read(*commands, words, argv);
    if (!commands->run_arguments.again.empty()) read_again(commands, words, argv);
    const int code = dispatch(*commands);
    flush_out();
    return code;
  } catch (const CLI::Success& help) {
    return show_help(commands->app, help, {argv, argv + argc});
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    const bool repeated = text.find("received") != std::string::npos;
    return refuse(kExitUsage, text.substr(0, text.find(':')) +
                                  (repeated ? " is given more than once" : " needs a value"));
  } catch (const CLI::ParseError& error) {
    return refuse(kExitUsage, std::string(error.what()) + " ('orrery --help' helps)");
  } catch (const UsageError& error) {
    return refuse(kExitUsage, error.what());
  } catch (const ModelFault& fault) {
    return refuse(kExitFault, fault.what());
  } catch (const std::bad_alloc&) {
    return refuse(kExitSystem, "there is not enough memory" + memory::Region::limit_advice());
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
  orrery::cli::become_command_beside(argc, argv);
  orrery::cli::hold_standard_streams();
  const orrery::CrashGuard guard;
  return orrery::cli::main_within_bounds(argc, argv);
}
