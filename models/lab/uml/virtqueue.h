// SPDX-License-Identifier: Apache-2.0
//
// The device's side of a split virtqueue (Virtual I/O Device version 1.2, OASIS 2022, section 2.7):
// three tables in the guest's memory. The guest offers chains of buffers; the device takes them in
// order and gives them back. The guest is not trusted and may change the tables at any time. So
// each entry is read once, checked, and only the copy is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "guest_memory.h"

namespace orrery::lab {

class Virtqueue {
 public:
  /// Limit of a queue: more than User Mode Linux asks for; it limits the memory used for a guest.
  static constexpr std::uint32_t kMostEntries = 1024;
  /// Limit of a chain: more than a frame of Linux has.
  static constexpr std::uint32_t kMostParts = 64;
  /// Limit of a chain: more than the largest frame and its header.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 10;

  struct Part {
    std::byte* data;
    std::uint32_t bytes;
    bool writable;  ///< by the device
  };
  struct Chain {
    std::uint16_t head = 0;
    std::vector<Part> parts;
  };
  struct Addresses {
    std::uint64_t descriptors, available, used;
  };

  explicit Virtqueue(const GuestMemory& memory) : memory_(memory) {}

  // Settings from the guest. Throw GuestError for impossible values.
  void set_entries(std::uint32_t entries);
  void set_addresses(const Addresses& addresses);
  void set_next(std::uint32_t next) { next_ = static_cast<std::uint16_t>(next); }
  std::uint16_t next() const { return next_; }
  /// Turns VIRTIO_F_EVENT_IDX (section 2.7.10) on or off: each side gives the index from which it
  /// wants notifications, instead of a flag.
  void use_event_index(bool on) { event_index_ = on; }
  void enable(bool on) { enabled_ = on; }
  void reset();

  bool ready() const { return enabled_ && descriptors_ != nullptr; }
  /// Number of the present tables. It changes with each change of the tables, so that chains of old
  /// tables are not given back to new ones.
  std::uint16_t generation() const { return generation_; }
  /// The next chain that the guest offers, valid until the next call; nullptr if there is none.
  /// Throws GuestError if the guest offers more chains than its queue can have.
  const Chain* pop();
  /// Gives a used chain back, with `bytes` that the device has written to it. Does nothing if the
  /// tables have gone.
  void push(std::uint16_t head, std::uint32_t bytes);
  /// The same, but the guest finds the chain only when another party sets the used index to the
  /// returned value. This must happen before the next push().
  std::uint16_t push_hidden(std::uint16_t head, std::uint32_t bytes);
  /// Whether the guest wants an interrupt for the chains given back since the last call.
  bool wants_interrupt();
  /// Asks the guest for a notice of its next chain, which the event index would suppress.
  void want_notice();

 private:
  struct Descriptor {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint16_t flags, next;
  };
  static_assert(sizeof(Descriptor) == 16);

  std::uint16_t add_used(std::uint16_t head, std::uint32_t bytes);

  const GuestMemory& memory_;
  std::uint32_t entries_ = 0;
  std::byte *descriptors_ = nullptr, *available_ = nullptr, *used_ = nullptr;
  std::uint16_t next_ = 0;       ///< index in the available ring
  std::uint16_t used_next_ = 0;  ///< index in the used ring, hidden chains included
  std::uint16_t told_ = 0;       ///< used index up to which interrupts have been decided
  std::uint16_t generation_ = 0;
  std::uint32_t lent_ = 0;  ///< chains taken and not yet given back
  bool enabled_ = false, event_index_ = false;
  Chain chain_;
};

}  // namespace orrery::lab
