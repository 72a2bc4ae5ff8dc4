// SPDX-License-Identifier: Apache-2.0
//
// The device's side of a guest's virtio-net interface: a vhost-user back-end (Vhost-user protocol,
// QEMU project documentation) with two queues and notifications in the same channel, which User
// Mode Linux needs to make them happen at exact virtual times. The device offers no offloads, so
// frames are as on a wire, each in one chain of buffers.
//
// Frames are copied once in each direction: out of the guest's memory, and into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../channel.h"
#include "guest_memory.h"
#include "virtqueue.h"

namespace orrery::lab {

class NetworkDevice {
 public:
  using Address = std::array<std::uint8_t, 6>;
  static constexpr std::size_t kLeastFrameBytes = 14;  ///< of Ethernet, without its checksum

  /// Receives the frames that the guest sends.
  class Port {
   public:
    /// A frame whose buffer `token` belongs to the port until done(token).
    virtual void sent(std::span<const std::byte> frame, std::uint32_t token) = 0;

   protected:
    ~Port() = default;
  };

  /// Packets of the guest have at most `mtu` bytes, in both directions.
  NetworkDevice(const Address& address, std::uint16_t mtu, Port& port)
      : address_(address), mtu_(mtu), port_(port) {}

  void attach(File socket) { channel_ = Channel(std::move(socket)); }
  bool is_attached() const { return channel_.is_open(); }
  int descriptor() const { return channel_.descriptor(); }
  /// On this descriptor the guest answers to interrupts.
  int interrupt_descriptor() const { return interrupts_.descriptor(); }

  /// Receives one message. Throws GuestError for messages that no driver sends.
  void receive();

  /// Puts a frame into queue 0; false if there is no buffer. Check wants_interrupt() after.
  bool deliver(std::span<const std::byte> frame);
  /// The same, but the guest finds the frame only when the used index is set to the returned value.
  std::optional<std::uint16_t> deliver_hidden(std::span<const std::byte> frame);
  /// Takes the chains offered up to `index`, without a message. Throws GuestError.
  void receive_noted(unsigned queue, std::uint16_t index);
  /// Gives a buffer back to the guest, unless the queue has been replaced meanwhile. Check
  /// wants_interrupt() for queue 1 after.
  void done(std::uint32_t token) {
    if (token >> 16 == queues_[kSend].generation())
      queues_[kSend].push(static_cast<std::uint16_t>(token), 0);
  }
  /// Whether the guest wants an interrupt for changes of a queue since the last call.
  bool wants_interrupt(std::uint16_t queue);
  /// Interrupts the guest. Its calendar must be served until the answer on interrupt_descriptor().
  void interrupt(std::uint16_t queue);
  void receive_answer();
  /// Sets the state of the link. Returns true if the guest wants a notice: then call
  /// tell_of_carrier(), which the guest answers like interrupt().
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
