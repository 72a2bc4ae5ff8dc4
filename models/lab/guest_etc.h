// SPDX-License-Identifier: Apache-2.0
//
// What of /etc is made for hosts, and the folders that daemons expect: so that dnsmasq, dhclient,
// sshd, PostgreSQL and FRR start as on a Debian machine, and hosts know each other by name. It is
// the same for all hosts of a topology but for a host's own name.
#pragma once

#include <map>
#include <string>

#include "topology.h"

namespace orrery::lab {

/// Files of /etc by their names there, of hosts that see the machine's files (`of_machine`) or
/// those of a root of their own, which has users already.
std::map<std::string, std::string> etc_of(const Topology& topology, bool of_machine);

/// The same as guest/init.c reads them: a line each, with mode, user, group and path.
std::string folders_of(bool of_machine);

}  // namespace orrery::lab
