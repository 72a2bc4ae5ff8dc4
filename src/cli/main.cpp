// SPDX-License-Identifier: Apache-2.0
//
// The orrery command: declares the subcommands, and turns whatever goes wrong into one sentence on
// standard error and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "core/text.h"
#include "memory/region.h"
#include "orrery/error.h"
#include "run/crash_guard.h"

namespace orrery::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  orrery list                                   what there is
  orrery describe phold                         what can be set
  orrery run phold --until 20s --set lps=1000   one run, results on the terminal
  orrery run traffic --out results/sioux        one run, results in a folder
  orrery compare phold --workers 1,2            engines side by side

Exit codes: 0 done, 1 fingerprints differ (compare), 2 wrong option, input or output,
3 model fault, 4 the system had no memory or threads, 130 interrupted by Ctrl-C,
128 + n ended by signal n (139 a crash, 134 abort).)";

constexpr const char* kRunExamples = R"(Examples:
  orrery run phold
  orrery run phold --engine sequential --until 20s --seed 7 --set lps=1000 remote=0.5
  orrery run traffic --workers 4 --out results/sioux --force
  orrery run ./mm1.so --set load=0.9
  orrery run --config sioux.toml

A config file has the same options, for example:
  model = "traffic"
  until = "2h"
  out = "results/sioux"
  [set]
  unreachable = "drop")";

constexpr const char* kCompareExamples =
    R"(Every combination runs in a process of its own, in turn, as often as --repeats says; the table shows
medians, and the spread as (highest - lowest) / median. Speed-up is against the sequential engine.

Examples:
  orrery compare phold --workers 1,2
  orrery compare traffic --engines sequential,timewarp --workers 1,2,4 --repeats 5 --out results/cmp)";

constexpr const char* kDescribeExamples = R"(Examples:
  orrery describe traffic
  orrery describe ./mm1.so
  orrery describe timewarp
  orrery describe pcs --measure --set cells=49 --until 1h)";

/// CLI11's help with our usage line and without its dots behind options that may be repeated.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: orrery " + usage_ + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type;
  }

 private:
  std::string usage_;
};

struct Commands {
  CLI::App app{"Orrery runs discrete-event models on several engines, with equal results.",
               "orrery"};
  CLI::App *list, *describe, *run, *compare;
  DescribeArguments describe_arguments;
  RunArguments run_arguments;
  CompareArguments compare_arguments;

  Commands() {
    app.footer(kExamples);
    app.set_version_flag("--version", "orrery " ORRERY_VERSION);
    app.require_subcommand(0, 1);
    list = app.add_subcommand("list", "Show the models and the engines");
    list->footer("Example:\n  orrery list");
    describe = app.add_subcommand(
        "describe",
        "Show a model's parameters, metrics, tables and lookahead, or an engine's options");
    describe->footer(kDescribeExamples);
    add_describe_options(*describe, describe_arguments);
    run = app.add_subcommand("run", "Run a model");
    run->footer(kRunExamples);
    add_run_options(*run, run_arguments);
    compare = app.add_subcommand("compare", "Run a model on several engines and compare");
    compare->footer(kCompareExamples);
    add_compare_options(*compare, compare_arguments);
    app.formatter(std::make_shared<HelpFormatter>("COMMAND [OPTIONS]"));
    list->formatter(std::make_shared<HelpFormatter>("list"));
    describe->formatter(std::make_shared<HelpFormatter>("describe NAME [OPTIONS]"));
    run->formatter(std::make_shared<HelpFormatter>("run MODEL [OPTIONS]"));
    compare->formatter(std::make_shared<HelpFormatter>("compare MODEL [OPTIONS]"));
    // Left-over words are refused by us, with near matches.
    for (CLI::App* command : {&app, list, describe, run, compare}) command->allow_extras();
  }
};

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

/// Words that no option took.
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

/// "orrery NAME ..." is "orrery-NAME ..." where that lies beside this program: what belongs to one
/// model need not be known here.
void try_beside(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path other =
      own.parent_path() / ("orrery-" + std::filesystem::path(argv[1]).filename().string());
  if (error || access(other.c_str(), X_OK) != 0) return;
  std::vector<char*> words(argv + 1, argv + argc);
  words.push_back(nullptr);
  execv(other.c_str(), words.data());
}

void refuse_unknown_command(const Commands& commands) {
  const auto words = commands.app.remaining();
  if (words.empty() || words.front().starts_with("-")) return refuse_extras(commands.app, "orrery");
  throw UsageError(fmt::format(
      "there is no command '{}'{} (commands: list, describe, run, compare)", words.front(),
      near_matches(words.front(), {"list", "describe", "run", "compare"})));
}

int dispatch(Commands& commands) {
  const auto chosen = commands.app.get_subcommands();
  if (chosen.empty() || !commands.app.remaining().empty()) refuse_unknown_command(commands);
  if (chosen.empty()) {
    print_out("{}", commands.app.help());
    return kExitOk;
  }
  CLI::App* command = chosen.front();
  refuse_extras(*command, "orrery " + command->get_name());
  if (command == commands.list) return list_command();
  if (command == commands.describe) {
    if (commands.describe_arguments.words.empty())
      throw UsageError(
          "which model or engine? 'orrery describe NAME' needs one; 'orrery list' shows all");
    complete_arguments(*command, commands.describe_arguments);
    return describe_command(commands.describe_arguments);
  }
  if (command == commands.run) {
    complete_arguments(*command, commands.run_arguments);
    return run_command(commands.run_arguments);
  }
  complete_arguments(*command, commands.compare_arguments);
  return compare_command(commands.compare_arguments);
}

int refuse(int code, const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {}\n", printable(sentence));
  return code;
}

int show_help(const CLI::App& app, const CLI::Success& help) {
  try {
    std::ostringstream text;
    const int code = app.exit(help, text, text);
    write_out(text.str());
    flush_out();
    return code;
  } catch (const UsageError& error) {
    return refuse(kExitUsage, error.what());
  }
}

/// CLI11 would give "--out=" the next word as its value. "--out" and "" mean what was written.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    const bool empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
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

int main_within_bounds(int argc, char** argv) {
  Commands commands;
  try {
    parse(commands.app, words_of(argc, argv));
    const int code = dispatch(commands);
    flush_out();
    return code;
  } catch (const CLI::Success& help) {
    return show_help(commands.app, help);
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
  } catch (const std::exception& error) {
    return refuse(kExitInternal, fmt::format("internal error: {}", error.what()));
  } catch (...) {
    return refuse(kExitInternal, "internal error: an exception that is not a std::exception");
  }
}

}  // namespace
}  // namespace orrery::cli

int main(int argc, char** argv) {
  orrery::cli::try_beside(argc, argv);
  orrery::cli::hold_standard_streams();
  const orrery::CrashGuard guard;
  return orrery::cli::main_within_bounds(argc, argv);
}
