// SPDX-License-Identifier: Apache-2.0
//
// The routing daemon of the laboratory's hosts: OLSR (RFC 3626), for which Debian has no daemon. It
// consists of a Router (router.h), UDP broadcasts at port 698, timers, and the kernel's routes. Its
// random numbers come from /dev/urandom, which on a host follows from the run's seed, and its clock
// is the host's. So it does the same in each run.
//
//   olsrd [OPTIONS] INTERFACE...
//
// It has one thread, which waits for packets, its timer, and signals.
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "kernel_routes.h"
#include "router.h"
#include "tables.h"

namespace orrery::lab::olsr {
namespace {

constexpr const char* kHelp = R"(olsrd - the routing daemon of a host: OLSR, RFC 3626

  olsrd [OPTIONS] INTERFACE...

Finds neighbours on these interfaces, and by them all routers of the network, and sets the kernel's
routes to their addresses. Switches forwarding on, and redirects of ICMP off, since a neighbour of a
neighbour may be no neighbour. Stays in the foreground; SIGTERM ends it and removes its routes.

  --hello-interval SECONDS   between messages to neighbours, 0.01 to 600 (2); a neighbour that is not
                             heard for three of them is gone
  --tc-interval SECONDS      between messages to all the network, 0.01 to 600 (5)
  --willingness 0..7         to pass messages of others on: 0 never, 7 always (3)
  --main-address ADDRESS     of one of the interfaces (the first's)
  --hna PREFIX/LENGTH        a network that is reached by this host; may be given more than once
  --debug                    print what it knows whenever that changes
  --help

  olsrd --hello-interval 0.5 --hna 192.168.7.0/24 eth0 eth1
)";

/// An error in the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Options {
  std::vector<std::string> interfaces;
  Settings settings;
  bool debug = false, help = false;
};

Time read_seconds(const std::string& option, const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || !(seconds >= 0.01) ||
      seconds > 600)
    throw UsageError(option + " takes seconds, from 0.01 to 600, and not '" + text + "'");
  return static_cast<Time>(seconds * static_cast<double>(kSecond));
}

std::uint8_t read_willingness(const std::string& text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '7')
    throw UsageError("--willingness is from 0 (never) to 7 (always), and not '" + text + "'");
  return static_cast<std::uint8_t>(text[0] - '0');
}

Options read_options(int count, char** words) {
  static const option known[] = {{"hello-interval", required_argument, nullptr, 'i'},
                                 {"tc-interval", required_argument, nullptr, 't'},
                                 {"willingness", required_argument, nullptr, 'w'},
                                 {"main-address", required_argument, nullptr, 'm'},
                                 {"hna", required_argument, nullptr, 'n'},
                                 {"debug", no_argument, nullptr, 'd'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {}};
  Options options;
  Settings& settings = options.settings;
  opterr = 0;
  for (int one; (one = getopt_long(count, words, ":", known, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    const std::string word = words[optind - 1];
    if (one == '?') throw UsageError("there is no option '" + word + "'; olsrd --help lists them");
    if (one == ':') throw UsageError(word + " needs a value; olsrd --help says which");
    if (one == 'i') settings.hello_interval = read_seconds("--hello-interval", value);
    if (one == 't') settings.tc_interval = read_seconds("--tc-interval", value);
    if (one == 'w') settings.willingness = read_willingness(value);
    if (one == 'd') options.debug = true;
    if (one == 'h') options.help = true;
    if (one == 'm') {
      const std::optional<Address> address = read_address(value);
      if (!address || !is_unicast(*address))
        throw UsageError("--main-address: '" + value + "' is no IPv4 address of a host");
      settings.main = *address;
    }
    if (one == 'n') {
      const std::optional<Network> network = read_network(value);
      if (!network)
        throw UsageError("--hna takes a network like 10.1.0.0/16, and not '" + value + "'");
      settings.networks.push_back(*network);
    }
  }
  options.interfaces.assign(words + optind, words + count);
  if (options.interfaces.empty() && !options.help)
    throw UsageError("on which interfaces? olsrd [OPTIONS] INTERFACE..., as in: olsrd eth0 eth1");
  return options;
}

Time now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, &seed, sizeof seed) != sizeof seed) fail("reading /dev/urandom");
  close(file);
  return seed;
}

/// `value`: one character.
void write_setting(const std::string& name, char value) {
  const int file = open(("/proc/sys/net/ipv4/" + name).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, &value, 1) != 1) fail("setting net.ipv4." + name);
  close(file);
}

/// An interface, with a socket for its packets.
struct Port {
  std::string name;
  Address address;
  int device = 0, socket = -1;
  int last_error = 0;  ///< of sending; printed when it changes

