// SPDX-License-Identifier: Apache-2.0
#include "host_script.h"

#include <cstddef>

namespace orrery::lab {
namespace {

/// Quotes a word for the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::string command_of(const Host::Program& program) {
  if (program.user.empty()) return "(" + program.command + "\n)";
  return "/lab/as " + program.user + " " + quoted(program.command);
}

}  // namespace

std::string script_of(const Host& host) {
  std::string script;
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    script += "mkdir -p \"$(dirname " + quoted(path) + ")\"; cp -r /lab/files/" +
              std::to_string(number++) + " " + quoted(path) + "\n";
  for (std::size_t i = 0; i < host.ports.size(); ++i) {
    const std::string device = "eth" + std::to_string(i);
    if (!host.ports[i].address.empty())
      script += "ip address add " + host.ports[i].address + " dev " + device + "\n";
    script += "ip link set " + device + " up\n";
  }
  for (const std::string& command : host.setup) script += command + "\n";
  if (host.has_shell) script += "/lab/shell eth" + std::to_string(host.ports.size() - 1) + " &\n";
  std::size_t ordinal = 0;
  for (const Host::Program& program : host.programs) {
    const std::string at = std::to_string(program.at_ns / 1'000'000'000) + "." +
                           std::to_string(1'000'000'000 + program.at_ns % 1'000'000'000).substr(1);
    script += "(sleep " + at + "; " + command_of(program) + " || echo \"lab: program " +
              std::to_string(++ordinal) + " ended with $?\") &\n";
  }
  return script + "wait\n";
}

}  // namespace orrery::lab
