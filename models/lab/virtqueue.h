// SPDX-License-Identifier: Apache-2.0
//
// The device's side of a split virtqueue (Virtual I/O Device version 1.2, OASIS 2022, section 2.7):
// three tables in the guest's memory. The guest offers chains of buffers, we take them in order and
// give them back. The guest is not trusted, and may change the tables at any time: each entry is
// read once, checked, and only the copy is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "guest_memory.h"

namespace orrery::lab {

class Virtqueue {
 public:
  /// Of a queue: more than User Mode Linux asks for, so that a guest cannot have us keep much.
  static constexpr std::uint32_t kMostEntries = 1024;
  /// Of a chain: more than a frame of Linux has.
  static constexpr std::uint32_t kMostParts = 64;
  /// Of a chain: more than the largest frame and its header.
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

  // What the guest sets. Throws GuestError for what cannot be.
  void set_entries(std::uint32_t entries);
  void set_addresses(const Addresses& addresses);
  void set_next(std::uint32_t next) { next_ = static_cast<std::uint16_t>(next); }
  std::uint16_t next() const { return next_; }
  /// Both sides say from which index on they want to hear of the other (VIRTIO_F_EVENT_IDX, section
  /// 2.7.10), instead of yes or no.
  void use_event_index(bool on) { event_index_ = on; }
  void enable(bool on) { enabled_ = on; }
  void reset();

  bool ready() const { return enabled_ && descriptors_ != nullptr; }
  /// Of its tables: another number after each change, so that what belongs to tables that are gone
  /// is not given back to others.
  std::uint16_t generation() const { return generation_; }
  /// The next chain that the guest offers, valid until the next call; nullptr if there is none.
  /// Throws GuestError if it offers more than its queue has before it has any back.
  const Chain* pop();
  /// It is used, and has `bytes` in it that the device has written. Nothing if the tables have
  /// gone.
  void push(std::uint16_t head, std::uint32_t bytes);
  /// The same, but the guest is to find it later, when somebody else sets the index of what is used
  /// to the one that this returns; before anything is pushed.
  std::uint16_t push_hidden(std::uint16_t head, std::uint32_t bytes);
  /// Whether the guest wants to hear of what was pushed since this was asked last.
  bool wants_interrupt();
  /// It is to tell us of the next chain that it offers. With the event index it does not otherwise.
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
  std::uint16_t next_ = 0;       ///< of what is available
  std::uint16_t used_next_ = 0;  ///< the same of what is used, hidden or not
  std::uint16_t told_ = 0;       ///< index of what was used when the guest was asked last
  std::uint16_t generation_ = 0;
  std::uint32_t lent_ = 0;  ///< chains that were taken and not given back
  bool enabled_ = false, event_index_ = false;
  Chain chain_;
};

}  // namespace orrery::lab
