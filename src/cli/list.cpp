// SPDX-License-Identifier: Apache-2.0
//
// orrery list: shows the models and engines that this command has.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/describe_json.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "observe/text_table.h"
#include "run/engine.h"

namespace orrery::cli {
namespace {

template <class Infos>
void print(const char* heading, const Infos& infos, const Terminal& terminal) {
  TextTable table({{""}, {""}});
  for (const auto& info : infos) table.add({info.name, info.summary});
  print_out("{}\n{}\n", terminal.bold(heading), table.empty() ? "  none\n" : table.text(terminal));
}

}  // namespace

int list_command(const ListArguments& arguments) {
  if (arguments.json) {
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

}  // namespace orrery::cli
