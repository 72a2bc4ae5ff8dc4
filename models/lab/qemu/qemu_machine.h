// SPDX-License-Identifier: Apache-2.0
//
// Hosts whose machine is QEMU (qemu_guest.h): how they are started, and their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "../guest_process.h"
#include "../machine.h"
#include "../root_image.h"
#include "orrery/orrery.h"

namespace orrery::lab {

/// Parameters of the model for all hosts of this kind.
struct QemuParameters {
  explicit QemuParameters(Model& model)
      : folder(model, "qemu", "build/lab",
               {.help = "folder with qemu-aarch64 and the like, made by ./dev lab --qemu"}) {}

  Parameter<std::string> folder;
};

class QemuMachine final : public Machine {
 public:
  explicit QemuMachine(const Lab& lab) : lab_(lab) {}

  void check() const override;
  void prepare() const override;
  std::unique_ptr<Guest> start(NodeId host, std::uint64_t seed, Network& network) const override;
  std::vector<std::pair<std::string, std::string>> digests() const override;
  void add_executed(NodeId host, ExecutedFiles& to) const override;

 private:
  /// A program of the folder of QEMUs, absolute.
  std::filesystem::path program(std::string_view name) const;
  std::filesystem::path emulator(const Host& host) const;
  /// The folder with the kernel of a host with Linux, and what goes with it.
  std::filesystem::path files_of(const Host& host) const;
  /// Programs of a host with Linux, by their places there.
  std::map<std::string, std::filesystem::path> programs(const Host& host) const;
  RootImage root_of(const Host& host) const;
  GuestCommand command(NodeId host, std::uint64_t seed) const;

  const Lab& lab_;
};

}  // namespace orrery::lab
