// SPDX-License-Identifier: Apache-2.0
#include "terminal_lp.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace orrery::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeaderBytes = 14, kKindBytes = 4, kMostBytes = RunRecords::kMostTyped;
constexpr std::uint16_t kEtherType = 0x88b5;  ///< for experiments (IEEE 802, 9.2.4)
constexpr char kEscape = 0x1d;                // Ctrl-]
constexpr const char* kHelp =
    "\r\n[Ctrl-] then: p pause or go on, + twice as fast, - half as fast, q leave, Ctrl-] "
    "itself]\r\n";

void show(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string rate_text(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", rate);
  return text;
}

}  // namespace

/// Delivers keys as they are typed, for the lifetime of the object.
class TerminalLp::RawMode {
 public:
  RawMode() {
    is_terminal_ = isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_terminal_) return;
    termios raw = before_;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    show(kHelp);
  }
  ~RawMode() {
    if (is_terminal_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  termios before_{};
  bool is_terminal_ = false;
};

TerminalLp::TerminalLp(const Lab& lab) : lab_(lab), rate_(lab.rate) {}
TerminalLp::~TerminalLp() = default;

void TerminalLp::start(Context& context) {
  const Node& node = *lab_.topology().terminal;
  if (!node.ports.empty()) port_ = lab_.outgoing_of(static_cast<NodeId>(context.self())).front();
  if (lab_.log() != nullptr) repeated_ = lab_.log()->repeated().outside;
  if (lab_.repeated_until_ns() == 0) take_terminal();
  look_again(context, 0);
}

/// The terminal belongs to the run from now on, which follows the clock.
void TerminalLp::take_terminal() {
  if (port_ && !raw_) raw_ = std::make_unique<RawMode>();
  from_ = Clock::now();
}

void TerminalLp::look_again(Context& context, std::int64_t at_ns) {
  context.schedule(context.self(), Duration::from_ticks(at_ns - context.now().ticks()), Look{});
}

std::int64_t TerminalLp::repeat(Context& context) {
  const std::int64_t now = context.now().ticks();
  for (; !repeated_.empty() && repeated_.front().at_ns <= now; repeated_ = repeated_.subspan(1))
    obey(context, repeated_.front());
  return repeated_.empty() ? lab_.repeated_until_ns() : repeated_.front().at_ns;
}

void TerminalLp::turn_to_user(Context& context) {
  is_live_ = true;
  if (lab_.repeated_until_ns() > 0) {
    from_ns_ = context.now().ticks();
    take_terminal();
  }
  if (shell_began_) tell_size(context);
}

void TerminalLp::handle(Context& context, const Look&) {
  if (ended_) return;
  const std::int64_t now = context.now().ticks();
  if (!is_live_) {
    if (const std::int64_t next = repeat(context); next > now) return look_again(context, next);
    turn_to_user(context);
  }
  do {
    if (rate_ > 0) {
      const std::chrono::duration<double, std::nano> due(static_cast<double>(now - from_ns_) /
                                                         rate_);
      wait_until(from_ + std::chrono::duration_cast<Clock::duration>(due));
    }
    if (paused_) wait_until(Clock::now() + std::chrono::hours(1));
    if (port_) take_what_was_typed(context);
  } while (paused_ && !ended_);
  // Every 10 ms of the machine's clock, but at least every 0.1 s of virtual time.
  const double step = rate_ > 0 ? std::min(1e7 * rate_, 1e8) : 1e7;
  look_again(context, now + std::max<std::int64_t>(static_cast<std::int64_t>(step), 1000));
}

bool TerminalLp::wait_until(Clock::time_point time) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()).count();
    if (left <= 0) return true;
    pollfd keys{input_open_ && port_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(&keys, 1, static_cast<int>(std::min<std::int64_t>(left, 1000))) > 0) return false;
  }
}

