// SPDX-License-Identifier: Apache-2.0
//
// A network interface of a guest, as its virtio-net device sees it: a vhost-user back-end
// (Vhost-user protocol, QEMU project documentation) with two queues and notifications in the same
// channel, which is what User Mode Linux needs for them to happen at exact virtual times. Offers no
// offloads, so frames are what would be on a wire, each in one chain of buffers.
//
// Frames are copied once: from the guest's memory to who takes them, and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "channel.h"
#include "guest_memory.h"
#include "virtqueue.h"

namespace orrery::lab {

class NetworkDevice {
 public:
  using Address = std::array<std::uint8_t, 6>;
  static constexpr std::size_t kLeastFrameBytes = 14;  ///< of Ethernet, without its checksum

  /// Takes what the guest sends.
  class Port {
   public:
    /// A frame whose buffer is `token`, until done(token).
    virtual void sent(std::span<const std::byte> frame, std::uint32_t token) = 0;

   protected:
    ~Port() = default;
  };

  /// The guest sends and takes packets of `mtu` bytes at most.
  NetworkDevice(const Address& address, std::uint16_t mtu, Port& port)
      : address_(address), mtu_(mtu), port_(port) {}

  void attach(File socket) { channel_ = Channel(std::move(socket)); }
  bool is_attached() const { return channel_.is_open(); }
  int descriptor() const { return channel_.descriptor(); }
  /// Where the guest answers to interrupts.
  int interrupt_descriptor() const { return interrupts_.descriptor(); }

  /// Takes one message. Throws GuestError for what no driver sends.
  void receive();

  /// A frame for the guest; false if it has no buffer for it. Queue 0 may want an interrupt then.
  bool deliver(std::span<const std::byte> frame);
  /// The same, but the guest finds it when the index of the queue is set to what this returns.
  std::optional<std::uint16_t> deliver_hidden(std::span<const std::byte> frame);
  /// Takes what the guest has offered to a queue up to `index`, without a message. Throws.
  void receive_noted(unsigned queue, std::uint16_t index);
  /// The guest may use that buffer again, unless the queue is another by now. Queue 1 may want an
  /// interrupt then.
  void done(std::uint32_t token) {
    if (token >> 16 == queues_[kSend].generation())
      queues_[kSend].push(static_cast<std::uint16_t>(token), 0);
  }
  /// Whether the guest wants to hear of what happened to a queue since this was asked last.
  bool wants_interrupt(std::uint16_t queue);
  /// Tells it: an answer comes at interrupt_descriptor(), while which its time must be served.
  void interrupt(std::uint16_t queue);
  void receive_answer();
  /// Its link goes down or up. True if the guest wants to hear of it: tell_of_carrier(), with an
  /// answer as to interrupt().
  bool set_carrier(bool up);
  void tell_of_carrier();

 private:
  static constexpr std::size_t kReceive = 0, kSend = 1;
  struct Header {
    std::uint32_t request, flags, bytes;
  };
  struct Request {
    Header header{};
    std::array<std::byte, 512> payload;
    std::vector<File> files;

    template <class Payload>
    Payload as() const;
  };

  void take(Request& request);
  void set_memory(const Request& request);
  void set_queue(const Request& request);
  void send_frames();
  void send_frame(const Virtqueue::Chain& chain);
  static std::uint32_t fill(const Virtqueue::Chain& chain, std::span<const std::byte> frame);
  void answer_config(const Request& request) const;
  void answer_bytes(const Header& header, std::span<const std::byte> payload) const;
  template <class Payload>
  void answer(const Header& header, const Payload& payload) const {
    answer_bytes(header, std::as_bytes(std::span(&payload, 1)));
  }
  Virtqueue& queue(std::uint32_t index);

  const Address address_;
  const std::uint16_t mtu_;
  Port& port_;
  Channel channel_, interrupts_;
  GuestMemory memory_;
  std::array<Virtqueue, 2> queues_{Virtqueue(memory_), Virtqueue(memory_)};
  std::vector<std::byte> frame_;
  bool carrier_ = true;
};

}  // namespace orrery::lab
