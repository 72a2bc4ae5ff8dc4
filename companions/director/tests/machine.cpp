// SPDX-License-Identifier: Apache-2.0
//
// What the tests of `orrery director net` start in place of QEMU: a process with a console, a control
// and cards on the sockets that the director gives QEMU, and a thread that is named as a virtual
// processor. What the processor does is the last argument:
//
//   echo         computes, and answers each frame
//   ping         computes, sends a frame to all, waits for an answer (if none comes, it sends again), and
//                so on; tells each tenth
//   sleepy-echo, sleepy-ping   the same, but sleeps while it waits
//   flood        sends as many frames as it can
//   garbage      sends frames of all lengths with random bytes
//   sleep        does nothing
//   end          ends when it gets a frame
//   fail         says something and ends at once
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

using Frame = std::array<unsigned char, 65536>;
using Clock = std::chrono::steady_clock;
constexpr ssize_t kHeader = 14;
constexpr int kPatienceMs = 100;  // for an answer

int console = -1, control = -1, card = -1;
std::string task;
std::atomic<bool> is_stopped = false;

bool task_has(std::string_view word) {
  return task.find(word) != std::string::npos;
}

void say(std::string_view text) {
  if (write(console, text.data(), text.size()) < 0) _exit(1);
}

/// A frame to all with the source address 2:0:0:0:0:`from`.
Frame frame_from(unsigned char from) {
  Frame frame{};
  for (std::size_t i = 0; i < 6; ++i) frame[i] = 255;
  frame[6] = 2;
  frame[11] = from;
  frame[12] = 0x88;
  frame[13] = 0xb5;
  return frame;
}

ssize_t receive(Frame& frame) {
  pollfd watched = {.fd = card, .events = POLLIN, .revents = 0};
  if (task_has("sleepy")) poll(&watched, 1, kPatienceMs);
  return recv(card, frame.data(), frame.size(), MSG_DONTWAIT);
}

void stand_while_stopped() {
  while (is_stopped) usleep(1000);
}

[[noreturn]] void echo() {
  Frame frame;
  const Frame own = frame_from(1);
  for (;;) {
    stand_while_stopped();
    const ssize_t bytes = receive(frame);
    if (bytes < kHeader) continue;
    for (std::size_t i = 0; i < 6; ++i) {
      frame[i] = frame[i + 6];
      frame[i + 6] = own[i + 6];
    }
    send(card, frame.data(), std::size_t(bytes), 0);
  }
}

[[noreturn]] void ping() {
  const Frame frame = frame_from(2);
  Frame answer;
  for (unsigned count = 1;; ++count) {
    stand_while_stopped();
    send(card, frame.data(), 60, 0);
    auto last = Clock::now();
    while (receive(answer) < kHeader) {
      if (Clock::now() < last + std::chrono::milliseconds(kPatienceMs)) continue;
      send(card, frame.data(), 60, 0);
      last = Clock::now();
    }
    if (count % 10 == 0) say("ten answers\n");
  }
}

[[noreturn]] void flood() {
  const Frame frame = frame_from(3);
  for (;;) send(card, frame.data(), 1514, 0);
}

[[noreturn]] void send_garbage() {
  Frame frame{};
  std::uint32_t state = 1;
  for (;;) {
    for (std::size_t i = 0; i < 64; ++i) {
      state = state * 1664525U + 1013904223U;
      frame[i] = static_cast<unsigned char>(state >> 24);
    }
    send(card, frame.data(), state % frame.size(), 0);
    usleep(100);
  }
}

void process() {
  prctl(PR_SET_NAME, "CPU 0/TCG");
  say("ready\n");
  if (task_has("echo")) echo();
  if (task_has("ping")) ping();
  if (task == "flood") flood();
  if (task == "garbage") send_garbage();
  if (task == "end") {
    Frame frame;
    while (recv(card, frame.data(), frame.size(), 0) < kHeader) {
    }
    _exit(7);
  }
  for (;;) pause();
}

/// The number after `name` in a word that begins with `begin`, or `otherwise`.
int number_in(std::string_view word, std::string_view begin, std::string_view name, int otherwise) {
  const std::size_t found = word.find(name);
  if (!word.starts_with(begin) || found == std::string_view::npos) return otherwise;
  return std::atoi(word.data() + found + name.size());
}

void obey_control() {
  std::array<char, 4096> order;
  for (ssize_t bytes; (bytes = recv(control, order.data(), order.size(), 0)) > 0;) {
    const std::string_view text(order.data(), std::size_t(bytes));
    if (text.find("\"stop\"") != std::string_view::npos) {
      is_stopped = true;
      say("stopped\n");
    }
    if (text.find("\"cont\"") != std::string_view::npos) {
      is_stopped = false;
      say("goes on\n");
    }
  }
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    console = number_in(words[i], "socket,id=console", "fd=", console);
    control = number_in(words[i], "socket,id=control", "fd=", control);
    card = number_in(words[i], "dgram,id=wire0", "str=", card);
  }
  task = words[count - 1];
  if (task == "fail") {
    std::fputs("the disk is on fire\n", stderr);
    return 3;
  }
  std::thread(process).detach();
  obey_control();
  _exit(0);
}
