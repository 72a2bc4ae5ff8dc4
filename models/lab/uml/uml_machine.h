// SPDX-License-Identifier: Apache-2.0
//
// Hosts that are User Mode Linux: a Linux kernel as a process of this machine, whose time and
// network devices are the laboratory's (uml_guest.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../machine.h"
#include "../root_image.h"
#include "orrery/orrery.h"
#include "uml_settings.h"

namespace orrery::lab {

/// Parameters of the model for all hosts of this kind.
struct UmlParameters {
  explicit UmlParameters(Model& model)
      : kernel(model, "kernel", "build/lab/linux", {.help = "of the hosts, made by ./dev lab"}),
        olsrd(model, "olsrd", "",
              {.help = "a program of this machine's architecture that its hosts have as /lab/olsrd "
                       "instead of the laboratory's; other architectures keep theirs"}) {}

  /// Throws UsageError if `olsrd` is no program.
  void check_olsrd() const;

  Parameter<std::string> kernel;
  Parameter<std::string> olsrd;
};

class UmlMachine final : public Machine {
 public:
  explicit UmlMachine(const Lab& lab) : lab_(lab) {}

  void check() const override;
  void prepare() const override;
  std::unique_ptr<Guest> start(NodeId host, std::uint64_t seed, Network& network) const override;
  std::vector<std::pair<std::string, std::string>> digests() const override;
  std::vector<std::filesystem::path> leaves(NodeId host) const override;
  void add_executed(NodeId host, ExecutedFiles& to) const override;

 private:
  UmlSettings settings(NodeId host) const;
  void make_images() const;

  const Lab& lab_;
  mutable std::map<std::filesystem::path, RootImage> images_;  ///< by the file that `root` names
};

}  // namespace orrery::lab
