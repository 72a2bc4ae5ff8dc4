// SPDX-License-Identifier: Apache-2.0
//
// orrery list: shows the models and engines that this command has.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/describe_json.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "output/text_table.h"
#include "run/engine.h"

namespace orrery::cli {
namespace {

template <class Infos>
void print(const char* heading, const Infos& infos, const Terminal& terminal) {
  TextTable table({{""}, {""}});
  for (const auto& info : infos) table.add({info.name, info.summary});
  print_out("{}\n{}\n", terminal.bold(heading), table.empty() ? "  none\n" : table.text(terminal));
}

constexpr CommandText kListText = {
    .name = "list",
    .summary = "Show the models and the engines",
    .operands = "[OPTIONS]",
    .prose =
        R"(Shows the models and engines of this command. Use the path of your own model instead of a name.)",
    .examples = "orrery list\norrery list --json"};

class ListCommand final : public Command {
 public:
  ListCommand() : Command(kListText) {}

  void declare(OptionTable& options) override {
    options.flag("--json", json_, "Print models and engines as JSON, with all options");
  }

  int run(OptionTable&, const Invocation&) override {
    if (json_) {
      print_out("{}", list_json());
      return kExitOk;
    }
    const Terminal terminal = Terminal::of(STDOUT_FILENO);
    print("Models", models(), terminal);
    print("Engines", engines(), terminal);
    print_out(
        "'orrery describe NAME' shows a model's parameters or an engine's options, 'orrery run "
        "MODEL' runs a model.\n");
    return kExitOk;
  }

 private:
  bool json_ = false;
};

const CommandEntry kListEntry(1, make_command<ListCommand>);

}  // namespace
}  // namespace orrery::cli
