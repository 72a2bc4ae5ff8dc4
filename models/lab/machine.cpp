// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <stdexcept>

#include "lab.h"
#include "orrery/error.h"
#include "qemu/qemu_machine.h"
#include "uml/uml_machine.h"

namespace orrery::lab {

std::unique_ptr<Machine> make_machine(MachineKind kind, const Lab& lab) {
  switch (kind) {
    case MachineKind::uml:
      return std::make_unique<UmlMachine>(lab);
    case MachineKind::qemu:
      return std::make_unique<QemuMachine>(lab);
    case MachineKind::vm:
      throw UsageError("host '" + lab.topology().hosts[lab.topology().hosts_of(kind)[0]].name +
                       "' has machine = \"vm\", a virtual machine with the clock of this machine; "
                       "'orrery director net' runs it (companions/director/README.md)");
  }
  throw std::logic_error("a kind of machine has no class");
}

}  // namespace orrery::lab