void TerminalLp::take_what_was_typed(Context& context) {
  pollfd keys{STDIN_FILENO, POLLIN, 0};
  while (input_open_ && !ended_ && typed_.size() < kMostBytes && poll(&keys, 1, 0) > 0) {
    char typed[kMostBytes];
    const ssize_t bytes = read(STDIN_FILENO, typed, sizeof typed);
    if (bytes <= 0) {
      input_open_ = false;
      typed_ += '\x04';  // end of input for the shell
    }
    for (const char key :
         std::string_view(typed, static_cast<std::size_t>(std::max(bytes, ssize_t{0})))) {
      if (expects_key_ && key != kEscape) {
        expects_key_ = false;
        obey(context, key);
      } else if (key == kEscape && !expects_key_ && raw_) {
        expects_key_ = true;
      } else {
        expects_key_ = false;
        typed_ += key;
      }
    }
    tell_typed(context);
  }
  tell_typed(context);
}

void TerminalLp::tell_typed(Context& context) {
  while (shell_began_ && !typed_.empty()) {
    take(context, Outside::Kind::typed, typed_.substr(0, kMostBytes));
    typed_.erase(0, kMostBytes);
  }
}

void TerminalLp::obey(Context& context, char key) {
  from_ns_ = context.now().ticks();
  from_ = Clock::now();
  if (key == 'q') return end();
  if (key == 'p') paused_ = !paused_;
  if (key == '+' || key == '-')
    take(context, Outside::Kind::rate, rate_text(key == '+' ? rate_ * 2 : rate_ / 2));
  char text[96];
  std::snprintf(text, sizeof text, "\r\n[%s at %.3f s, %g virtual seconds a second]\r\n",
                paused_ ? "paused" : "runs", static_cast<double>(from_ns_) / 1e9, rate_);
  show(key == 'p' || key == '+' || key == '-' ? text : kHelp);
}

void TerminalLp::take(Context& context, Outside::Kind kind, std::string bytes) {
  const Outside outside{context.now().ticks(), kind, std::move(bytes)};
  if (lab_.log() != nullptr) lab_.log()->add(outside);
  obey(context, outside);
}

void TerminalLp::obey(Context& context, const Outside& outside) {
  if (outside.kind == Outside::Kind::rate) {
    if (is_live_) rate_ = std::strtod(outside.bytes.c_str(), nullptr);
  } else if (port_) {
    tell(context, outside.kind == Outside::Kind::size ? Kind::size : Kind::bytes, outside.bytes);
  }
}

void TerminalLp::tell(Context& context, Kind kind, std::string_view bytes) {
  std::byte frame[kHeaderBytes + kKindBytes + kMostBytes]{};
  std::memset(frame, 0xff, 6);  // broadcast: to the other end of the link
  frame[6] = std::byte{2};
  const std::uint16_t words[3] = {htons(kEtherType), htons(static_cast<std::uint16_t>(kind)),
                                  htons(static_cast<std::uint16_t>(bytes.size()))};
  std::memcpy(frame + 12, words, sizeof words);
  std::memcpy(frame + kHeaderBytes + kKindBytes, bytes.data(), bytes.size());
  lab_.send(context, *port_, context.now().ticks(),
            std::span(frame).first(kHeaderBytes + kKindBytes + bytes.size()));
}

void TerminalLp::tell_size(Context& context) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return;
  const char bytes[4] = {static_cast<char>(size.ws_row >> 8), static_cast<char>(size.ws_row),
                         static_cast<char>(size.ws_col >> 8), static_cast<char>(size.ws_col)};
  take(context, Outside::Kind::size, {bytes, sizeof bytes});
}

void TerminalLp::handle(Context& context, const Arrival&, std::span<const std::byte> frame) {
  if (frame.size() < kHeaderBytes + kKindBytes || ended_) return;
  std::uint16_t words[3];
  std::memcpy(words, frame.data() + 12, sizeof words);
  const std::size_t bytes = ntohs(words[2]);
  const auto rest = frame.subspan(kHeaderBytes + kKindBytes);
  if (ntohs(words[0]) != kEtherType || bytes > rest.size()) return;
  if (!std::exchange(shell_began_, true) && is_live_) tell_size(context);
  if (static_cast<Kind>(ntohs(words[1])) == Kind::bytes)
    show({reinterpret_cast<const char*>(rest.data()), bytes});
  if (static_cast<Kind>(ntohs(words[1])) == Kind::end) end();
}

/// Ends the run like Ctrl-C.
void TerminalLp::end() {
  ended_ = true;
  if (lab_.log() != nullptr) lab_.log()->end();
  raw_.reset();
  kill(getpid(), SIGINT);
}

}  // namespace orrery::lab
