// SPDX-License-Identifier: Apache-2.0
#include "host_lp.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "guest_error.h"

namespace orrery::lab {
namespace {

/// Makes a line of a host's console safe to print on the user's terminal.
std::string printable(std::string line) {
  constexpr std::size_t kMost = 200;
  if (line.size() > kMost) line = line.substr(0, kMost) + "...";
  if (line.ends_with('\r')) line.pop_back();
  for (char& letter : line)
    if ((static_cast<unsigned char>(letter) < ' ' && letter != '\t') || letter == '\x7f')
      letter = '?';
  return line;
}

}  // namespace

HostLp::HostLp(const Lab& lab, NodeId id)
    : lab_(lab), id_(id), ports_(lab.outgoing_of(id)), frames_sent_(lab.log(), host().name) {}

void HostLp::start(Context& context) {
  context_ = &context;
  if (id_ == 0 && lab_.log() != nullptr) lab_.log()->begin(context.horizon().ticks());
  const std::filesystem::path folder = lab_.folder_of(id_);
  console_ = folder / "console";
  for (unsigned i = 0; i < host().ports.size(); ++i)
    captures_.push_back(
        host().ports[i].capture
            ? std::make_unique<Capture>(folder / ("eth" + std::to_string(i) + ".pcap"))
            : nullptr);
  in_guest([&] { guest_ = lab_.machine_of(id_).start(id_, lab_.random_key_of(id_), *this); });
  tell_carrier();
  context.schedule(id_, Duration::zero(), Wake{});
}

/// Schedules all changes of the host's links, which are known from the beginning.
void HostLp::tell_carrier() {
  for (unsigned device = 0; device < ports_.size(); ++device) {
    const Wire& wire = ports_[device].wire();
    bool is_up = true;
    for (const Phase& phase : wire.phases) {
      if (guest_ && wire.tells_carrier && phase.up != is_up)
        guest_->carrier(device, clock().to_host(phase.from_ns), phase.up);
      is_up = phase.up;
    }
  }
}

void HostLp::handle(Context& context, const Wake&) {
  context_ = &context;
  wake_.rang();
  const std::int64_t until = std::min(now_ns() + lab_.window_ns(id_), context.horizon().ticks());
  run(until);
  note_spread(until);
  wake_for_next();
}

void HostLp::handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame) {
  context_ = &context;
  const std::int64_t at = now_ns() + arrival.wait_ns;
  if (!guest_ || at >= std::min(host().crash_ns, context.horizon().ticks())) return;
  if (captures_[arrival.port] && at >= lab_.captures_from_ns())
    captures_[arrival.port]->received(at, frame);
  in_guest([&] {
    guest_->arrive(arrival.port, clock().to_host(at), {frame.begin(), frame.end()});
  });
  wake_for_next();
}

void HostLp::finish(FinalContext& context) {
  if (guest_) note_counts(context.now().ticks());
  context.record(lab_.refused, static_cast<double>(refused_));
  if (work_) emit_work(context);
  captures_.clear();
  end_guest();
  add_console_to(context);
}

void HostLp::add_console_to(FinalContext& context) const {
  std::ifstream file(console_, std::ios::binary);
  for (std::uint64_t word = 0;
       file.read(reinterpret_cast<char*>(&word), sizeof word) || file.gcount() > 0; word = 0)
    context.state(word);
}

/// Runs the host before `until`.
void HostLp::run(std::int64_t until) {
  if (!guest_) return;
  until = std::min(until, host().crash_ns);
  in_guest([&] { guest_->advance(clock().host_before(until)); });
  if (!guest_) return;
  for (const auto& one : captures_)
    if (one) one->passed(guest_->is_up() ? until : last_ns());
  check_repetition(guest_->is_up() ? until : Guest::kNever);
  if (!guest_->is_up()) {
    ended(End::off, last_ns());
  } else if (until == host().crash_ns) {
    ended(End::crash, until);
  }
}

