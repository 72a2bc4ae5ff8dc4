// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <stdexcept>

#include "qemu/qemu_machine.h"
#include "uml/uml_machine.h"

namespace orrery::lab {

std::unique_ptr<Machine> make_machine(MachineKind kind, const Lab& lab) {
  switch (kind) {
    case MachineKind::uml:
      return std::make_unique<UmlMachine>(lab);
    case MachineKind::qemu:
      return std::make_unique<QemuMachine>(lab);
  }
  throw std::logic_error("a kind of machine has no class");
}

}  // namespace orrery::lab