  explicit Port(const std::string& name_of_it) : name(name_of_it) {
    socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) fail("a socket");
    device = static_cast<int>(if_nametoindex(name.c_str()));
    if (device == 0) throw UsageError("there is no interface '" + name + "' here");
    read_address_of_it();
    listen_there();
    write_setting("conf/" + name + "/send_redirects", '0');
  }

  void send(const Bytes& packet) {
    const sockaddr_in all{AF_INET, htons(kPort), {htonl(INADDR_BROADCAST)}, {}};
    const ssize_t sent = sendto(socket, packet.data(), packet.size(), 0,
                                reinterpret_cast<const sockaddr*>(&all), sizeof all);
    const int error = sent < 0 ? errno : 0;
    if (error != 0 && error != last_error)
      std::fprintf(stderr, "olsrd: nothing can be sent on %s: %s\n", name.c_str(),
                   std::strerror(error));
    last_error = error;
  }

 private:
  void read_address_of_it() {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    if (ioctl(socket, SIOCGIFADDR, &request) != 0)
      throw UsageError("the interface '" + name +
                       "' has no IPv4 address: ip address add ADDRESS/LENGTH dev " + name);
    sockaddr_in found;
    std::memcpy(&found, &request.ifr_addr, sizeof found);
    address = {ntohl(found.sin_addr.s_addr)};
  }
  void listen_there() {
    const int yes = 1;
    const sockaddr_in any{AF_INET, htons(kPort), {htonl(INADDR_ANY)}, {}};
    if (setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, name.data(),
                   static_cast<socklen_t>(name.size())) != 0 ||
        setsockopt(socket, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes) != 0 ||
        bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0)
      fail("listening at UDP port " + std::to_string(kPort) + " of " + name);
  }
};

class Daemon {
 public:
  explicit Daemon(const Options& options)
      : ports_(open_ports(options.interfaces)),
        names_(options.interfaces),
        router_(complete(options.settings), random_seed(), now()),
        kernel_(devices()),
        debug_(options.debug) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    if (sigprocmask(SIG_BLOCK, &ends, nullptr) != 0) fail("blocking signals");
    signals_ = signalfd(-1, &ends, SFD_CLOEXEC);
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (signals_ < 0 || timer_ < 0) fail("a file for signals or a timer");
    write_setting("ip_forward", '1');
    write_setting("conf/all/send_redirects", '0');
  }

  /// Runs until a signal ends it.
  void run() {
    std::vector<pollfd> watched = {
        {signals_, POLLIN, 0}, {timer_, POLLIN, 0}, {kernel_.descriptor(), POLLIN, 0}};
    const std::size_t first_port = watched.size();
    for (const Port& port : ports_) watched.push_back({port.socket, POLLIN, 0});
    for (;;) {
      for (const Router::Packet& packet : router_.advance(now()))
        ports_[packet.interface].send(packet.bytes);
      publish();
      set_timer();
      if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) fail("waiting");
      if (watched[0].revents != 0) return;
      if (watched[1].revents != 0) rings_at_ = 0;
      if (watched[2].revents != 0 && kernel_.look()) published_.reset();
      for (std::size_t i = 0; i < ports_.size(); ++i)
        if (watched[i + first_port].revents != 0) take(i);
    }
  }

 private:
  static std::vector<Port> open_ports(const std::vector<std::string>& interfaces) {
    std::vector<Port> ports;
    for (const std::string& name : interfaces) ports.emplace_back(name);
    return ports;
  }

  Settings complete(Settings settings) const {
    bool is_own = settings.main == Address{};
    for (const Port& port : ports_) {
      settings.interfaces.push_back(port.address);
      is_own |= port.address == settings.main;
    }
    if (!is_own)
      throw UsageError("--main-address " + text(settings.main) + " is of none of the interfaces");
    if (settings.main == Address{}) settings.main = ports_.front().address;
    return settings;
  }

  std::vector<int> devices() const {
    std::vector<int> devices;
    for (const Port& port : ports_) devices.push_back(port.device);
    return devices;
  }

  void take(std::size_t interface) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t bytes = recvfrom(ports_[interface].socket, buffer_.data(), buffer_.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
    if (bytes < 0) return;  // a network error or a damaged packet
    router_.receive(interface, {ntohl(from.sin_addr.s_addr)},
                    std::span(buffer_).first(static_cast<std::size_t>(bytes)), now());
  }

  void publish() {
    if (debug_) print_changes();
    if (router_.routes() == published_) return;
    for (const std::string& sentence : kernel_.set(router_.routes()))
      std::fprintf(stderr, "olsrd: %s\n", sentence.c_str());
    published_ = router_.routes();
  }

  void print_changes() {
    std::vector<std::string> tables = tables_of(router_, names_);
    printed_.resize(tables.size());
    const Time time = now();
    for (std::size_t i = 0; i < tables.size(); ++i)
      if (tables[i] != printed_[i])
        std::printf("%lld.%06lld %s\n", static_cast<long long>(time / kSecond),
                    static_cast<long long>(time % kSecond / 1000), tables[i].c_str());
    std::fflush(stdout);
    printed_ = std::move(tables);
  }

  /// A time in the past makes the timer expire at once. Most packets do not change the time.
  void set_timer() {
    const Time next = router_.next();
    if (next == rings_at_) return;
    rings_at_ = next;
    const itimerspec at{{}, {next / kSecond, next % kSecond}};
    if (timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0) fail("setting a timer");
  }

  std::vector<Port> ports_;
  const std::vector<std::string> names_;
  Router router_;
  KernelRoutes kernel_;
  const bool debug_;
  int signals_ = -1, timer_ = -1;
  Time rings_at_ = 0;                ///< 0: the timer has expired
  std::optional<Routes> published_;  ///< empty: the routes must be set again
  std::vector<std::string> printed_;
  std::array<std::uint8_t, 65'536> buffer_;
};

int run(int count, char** words) {
  const Options options = read_options(count, words);
  if (options.help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  Daemon(options).run();
  return 0;
}

}  // namespace
}  // namespace orrery::lab::olsr

int main(int count, char** words) {
  try {
    return orrery::lab::olsr::run(count, words);
  } catch (const orrery::lab::olsr::UsageError& error) {
    std::fprintf(stderr, "olsrd: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "olsrd: %s\n", error.what());
    return 1;
  }
}
