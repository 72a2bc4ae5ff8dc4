// SPDX-License-Identifier: Apache-2.0
//
// Topologies of the laboratory: what a file says, and what is wrong with one, by line and key.
#include "../../models/lab/topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "output/run_record.h"
#include "run/engine.h"

namespace orrery::lab::testing {
namespace {

Topology read(const std::string& text) {
  struct File {
    const std::string path =
        ::testing::TempDir() + "lab-topology-" + std::to_string(getpid()) + ".toml";
    ~File() { std::filesystem::remove(path); }
  } const file;
  std::ofstream(file.path) << text;
  return read_topology(file.path);
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
  EXPECT_EQ(a.uml.system_call_ns, 1500);
  EXPECT_EQ(a.setup, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(a.programs.size(), 1u);
  EXPECT_EQ(a.programs[0].at_ns, 2'000'000'000);
  ASSERT_EQ(b.ports.size(), 1u);
  EXPECT_EQ(b.ports[0].address, "10.0.0.2/24");
  EXPECT_EQ(b.ports[0].wire.node, 0u);
  EXPECT_EQ(a.ports[0].wire.node, 1u);
  EXPECT_FALSE(a.ports[0].wire.queue);
  EXPECT_EQ(a.ports[0].wire.at(0).delay_ns, 10'000'000);
  EXPECT_EQ(a.ports[0].wire.at(0).bits_per_s, 1'500'000u);
  EXPECT_TRUE(a.ports[0].wire.tells_carrier);
}

TEST(LabTopology, ClocksDriftAndHaveAnOffset) {
  const Topology topology = read(R"(
[[host]]
name = "a"
clock = { drift = "-20.5 ppm", offset = "-3 ms" }
[[host]]
name = "b"
clock = { drift = "1ppb" }
[[host]]
name = "c"
)");
  const Host &a = topology.hosts[0], &b = topology.hosts[1], &c = topology.hosts[2];
  EXPECT_EQ(a.clock.to_host(1'000'000'000), 999'979'500);
  EXPECT_EQ(a.start_of_day_ns(), 1'699'999'999'997'000'000);
  EXPECT_EQ(b.clock.to_host(1'000'000'000), 1'000'000'001);
  EXPECT_EQ(b.start_of_day_ns(), 1'700'000'000'000'000'000);
  EXPECT_TRUE(a.has_own_clock() && b.has_own_clock());
  EXPECT_FALSE(c.has_own_clock());
  const auto of_clock = [](const std::string& clock) {
    return refusal("[[host]]\nname='a'\nclock=" + clock + "\n");
  };
  EXPECT_EQ(of_clock("'20 ppm'"), ":3: 'clock' is a table, { key = \"value\" }");
  EXPECT_EQ(of_clock("{drift='20'}"),
            ":3: 'drift' is a number with a unit, \"-10 ppm\"; there are ppm, ppb");
  EXPECT_EQ(of_clock("{drift='20 ms'}"),
            ":3: 'drift' is a number with a unit, \"-10 ppm\"; there are ppm, ppb");
  EXPECT_EQ(of_clock("{drift='100000.1 ppm'}"), ":3: 'drift' is from -100000 ppm to 100000 ppm");
  EXPECT_EQ(of_clock("{drift='-100000 ppm'}"), "accepted");
  EXPECT_EQ(of_clock("{offset='3'}"),
            ":3: 'offset' is a number with a unit, \"-10 s\"; there are ns, us, ms, s, min");
  EXPECT_EQ(of_clock("{offset='-1000000001 s'}"),
            ":3: 'offset' is from -1000000000 s to 1000000000 s");
  EXPECT_EQ(of_clock("{skew='1 ppm'}"), ":3: there is no key 'skew' here; there are drift, offset");
  EXPECT_NE(refusal("[[host]]\nname='a'\nsystem_call='-1 us'\n"), "accepted");
}

TEST(LabTopology, RepeatsTables) {
  const Topology topology = read(R"(
[[host]]
repeat = 3
name = "h{i}"
setup = ["{i-1} {i+1} {it} {i", "x"]
[[switch]]
name = "s"
[[link]]
repeat = 3
between = ["h{i}", "s"]
addresses = ["10.0.0.{i}/24", ""]
delay = "1ms"
)");
  ASSERT_EQ(topology.hosts.size(), 3u);
  EXPECT_EQ(topology.hosts[1].name, "h2");
  EXPECT_EQ(topology.hosts[1].setup[0], "1 3 {it} {i");
  EXPECT_EQ(topology.hosts[2].ports[0].address, "10.0.0.3/24");
  EXPECT_EQ(topology.nodes(), 4u);
  const Node& middle = topology.node(3);
  EXPECT_EQ(middle.name, "s");
  ASSERT_EQ(middle.ports.size(), 3u);
  EXPECT_EQ(middle.ports[2].wire.node, 2u);
  EXPECT_EQ(middle.ports[2].wire.queue, 100u);
}

TEST(LabTopology, TheDirectionsOfALinkMayDiffer) {
  const Topology topology = read(kTwo + R"(
[[link]]
between = ["b", "a"]
delay = ["10ms", "20ms"]
rate = "1 Mbit/s"
loss = [0.5, 0]
queue = [7, 8]
carrier = false
[[event]]
at = "1s"
link = ["a", "b"]
delay = ["30ms", "40ms"]
)");
  const Wire &of_a = topology.node(0).ports[0].wire, &of_b = topology.node(1).ports[0].wire;
  EXPECT_EQ(of_b.at(0).delay_ns, 10'000'000);
  EXPECT_EQ(of_a.at(0).delay_ns, 20'000'000);
  EXPECT_EQ(of_b.at(0).loss, 0.5);
  EXPECT_EQ(of_a.at(0).loss, 0);
  EXPECT_EQ(of_a.at(0).bits_per_s, of_b.at(0).bits_per_s);
  EXPECT_EQ(of_b.queue, 7u);
  EXPECT_EQ(of_a.queue, 8u);
  EXPECT_FALSE(of_a.tells_carrier || of_b.tells_carrier);
  EXPECT_EQ(of_b.at(1'000'000'000).delay_ns, 30'000'000);
  EXPECT_EQ(of_a.at(1'000'000'000).delay_ns, 40'000'000);
}

TEST(LabTopology, EventsMakePhasesOfLinks) {
  const Topology topology = read(kTwo + R"(
[[host]]
name = "c"
[[link]]
between = ["a", "b"]
delay = "10ms"
loss = 0.25
[[link]]
between = ["b", "c"]
delay = "20ms"
[[event]]
at = "5s"
link = ["b", "a"]
delay = "3ms"
[[event]]
at = "2s"
partition = ["a"]
until = "4s"
[[event]]
at = "5s"
link = ["a", "b"]
loss = 0.5
[[event]]
at = "6s"
host = "c"
crash = true
[[event]]
at = "1s"
host = "c"
command = "run"
)");
  for (const NodeId id : {0, 1}) {
    const Wire& wire = topology.node(id).ports[0].wire;
    ASSERT_EQ(wire.phases.size(), 4u);
    EXPECT_TRUE(wire.at(1'999'999'999).up);
    EXPECT_FALSE(wire.at(2'000'000'000).up);
    EXPECT_TRUE(wire.at(4'000'000'000).up);
    EXPECT_EQ(wire.at(4'000'000'000).delay_ns, 10'000'000);
    EXPECT_EQ(wire.at(4'000'000'000).loss, 0.25);
    EXPECT_EQ(wire.at(7'000'000'000).delay_ns, 3'000'000);
    EXPECT_EQ(wire.at(7'000'000'000).loss, 0.5);
    EXPECT_EQ(wire.least_delay_ns(), 3'000'000);
    EXPECT_TRUE(wire.is_up(0, 1'999'999'999));
    EXPECT_FALSE(wire.is_up(0, 2'000'000'000));
    EXPECT_FALSE(wire.is_up(3'000'000'000, 3'000'000'000));
    EXPECT_FALSE(wire.is_up(1, 5'000'000'000));
    EXPECT_TRUE(wire.is_up(4'000'000'000, 9'000'000'000));
  }
  EXPECT_EQ(topology.node(2).ports[0].wire.phases.size(), 1u);
  EXPECT_EQ(topology.hosts[2].crash_ns, 6'000'000'000);
  EXPECT_EQ(topology.hosts[2].programs.at(0).command, "run");
}

TEST(LabTopology, StationsOfARadioHaveCardsAndPlaces) {
  const std::string movement = ::testing::TempDir() + "lab-movement.ns2";
  std::ofstream(movement) << "$node_(1) set X_ 7\n$node_(1) set Y_ 8\n";
  const Topology topology = read(kTwo + R"(
[[host]]
repeat = 4
name = "h{i}"
[[switch]]
name = "s"
[[radio]]
name = "air"
rate = "24 Mbit/s"
power = 10
delay = "50us"
reception = "threshold"
layout = "grid"
spacing = 20
movement = "lab-movement.ns2"
capture = false
[[link]]
between = ["h1", "s"]
delay = "1ms"
[[station]]
repeat = 4
host = "h{i}"
radio = "air"
address = "10.0.0.{i}/24"
[[station]]
host = "a"
radio = "air"
waypoints = ["1s 1 2", "2s 3 4"]
[[event]]
at = "9s"
radio = "air"
power = -5
[[event]]
at = "3s"
radio = "air"
rate = "6 Mbit/s"
[[event]]
at = "4s"
link = ["air", "h2"]
up = false
)");
  const NodeId air = 7;
  ASSERT_TRUE(topology.is_radio(air));
  EXPECT_FALSE(topology.is_radio(6));
  EXPECT_FALSE(topology.is_terminal(air));
  const RadioNode& node = topology.radio(air);
  ASSERT_EQ(node.ports.size(), 5u);
  EXPECT_EQ(node.radio.stations(), 5u);
  EXPECT_EQ(node.ports[0].wire.node, 2u);
  EXPECT_EQ(node.ports[0].wire.port, 1u) << "after the interface of its link";
  const Port& card = topology.hosts[2].ports[1];
  EXPECT_EQ(card.wire.node, air);
  EXPECT_EQ(card.address, "10.0.0.1/24");
  EXPECT_EQ(card.wire.at(0).delay_ns, 50'000);
  EXPECT_FALSE(card.capture);
  EXPECT_FALSE(topology.hosts[3].ports[0].wire.at(4'000'000'000).up);
  EXPECT_EQ(node.radio.tracks[0].at(0).x, 0);
  EXPECT_EQ(node.radio.tracks[1].at(0).x, 7) << "as the file says";
  EXPECT_EQ(node.radio.tracks[3].at(0).y, 20) << "three columns";
  EXPECT_EQ(node.radio.tracks[4].at(1'500'000'000).x, 2) << "as its waypoints say";
  EXPECT_EQ(node.radio.reception, wireless::Judgement::threshold);
  EXPECT_EQ(node.radio.at(0).rate->megabits_per_second, 24);
  EXPECT_EQ(node.radio.at(3'000'000'000).rate->megabits_per_second, 6);
  EXPECT_EQ(node.radio.at(3'000'000'000).power_dbm, 10);
  EXPECT_EQ(node.radio.at(9'000'000'000).power_dbm, -5);
  EXPECT_EQ(node.radio.at(9'000'000'000).rate->megabits_per_second, 6);
}

TEST(LabTopology, RefusesStationsAndRadiosThatCannotBe) {
  const std::string radio = "[[radio]]\nname='r'\n", station = "[[station]]\nhost='a'\n";
  EXPECT_EQ(refusal(kTwo + radio + station + "radio='r'\n"),
            ":5: the station of host 'a' has no place: give it a 'position' or 'waypoints', or the "
            "radio a 'layout', a 'movement' file or a 'connectivity' file");
  EXPECT_EQ(refusal(kTwo + radio + station + "radio='b'\n"), ":9: this is no [[radio]]");
  EXPECT_EQ(refusal(kTwo + radio + "[[station]]\nhost='r'\nradio='r'\n"),
            ":8: only a host is a station");
  EXPECT_EQ(refusal(kTwo + radio + station + "radio='r'\nposition=[1]\n"),
            ":10: 'position' is [X, Y], in metres");
  EXPECT_EQ(refusal(kTwo + radio + station + "radio='r'\nposition=['1', 2]\n"),
            ":10: 'position' is a list of numbers");
  EXPECT_EQ(refusal(kTwo + radio + station + "radio='r'\nwaypoints=['1s 2']\n"),
            ":10: a waypoint is a time and a place in metres, \"10s 1.5 20\"");
  EXPECT_EQ(refusal(kTwo + radio + "rate='11 Mbit/s'\n"),
            ":7: a station sends at 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s");
  EXPECT_EQ(refusal(kTwo + radio + "power=50\n"), ":7: 'power' is a number from -30 to 40");
  EXPECT_EQ(refusal(kTwo + radio + "[[link]]\nbetween=['a','r']\ndelay='1ms'\n"),
            ":8: 'r' is a radio channel: a host on it is a [[station]]");
  EXPECT_EQ(refusal(kTwo + radio + "layout='grid'\ndelay='1ns'\n"),
            ":8: a card's 'delay' is 2 ns or more");
  EXPECT_EQ(refusal(kTwo + radio + "movement='no-such-file'\n").substr(0, 15), ":7: there is no");
}

/// Whether the file names what ./dev lab --qemu makes, and it is not made.
bool names_missing_file(const std::filesystem::path& topology) {
  constexpr std::string_view kMade = "build/lab/";
  std::ifstream file(topology);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t at = 0; (at = text.find(kMade, at)) != std::string::npos; ++at)
    if (!std::filesystem::exists(std::filesystem::path(ORRERY_SOURCE_ROOT) /
                                 text.substr(at, text.find('"', at) - at)))
      return true;
  return false;
}

TEST(LabTopology, EveryFileInTheFolderIsOne) {
  const std::filesystem::path folder = ORRERY_SOURCE_ROOT "/models/lab/topologies";
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".toml") continue;
    if (names_missing_file(file.path())) continue;
    EXPECT_FALSE(read_topology(file.path()).hosts.empty()) << file.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(LabTopology, RefusesByLineAndKey) {
  EXPECT_EQ(refusal("[[host]]\nname = "),
            ":2: Error while parsing key-value pair: encountered end-of-file");
  EXPECT_NE(refusal("").find("it is empty"), std::string::npos);
  EXPECT_NE(refusal("# nobody\n").find("there is no [[host]]"), std::string::npos);
  EXPECT_EQ(refusal("[host]\nname='a'\n"), ":1: 'host' is written [[host]]");
  EXPECT_EQ(refusal("[[host]]\n"), ":1: 'name' is missing");
  EXPECT_EQ(refusal("[[host]]\nname=3\n"), ":2: 'name' is a text in quotes");
  EXPECT_EQ(refusal("[[host]]\nname='a b'\n"),
            ":1: the name 'a b' has something else than letters, digits and '-'");
  EXPECT_EQ(refusal("[[host]]\nname='a'\n[[host]]\nname='a'\n"), ":3: there are two nodes 'a'");
  EXPECT_EQ(
      refusal("[[host]]\nname='node11796'\n[[host]]\nname='host-19540'\n"),
      ":4: the names 'node11796' and 'host-19540' give their hosts the same Ethernet address: "
      "change one");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nmemory=8\n"),
            ":3: 'memory' is a whole number from 16 to 4096");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nmemroy=64\n"),
            ":3: there is no key 'memroy' here; there are name, machine, on_exit, clock, "
            "memory, system_call, packet, setup, program, files, root, ipv6");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nmachine='pdp11'\n"),
            ":3: 'machine' is one of uml, qemu, vm");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','c']\ndelay='1ms'\n"),
            ":5: there is no host, switch or radio 'c'");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','a']\ndelay='1ms'\n"),
            ":5: 'between' has the names of two hosts or switches");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','b']\n"),
            ":5: a link needs a 'delay', of 2 ns or more");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','b']\ndelay='10'\n"),
            ":7: 'delay' is a number with a unit, \"10 s\"; there are ns, us, ms, s, min");
  EXPECT_EQ(refusal(kTwo + "[[link]]\nbetween=['a','b']\ndelay='1s'\naddresses=['x']\n"),
            ":5: 'addresses' has one for each end, \"10.0.0.1/24\"; \"\" of a switch");
}

TEST(LabTopology, RefusesWhatCannotBe) {
  const std::string switches = "[[switch]]\nname='s'\n[[switch]]\nname='t'\n";
  const std::string link = "[[link]]\ndelay='1ms'\nbetween=";
  EXPECT_EQ(refusal(kTwo + switches + link + "['s','t']\n" + link + "['t','s']\n"),
            ":12: this link closes a circle of switches, in which a frame would go round for ever; "
            "leave it out, or let a host pass frames on there");
  EXPECT_EQ(
      refusal(kTwo + switches + link + "['s','t']\n" + link + "['a','s']\n" + link + "['a','t']\n"),
      "accepted");
  EXPECT_EQ(refusal(kTwo + switches + link + "['a','s']\naddresses=['','10.0.0.1/8']\n"),
            ":12: the switch 's' has no address");
  EXPECT_EQ(refusal(kTwo + link + "['a','b']\nloss=1.5\n"), ":8: 'loss' is a number from 0 to 1");
  EXPECT_EQ(refusal(kTwo + link + "['a','b']\njitter='1ms'\njitter_shape='even'\n"),
            ":9: 'jitter_shape' is one of uniform, exponential, normal");
  EXPECT_EQ(refusal(kTwo + "[[event]]\nhost='a'\n"), ":5: 'at' is missing: the time of the event");
  EXPECT_EQ(refusal(kTwo + "[[event]]\nat='1s'\n"),
            ":5: an event has a 'host', a 'link', a 'radio' or a 'partition'");
  EXPECT_EQ(refusal(kTwo + "[[event]]\nat='1s'\nhost='a'\n"),
            ":5: an event of a host has a 'command', or 'crash = true'");
  EXPECT_EQ(refusal(kTwo + "[[event]]\nat='1s'\nlink=['a','b']\nup=false\n"),
            ":7: there is no link between 'a' and 'b'");
  EXPECT_EQ(refusal(kTwo + link + "['a','b']\n[[event]]\nat='1s'\npartition=['a','b']\n"),
            ":10: no link leads out of the partition");
  EXPECT_EQ(refusal(kTwo + link + "['a','b']\n[[event]]\nat='1s'\nlink=['a','b']\ndelay='1ns'\n"),
            ":8: a link needs a 'delay', of 2 ns or more");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nfiles={'/x'='no-such-file'}\n").substr(0, 15),
            ":3: there is no");
  EXPECT_EQ(refusal("[[host]]\nname='a'\nfiles={'x'='y'}\n"),
            ":3: the path 'x' on the host begins with '/', and has no '");
}

/// In the report of a run up to `until_s` seconds, in which no host runs.
std::string not_started(const std::string& text, std::int64_t until_s) {
  const std::string path = ::testing::TempDir() + "lab-late-" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << text;
  const auto model = make_model("lab");
  set_parameter(*model, "topology", path);
  set_parameter(*model, "check", "yes");
  model->prepare();
  std::filesystem::remove(path);
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(until_s);
  RunControl control;
  const RunResult result = find_engine("sequential").make()->run(*model, options, control);
  for (const DerivedValue& one : derive_values(*model, result))
    if (one.name == "not_started") return one.text.value_or("no text");
  return "no such result";
}

TEST(LabTopology, ProgramsThatStartAfterTheEndAreTold) {
  const std::string late = kTwo + "[[host.program]]\nat='70s'\ncommand='ping b'\n" +
                           "[[event]]\nat='60.5s'\nhost='a'\ncommand='true'\n";
  EXPECT_EQ(not_started(late, 60),
            "2, the first on host a at 60.5 s, and the run ended at 60 s: true");
  EXPECT_EQ(not_started(late, 70),
            "1, the first on host b at 70 s, and the run ended at 70 s: ping b");
  EXPECT_EQ(not_started(late, 71), "none");
}

}  // namespace
}  // namespace orrery::lab::testing
