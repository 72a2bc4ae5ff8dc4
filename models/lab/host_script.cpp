// SPDX-License-Identifier: Apache-2.0
#include "host_script.h"

#include <cctype>
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

/// An image's own command.
std::string command_of(const ImageConfig& config) {
  std::string command = config.folder.empty() ? "" : "cd " + quoted(config.folder) + " && ";
  command += "exec";
  for (const std::string& word : config.command) command += " " + quoted(word);
  return command;
}

std::string command_of(const Host::Program& program, const ImageConfig& config) {
  const bool is_own = program.command.empty();
  const std::string command = is_own ? command_of(config) : program.command;
  const std::string user =
      is_own && program.user.empty() && !config.user.empty() ? quoted(config.user) : program.user;
  if (user.empty()) return "(" + command + "\n)";
  return "/lab/as " + user + " " + quoted(command);
}

/// What commands of an image expect. Variables whose names a shell does not take are left out.
std::string environment_of(const ImageConfig& config) {
  std::string script;
  for (const std::string& one : config.environment) {
    const std::string name = one.substr(0, one.find('='));
    const bool is_name = !name.empty() && name.size() < one.size() &&
                         std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                         name.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_") == std::string::npos;
    if (is_name) script += "export " + name + "=" + quoted(one.substr(name.size() + 1)) + "\n";
  }
  if (!config.folder.empty()) script += "mkdir -p " + quoted(config.folder) + "\n";
  return script;
}

}  // namespace

std::string script_of(const Host& host, const ImageConfig& config) {
  std::string script = environment_of(config);
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
    script += "(sleep " + at + "; " + command_of(program, config) + " || echo \"lab: program " +
              std::to_string(++ordinal) + " ended with $?\") &\n";
  }
  return script + "wait\n";
}

}  // namespace orrery::lab
