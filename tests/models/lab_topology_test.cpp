// SPDX-License-Identifier: Apache-2.0
//
// Topologies of the laboratory: what a file says, and what is wrong with one, by line and key.
#include "../../models/lab/topology.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/error.h"

namespace orrery::lab::testing {
namespace {

Topology read(const std::string& text) {
  const std::string path = ::testing::TempDir() + "lab-topology.toml";
  std::ofstream(path) << text;
  return read_topology(path);
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const UsageError& error) {
    const std::string what = error.what();
    return what.substr(what.find(".toml") + 5);
  }
  return "accepted";
}

const std::string kTwo = "[[host]]\nname='a'\n[[host]]\nname='b'\n";

TEST(LabTopology, SaysWhatThereIs) {
  const Topology topology = read(R"(
[[host]]
name = "a"
memory = 64
system_call = "1.5us"
setup = ["one", "two"]
[[host.program]]
at = "2s"
command = "run"
[[host]]
name = "b"
[[link]]
between = ["b", "a"]
addresses = ["10.0.0.2/24", "10.0.0.1/24"]
delay = "10ms"
rate = "1.5 Mbit/s"
)");
  ASSERT_EQ(topology.hosts.size(), 2u);
  const Host &a = topology.hosts[0], &b = topology.hosts[1];
  EXPECT_EQ(a.memory_megabytes, 64u);
  EXPECT_EQ(a.system_call_ns, 1500);
  EXPECT_EQ(a.setup, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(a.programs.size(), 1u);
  EXPECT_EQ(a.programs[0].at_ns, 2'000'000'000);
  ASSERT_EQ(b.devices.size(), 1u);
  EXPECT_EQ(b.devices[0].address, "10.0.0.2/24");
  EXPECT_EQ(b.devices[0].wire.host, 0u);
  EXPECT_EQ(a.devices[0].wire.host, 1u);
  EXPECT_EQ(a.devices[0].wire.delay_ns, 10'000'000);
  EXPECT_EQ(a.devices[0].wire.bits_per_s, 1'500'000u);
}

TEST(LabTopology, EveryFileInTheFolderIsOne) {
  const std::filesystem::path folder = ORRERY_SOURCE_ROOT "/models/lab/topologies";
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    EXPECT_FALSE(read_topology(file.path()).hosts.empty()) << file.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(LabTopology, RefusesByLineAndKey) {
  EXPECT_EQ(refusal("[[host]]\nname = "),
            ":2: Error while parsing key-value pair: encountered end-of-file");
  EXPECT_NE(refusal("").find("there is no [[host]]"), std::string::npos);
  EXPECT_EQ(refusal("[host]\nname='a'\n"), ":1: 'host' is written [[host]]");
  EXPECT_EQ(refusal("[[host]]\n"), ":1: 'name' is missing");
  EXPECT_EQ(refusal("[[host]]\nname=3\n"), ":2: 'name' is a text in quotes");
  EXPECT_EQ(refusal("[[host]]\nname='a b'\n"),
            ":1: the name 'a b' has something else than letters, digits and '-'");
  EXPECT_EQ(refusal("[[host]]\nname='a'\n[[host]]\nname='a'\n"), ":3: there are two hosts 'a'");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nmemory=8\n"),
            ":3: 'memory' is a number of MiB from 16 to 4096");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nmemroy=64\n"),
            ":3: there is no key 'memroy' here; there are name, memory, system_call, setup, "
            "program");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','c']\ndelay='1ms'\n"),
            ":5: there is no host 'c'");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','a']\ndelay='1ms'\n"),
            ":5: 'between' has the names of two hosts");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','b']\n"),
            ":5: a link needs a 'delay', of 2 ns or more");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','b']\ndelay='10'\n"),
            ":7: 'delay' is a number with a unit, \"10 s\"; there are ns, us, ms, s, min");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','b']\ndelay='1s'\naddresses=['x']\n"),
            ":5: 'addresses' has one for each end, \"10.0.0.1/24\"");
}

}  // namespace
}  // namespace orrery::lab::testing