/// A run that goes on from another state than that of the run that it repeats is worth nothing.
void HostLp::check_repetition(std::int64_t passed_ns) {
  if (frames_sent_.passed(passed_ns)) return;
  throw ModelFault("host " + host().name +
                   " does something else than in the run that is repeated, in " + "'" +
                   lab_.again.folder.value() + "', at or before " +
                   std::to_string(static_cast<double>(std::min(passed_ns, last_ns())) / 1e9) +
                   " s: programs or libraries of this machine that hosts use may have changed");
}

void HostLp::note_spread(std::int64_t until) const {
  if (lab_.spread() == nullptr) return;
  if (guest_ && next_ns() < until + lab_.window_ns(id_)) {
    lab_.spread()->executed(id_, until);
  } else {
    lab_.spread()->idle(id_);
  }
}

void HostLp::ended(End how, std::int64_t at, std::string_view why) {
  context_->emit(lab_.ends, at, static_cast<int>(how), why);
  note_counts(at);
  end_guest();
}

void HostLp::note_counts(std::int64_t at) {
  up_ns_ = at;
  refused_ = guest_->dropped();
  work_ = guest_->work(clock().to_host(at));
}

void HostLp::emit_work(FinalContext& context) const {
  const auto seconds = [](std::int64_t ns) { return Duration::from_ticks(ns).to_seconds(); };
  const auto a_second = static_cast<double>(host().qemu.instructions_per_s);
  context.state(work_->instructions);
  context.emit(lab_.computed, work_->instructions,
               static_cast<double>(work_->instructions) / a_second, seconds(up_ns_),
               seconds(work_->cards_on_ns));
}

/// Throws ModelFault if not all results could be kept.
void HostLp::end_guest() {
  if (!guest_) return;
  const bool all_kept = guest_->end();
  guest_.reset();
  if (!all_kept)
    throw ModelFault("host " + host().name + ": not all that it left in /out could be kept" +
                     console_end());
}

std::int64_t HostLp::sent(unsigned device, std::int64_t host_time,
                          std::span<const std::byte> frame) {
  const std::int64_t time = clock().to_simulation(host_time);
  if (captures_[device] && time >= lab_.captures_from_ns()) captures_[device]->sent(time, frame);
  frames_sent_.sent(time, device, frame);
  context_->hash_bytes(frame);
  const Outgoing::Passage passage = lab_.send(*context_, ports_[device], time, frame);
  context_->record(lab_.frames, static_cast<double>(frame.size()));
  context_->emit(lab_.traffic, time, passage.arrives() ? passage.arrival_ns : 0, device,
                 ports_[device].wire().node, frame.size(), static_cast<int>(passage.fate));
  return clock().to_host(passage.free_ns);
}

/// Sets the timer to the host's next action.
void HostLp::wake_for_next() {
  std::int64_t next = guest_ ? next_ns() : Guest::kNever;
  if (guest_) next = std::min(next, host().crash_ns);
  wake_.set(*context_, next);
}

/// Executes `action`. A guest that fails ends the run, unless the topology permits it.
template <class Action>
void HostLp::in_guest(Action&& action) {
  try {
    action();
  } catch (const GuestGivenUp& error) {
    lab_.note_given_up(id_, error.what());
    ended_wrongly(error);
  } catch (const GuestError& error) {
    ended_wrongly(error);
  } catch (const std::length_error& error) {
    throw ModelFault("host " + host().name + ": " + error.what() +
                     "; --set folder= can be shorter");
  }
}

void HostLp::ended_wrongly(const GuestError& error) {
  if (!host().may_end || !guest_)
    throw ModelFault("host " + host().name + ": " + error.what() + console_end());
  ended(End::disorder, last_ns(), error.what());
}

std::vector<std::string> HostLp::console_lines(std::size_t most) const {
  constexpr std::streamoff kMostBytes = 65'536;  // a host may write any amount
  std::ifstream file(console_, std::ios::ate);
  file.seekg(std::max<std::streamoff>(file.tellg() - kMostBytes, 0));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(printable(line));
    if (line.starts_with("Kernel panic")) break;
  }
  lines.erase(lines.begin(),
              lines.end() - static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
  return lines;
}

std::string HostLp::console_end() const {
  std::string text;
  for (const std::string& line : console_lines(5)) text += "\n  " + line;
  return text.empty() ? "; its console shows nothing" : "; its console ends with" + text;
}

}  // namespace orrery::lab
