// SPDX-License-Identifier: Apache-2.0
#include "guest_etc.h"

#include <array>
#include <string_view>

namespace orrery::lab {
namespace {

struct User {
  std::string_view name;
  unsigned id;  ///< of the user and of the group of the same name
  std::string_view home, shell = "/usr/sbin/nologin";
};

/// Users of every Debian system (package base-passwd), and users of daemons for hosts. Debian gives
/// the latter any free number; here the numbers are fixed.
constexpr auto kUsers = std::to_array<User>({
    {"root", 0, "/root", "/bin/bash"},
    {"daemon", 1, "/usr/sbin"},
    {"bin", 2, "/bin"},
    {"sys", 3, "/dev"},
    {"mail", 8, "/var/mail"},
    {"proxy", 13, "/bin"},
    {"www-data", 33, "/var/www"},
    {"backup", 34, "/var/backups"},
    {"sshd", 100, "/run/sshd"},
    {"postgres", 101, "/var/lib/postgresql", "/bin/bash"},
    {"frr", 102, "/nonexistent"},
    {"dnsmasq", 103, "/var/lib/misc"},
    {"messagebus", 104, "/nonexistent"},
    {"_chrony", 105, "/var/lib/chrony"},
    {"bind", 106, "/var/cache/bind"},
    {"mysql", 107, "/nonexistent"},
    {"redis", 108, "/var/lib/redis"},
    {"ntpsec", 109, "/nonexistent"},
    {"tcpdump", 110, "/nonexistent"},
    {"user", 1000, "/home/user", "/bin/bash"},
    {"nobody", 65534, "/nonexistent"},
});

/// Groups other than those of users.
constexpr std::string_view kGroups =
    "tty:x:5:\ndisk:x:6:\nadm:x:4:\nutmp:x:43:\nshadow:x:42:\nstaff:x:50:\nusers:x:100:\n"
    "ssl-cert:x:111:postgres\nfrrvty:x:112:frr\nnogroup:x:65534:\n";

struct Folder {
  unsigned mode;
  std::string_view owner, path;
};
constexpr auto kFolders = std::to_array<Folder>({
    {0700, "root", "/root"},
    {0755, "user", "/home/user"},
    {01777, "root", "/run/lock"},
    {0755, "root", "/run/sshd"},
    {02775, "postgres", "/run/postgresql"},
    {0755, "frr", "/run/frr"},
    {0755, "root", "/run/named"},
    {0755, "messagebus", "/run/dbus"},
    {0755, "root", "/var/cache"},
    {0755, "root", "/var/lib"},
    {0755, "root", "/var/lib/dhcp"},
    {0755, "root", "/var/lib/misc"},
    {0755, "postgres", "/var/lib/postgresql"},
    {0755, "frr", "/var/lib/frr"},
    {0755, "_chrony", "/var/lib/chrony"},
    {0755, "root", "/var/log"},
    {01775, "postgres", "/var/log/postgresql"},
    {0755, "frr", "/var/log/frr"},
    {02775, "root", "/var/mail"},
    {0755, "root", "/var/spool"},
    {01777, "root", "/var/tmp"},
    {0755, "root", "/var/www"},
    {0755, "root", "/etc/default"},
    {0755, "root", "/etc/dhcp"},
    {0755, "frr", "/etc/frr"},
    {0755, "root", "/etc/ssh"},
});

unsigned id_of(std::string_view name) {
  for (const User& one : kUsers)
    if (one.name == name) return one.id;
  return 0;
}

std::string passwd() {
  std::string text;
  for (const User& one : kUsers) {
    const std::string id = std::to_string(one.id);
    text += std::string(one.name) + ":x:" + id + ":" + id + ":" + std::string(one.name) + ":" +
            std::string(one.home) + ":" + std::string(one.shell) + "\n";
  }
  return text;
}

std::string group() {
  std::string text(kGroups);
  for (const User& one : kUsers)
    if (one.name != "nobody")
      text += std::string(one.name) + ":x:" + std::to_string(one.id) + ":\n";
  return text;
}

/// No user has a password.
std::string shadow() {
  std::string text;
  for (const User& one : kUsers) text += std::string(one.name) + ":*:19675:0:99999:7:::\n";
  return text;
}

/// All hosts by their addresses. A host without an address is listed at least in its own file.
std::string hosts(const Topology& topology) {
  std::string text =
      "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
      "ff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n";
  for (const Host& one : topology.hosts)
    for (const Port& port : one.ports)
      if (const auto address = port.address.substr(0, port.address.find('/')); !address.empty())
        text += address + " " + one.name + "\n";
  return text;
}

}  // namespace

std::map<std::string, std::string> etc_of(const Topology& topology, bool of_machine) {
  std::map<std::string, std::string> files{
      {"hosts", hosts(topology)},
      {"resolv.conf", "# No server of names is known: \"nameserver 10.0.0.1\" names one.\n"}};
  if (!of_machine) return files;
  files.insert({
      {"dhcp/dhclient.conf",
       "send host-name = gethostname();\n"
       "request subnet-mask, broadcast-address, routers, domain-name, domain-name-servers,\n"
       "  domain-search, host-name, interface-mtu, ntp-servers;\n"},
      {"fstab", "# The laboratory has mounted all there is.\n"},
      {"group", group()},
      {"host.conf", "multi on\n"},
      {"login.defs", "UMASK 022\nUID_MIN 1000\nGID_MIN 1000\nENCRYPT_METHOD YESCRYPT\n"},
      {"nsswitch.conf",
       "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
       "protocols: files\nservices: files\nethers: files\nrpc: files\n"},
      {"passwd", passwd()},
      {"profile", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"},
      {"shadow", shadow()},
      {"shells", "/bin/sh\n/bin/bash\n"},
      {"ssh/ssh_config", "Host *\n  StrictHostKeyChecking accept-new\n"},
      {"ssh/sshd_config",
       "# The defaults of OpenSSH; ssh-keygen -A makes the host's keys.\n"
       "PermitRootLogin prohibit-password\nSubsystem sftp /usr/lib/openssh/sftp-server\n"},
      {"timezone", "Etc/UTC\n"},
  });
  return files;
}

std::string folders_of(bool of_machine) {
  std::string text;
  if (!of_machine) return text;
  for (const Folder& one : kFolders) {
    constexpr unsigned kOctal = 8;
    std::string mode;
    for (unsigned rest = one.mode; rest != 0; rest /= kOctal)
      mode.insert(mode.begin(), static_cast<char>('0' + rest % kOctal));
    const std::string id = std::to_string(id_of(one.owner));
    text += mode + " " + id + " " + id + " " + std::string(one.path) + "\n";
  }
  return text;
}

}  // namespace orrery::lab
