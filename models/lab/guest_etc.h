// SPDX-License-Identifier: Apache-2.0
//
// Makes the files of /etc and the folders that daemons expect, so that dnsmasq, dhclient, sshd,
// PostgreSQL and FRR start as on a Debian machine, and hosts find each other by name. Except for a
// host's own name, everything is the same for all hosts of a topology.
#pragma once

#include <map>
#include <string>

#include "topology.h"

namespace orrery::lab {

/// Contents of files of /etc by their names. `of_machine`: the host sees the machine's files.
/// Otherwise it has a root of its own, which already has users.
std::map<std::string, std::string> etc_of(const Topology& topology, bool of_machine);

/// The folders for daemons, as guest/init.c reads them: a line each: mode, user, group, path.
std::string folders_of(bool of_machine);

}  // namespace orrery::lab
