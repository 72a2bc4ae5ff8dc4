// SPDX-License-Identifier: Apache-2.0
#include "uml_guest.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "../core.h"
#include "../guest_error.h"

namespace orrery::lab {
namespace {

pollfd watch(int descriptor) {
  return {descriptor, POLLIN, 0};
}

}  // namespace

struct UmlGuest::Port final : NetworkDevice::Port {
  Port(UmlGuest& of, unsigned number) : guest(of), device(number) {}
  void sent(std::span<const std::byte> frame, std::uint32_t token) override {
    guest.sent(device, frame, token);
  }
  UmlGuest& guest;
  const unsigned device;
};

UmlGuest::UmlGuest(const UmlSettings& settings, Network& network)
    : network_(network), calendar_(settings.start_of_day_ns), timeout_(settings.patience) {
  time_ = std::make_unique<Listener>(settings.time_socket());
  for (unsigned i = 0; i < settings.devices.size(); ++i) {
    ports_.push_back(std::make_unique<Port>(*this, i));
    sending_.push_back(0);
    devices_.push_back(std::make_unique<NetworkDevice>(settings.devices[i].address,
                                                       settings.devices[i].mtu, *ports_[i]));
    listeners_.push_back(std::make_unique<Listener>(settings.device_socket(i)));
  }
  process_ = std::make_unique<GuestProcess>(uml_command(settings));
}

UmlGuest::~UmlGuest() = default;

// ---- Time

void UmlGuest::add(Due&& due) {
  due.order = order_++;
  calendar_.limit(due.time);
  due_.push(std::move(due));
}

void UmlGuest::arrive(unsigned device, std::int64_t time, std::vector<std::byte> frame) {
  add({time, 0, device, Due::Kind::frame, 0, std::move(frame)});
}

void UmlGuest::carrier(unsigned device, std::int64_t time, bool up) {
  add({time, 0, device, up ? Due::Kind::link_up : Due::Kind::link_down, 0, {}});
}

void UmlGuest::sent(unsigned device, std::span<const std::byte> frame, std::uint32_t token) {
  add({network_.sent(device, sending_ns_, frame), 0, device, Due::Kind::buffer, token, {}});
  ++sending_[device];
}

std::int64_t UmlGuest::next() const {
  if (!up_) return kNever;
  return calendar_.waits() ? std::min(next_due(), wake()) : 0;
}

void UmlGuest::advance(std::int64_t until) {
  if (!up_ || next() >= until) return;
  const StayOnCore here;
  if (here.core() >= 0 && here.core() != core_) move_to_core(process_->id(), core_ = here.core());
  try {
    if (up_ && !calendar_.is_attached()) begin();
    while (up_ && next() < until) {
      give_frames(until);
      if (next_due() <= wake()) {
        do_next();
      } else {
        calendar_.set_quiet(quiet_devices());
        calendar_.run(wake(), std::min(until, next_due()));
        owed_ = kNever;
        run();
      }
    }
  } catch (const GuestGone&) {
    up_ = false;
    calendar_.now();
    if (!calendar_.was_switched_off()) throw GuestError("it has ended without being switched off");
  }
}

/// Waits until one of the descriptors can be read; returns its index.
std::size_t UmlGuest::wait_for(std::span<pollfd> all) {
  for (;;) {
    const int ready = poll(all.data(), all.size(), static_cast<int>(GuestTimeout::kPeriod.count()));
    if (ready < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    look();
    for (std::size_t i = 0; i < all.size() && ready > 0; ++i)
      if (all[i].revents != 0) return i;
  }
}

/// Throws GuestGivenUp if the guest should not be waited for any longer. Its messages alone do not
/// show that it gets on: it also stops at the end of each window, and a program that writes while it
/// computes moves the time by a reading of the clock each time.
void UmlGuest::look() {
  constexpr std::int64_t kTickNs = 10'000'000;
  if (calendar_.reached() - got_on_at_ >= kTickNs) got_on();
  timeout_.check(process_->id());
}

void UmlGuest::got_on() {
  got_on_at_ = calendar_.reached();
  timeout_.got_on();
}

/// The guest has been started: runs it until it waits for the first time.
void UmlGuest::begin() {
  std::array coming{watch(time_->descriptor()), watch(process_->descriptor())};
  if (wait_for(coming) != 0) throw GuestError("it could not be started");
  calendar_.attach(time_->accept());
  time_.reset();
  watched_.push_back(watch(calendar_.descriptor()));
  for (const auto& listener : listeners_) watched_.push_back(watch(listener->descriptor()));
  run();
}

/// Devices with frames on their way out, which will get a buffer back. Further frames of such a
/// device may be taken when the guest stops: the guest stops when the buffer comes back at the
/// latest, and later frames leave later.
std::uint32_t UmlGuest::quiet_devices() const {
  std::uint32_t devices = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(sending_.size(), 32); ++i)
    if (sending_[i] > 0) devices |= std::uint32_t{1} << i;
  return devices;
}

void UmlGuest::take_notices() {
  while (const auto notice = calendar_.next_notice()) {
    if (notice->device >= devices_.size()) throw GuestError("it notes about a device it has not");
    sending_ns_ = notice->time;
    devices_[notice->device]->receive_noted(notice->queue, notice->index);
  }
}

/// Puts the frames that arrive before `until` into the guest's buffers. The guest finds each frame
/// at its time (kernel/lab_shared.h), so it need not stop for each. Frames without a buffer stay in
/// due_.
void UmlGuest::give_frames(std::int64_t until) {
  while (!due_.empty() && due_.top().kind == Due::Kind::frame && due_.top().time < until &&
         calendar_.takes_arrival(due_.top().device)) {
    const Due& due = due_.top();
    const auto index = devices_[due.device]->deliver_hidden(due.frame);
    if (!index) return;
    calendar_.arrival(due.time, due.device, *index);
    due_.pop();
  }
}

/// Whether a guest that has stopped has nothing to do. One that was stopped in a computation stands at
/// its limit, and wants to go on after the reading of a clock or the system call that it is at.
bool UmlGuest::is_idle() const {
  constexpr std::int64_t kSoonNs = 100'000;
  return calendar_.requested() - calendar_.limit() > kSoonNs;
}

/// Serves the guest until it waits.
void UmlGuest::run() {
  while (!calendar_.waits()) {
    const std::size_t ready = wait_for(watched_);
    take_notices();
    if (ready == 0) {
      calendar_.receive();
    } else {
      accept_or_receive(static_cast<unsigned>(ready - 1));
    }
  }
  if (is_idle()) got_on();
}

void UmlGuest::accept_or_receive(unsigned device) {
  sending_ns_ = calendar_.now();
  if (devices_[device]->is_attached()) return devices_[device]->receive();
  devices_[device]->attach(listeners_[device]->accept());
  watched_[device + 1] = watch(devices_[device]->descriptor());
}

/// Executes the next Due while the guest waits.
void UmlGuest::do_next() {
  const Due due = std::move(const_cast<Due&>(due_.top()));
  due_.pop();
  calendar_.hold(due.time);
  NetworkDevice& device = *devices_[due.device];
  if (due.kind <= Due::Kind::link_up) {
    return change_carrier(due.device, due.kind == Due::Kind::link_up);
  } else if (due.kind == Due::Kind::frame) {
    if (!device.deliver(due.frame)) {
      ++dropped_;
      return;
    }
  } else {
    device.done(due.token);
    --sending_[due.device];
  }
  const std::uint16_t queue = due.kind == Due::Kind::frame ? 0 : 1;
  if (!device.wants_interrupt(queue)) return;
  if (calendar_.interrupt(due.device, queue)) {
    owed_ = due.time;
  } else {
    interrupt(due.device, queue);
  }
}

void UmlGuest::interrupt(unsigned device, std::uint16_t queue) {
  devices_[device]->interrupt(queue);
  await_answer(device);
}

void UmlGuest::change_carrier(unsigned device, bool up) {
  if (!devices_[device]->set_carrier(up)) return;
  devices_[device]->tell_of_carrier();
  await_answer(device);
}

/// Waits for the answer to an interrupt. Meanwhile the guest asks its calendar for the time to run.
void UmlGuest::await_answer(unsigned index) {
  NetworkDevice& device = *devices_[index];
  for (;;) {
    std::array all{watch(calendar_.descriptor()), watch(device.interrupt_descriptor())};
    if (wait_for(std::span(all)) == 1) return device.receive_answer();
    calendar_.receive();
  }
}

}  // namespace orrery::lab
