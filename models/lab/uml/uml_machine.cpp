// SPDX-License-Identifier: Apache-2.0
#include "uml_machine.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "../host_script.h"
#include "../lab.h"
#include "../tree_digest.h"
#include "uml_executed.h"
#include "uml_folders.h"
#include "uml_guest.h"

namespace orrery::lab {

UmlSettings UmlMachine::settings(NodeId host) const {
  UmlSettings settings =
      uml_settings(lab_.host(host), host, lab_.hosts_folder(), lab_.uml.kernel.value());
  if (const auto found = images_.find(settings.root); found != images_.end()) {
    settings.root = found->second.file;
    settings.config = found->second.config;
  }
  settings.olsrd = lab_.uml.olsrd.value();
  settings.groups = lab_.groups();
  settings.patience = std::chrono::milliseconds(lab_.patience.value().ticks() / 1'000'000);
  return settings;
}

void UmlParameters::check_olsrd() const {
  if (!olsrd.value().empty() && !std::filesystem::is_regular_file(olsrd.value()))
    throw UsageError("--set olsrd=: there is no program '" + olsrd.value() + "'");
  if (!olsrd.value().empty() && access(olsrd.value().c_str(), X_OK) != 0)
    throw UsageError("--set olsrd=: '" + olsrd.value() + "' cannot be executed: chmod +x");
}

void UmlMachine::check() const {
  const std::string& kernel = lab_.uml.kernel.value();
  if (!std::filesystem::exists(kernel))
    throw UsageError("there is no kernel for the hosts at '" + kernel +
                     "': ./dev lab builds it, or --set kernel=FILE");
  lab_.uml.check_olsrd();
  for (const char* const program : kProgramsOfHosts)
    if (!std::filesystem::exists(std::filesystem::path(kernel).replace_filename(program)))
      throw UsageError("there is no '" + std::string(program) + "' beside the hosts' kernel '" +
                       kernel + "', which is from another version: ./dev lab builds both");
  make_images();
}

/// Roots that are files become file systems.
void UmlMachine::make_images() const {
  const std::filesystem::path programs =
      std::filesystem::absolute(lab_.uml.kernel.value()).parent_path();
  for (const NodeId id : lab_.topology().hosts_of(MachineKind::uml)) {
    const Host& host = lab_.host(id);
    if (!host.uml.root || std::filesystem::is_directory(*host.uml.root)) continue;
    RootImage& image = images_[*host.uml.root];
    if (image.file.empty())
      image = root_image(*host.uml.root, programs / "roots", programs / "image", "amd64");
    require_command(host, image.config, *host.uml.root);
  }
}

void UmlMachine::prepare() const {
  std::vector<UmlSettings> hosts;
  for (const NodeId id : lab_.topology().hosts_of(MachineKind::uml)) hosts.push_back(settings(id));
  prepare_uml_folders(lab_.topology(), hosts);
}

std::unique_ptr<Guest> UmlMachine::start(NodeId host, std::uint64_t seed, Network& network) const {
  UmlSettings with_seed = settings(host);
  with_seed.seed = seed;
  return std::make_unique<UmlGuest>(with_seed, network);
}

std::vector<std::pair<std::string, std::string>> UmlMachine::digests() const {
  const std::filesystem::path kernel = lab_.uml.kernel.value();
  TreeDigests digests;
  digests.add("the hosts' kernel", kernel);
  for (const char* const name : kProgramsOfHosts)
    digests.add("the hosts' program", std::filesystem::path(kernel).replace_filename(name));
  if (!lab_.uml.olsrd.value().empty()) digests.add("the hosts' program", lab_.uml.olsrd.value());
  for (const NodeId id : lab_.topology().hosts_of(MachineKind::uml)) {
    const Host& host = lab_.host(id);
    for (const auto& [to, from] : host.files)
      digests.add("the file " + to + " of host " + host.name, from);
    if (host.uml.root) digests.add("the root of host " + host.name, *host.uml.root);
  }
  return digests.take();
}

std::vector<std::filesystem::path> UmlMachine::leaves(NodeId host) const {
  return {settings(host).executed_file()};
}

void UmlMachine::add_executed(NodeId host, ExecutedFiles& to) const {
  add_uml_executed(lab_.host(host), settings(host), to);
}

}  // namespace orrery::lab
