// SPDX-License-Identifier: Apache-2.0
#include "network_device.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "../guest_error.h"

namespace orrery::lab {
namespace {

enum RequestKind : std::uint32_t {
  kGetFeatures = 1,
  kSetFeatures = 2,
  kSetOwner = 3,
  kSetMemory = 5,
  kSetQueueEntries = 8,
  kSetQueueAddresses = 9,
  kSetQueueNext = 10,
  kGetQueueNext = 11,
  kGetProtocolFeatures = 15,
  kSetProtocolFeatures = 16,
  kEnableQueue = 18,
  kSetInterruptChannel = 21,
  kGetConfig = 24,
  kKick = 35
};
constexpr std::uint32_t kConfigChanged = 2, kCall = 4;  ///< requests from the device

constexpr std::uint32_t kVersion = 1, kIsAnswer = 4, kWantsAnswer = 8;  ///< a header's flags
constexpr std::uint64_t kEventIndex = std::uint64_t{1} << 29;
constexpr std::uint64_t kFeatures = kEventIndex | std::uint64_t{1} << 30 |  // protocol features
                                    std::uint64_t{1} << 32 |         // version 1 of the standard
                                    std::uint64_t{1} << 5 |          // the device gives its address
                                    std::uint64_t{1} << 3 |          // its longest packet
                                    std::uint64_t{1} << 16;          // and whether its link is up
constexpr std::uint64_t kProtocolFeatures = std::uint64_t{1} << 3 |  // answers to all requests
                                            std::uint64_t{1} << 5 |  // requests from the device
                                            std::uint64_t{1} << 9 |  // the device's configuration
                                            std::uint64_t{1} << 14;  // notifications as messages

struct QueueState {
  std::uint32_t index, value;
};
struct QueueAddresses {
  std::uint32_t index, flags;
  std::uint64_t descriptors, used, available, log;
};
struct MemoryRegion {
  std::uint64_t guest_address, bytes, user_address, file_offset;
};
struct Config {
  std::uint32_t offset, bytes, flags;
};

/// virtio_net_hdr_v1. Without offloads all members are zero except the number of buffers.
struct FrameHeader {
  std::uint8_t flags = 0, segmentation = 0;
  std::uint16_t header_bytes = 0, segment_bytes = 0, checksum_begin = 0, checksum_at = 0;
  std::uint16_t buffers = 1;
};
static_assert(sizeof(FrameHeader) == 12);

}  // namespace

template <class Payload>
Payload NetworkDevice::Request::as() const {
  if (header.bytes < sizeof(Payload)) throw GuestError("a request of its device is too short");
  Payload value;
  std::memcpy(&value, payload.data(), sizeof value);
  return value;
}

Virtqueue& NetworkDevice::queue(std::uint32_t index) {
  if (index >= queues_.size()) throw GuestError("its device has no queue " + std::to_string(index));
  return queues_[index];
}

void NetworkDevice::answer_bytes(const Header& header, std::span<const std::byte> payload) const {
  std::vector<std::byte> message(sizeof(Header) + payload.size());
  const Header own{header.request, kVersion | kIsAnswer,
                   static_cast<std::uint32_t>(payload.size())};
  std::memcpy(message.data(), &own, sizeof own);
  std::memcpy(message.data() + sizeof own, payload.data(), payload.size());
  channel_.send(message);
}

void NetworkDevice::receive() {
  Request request;
  channel_.receive(std::as_writable_bytes(std::span(&request.header, 1)), request.files);
  if (request.header.bytes > request.payload.size())
    throw GuestError("a request of its device is too long");
  channel_.receive(std::span(request.payload).first(request.header.bytes));
  take(request);
}

void NetworkDevice::take(Request& request) {
  switch (request.header.request) {
    case kGetFeatures:
      return answer(request.header, kFeatures);
    case kGetProtocolFeatures:
      return answer(request.header, kProtocolFeatures);
    case kGetConfig:
      return answer_config(request);
    case kGetQueueNext: {
      const auto state = request.as<QueueState>();
      queue(state.index).enable(false);
      return answer(request.header, QueueState{state.index, queue(state.index).next()});
    }
    case kSetFeatures:
      for (Virtqueue& one : queues_)
        one.use_event_index((request.as<std::uint64_t>() & kEventIndex) != 0);
      break;
    case kSetProtocolFeatures:
    case kSetOwner:
      break;
    case kSetMemory:
      set_memory(request);
      break;
    case kSetQueueEntries:
    case kSetQueueAddresses:
    case kSetQueueNext:
    case kEnableQueue:
      set_queue(request);
      break;
    case kSetInterruptChannel:
      if (request.files.size() != 1) throw GuestError("its device has no channel for interrupts");
      interrupts_ = Channel(std::move(request.files.front()));
      break;
    case kKick:
      if (request.as<QueueState>().index == kSend) send_frames();
      break;
    default:
      throw GuestError("its device sent a request " + std::to_string(request.header.request) +
                       ", which was not offered");
  }
  if ((request.header.flags & kWantsAnswer) != 0) answer(request.header, std::uint64_t{0});
}

void NetworkDevice::set_memory(const Request& request) {
  const auto count = request.as<std::uint32_t>();
  constexpr std::size_t kFirst = 8;
  if (count > request.files.size() || request.header.bytes < kFirst + count * sizeof(MemoryRegion))
    throw GuestError("it shares memory without saying which");
  for (Virtqueue& one : queues_) one.reset();
  memory_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    MemoryRegion region;
    std::memcpy(&region, request.payload.data() + kFirst + i * sizeof region, sizeof region);
    memory_.add({region.guest_address, region.bytes, region.file_offset}, request.files[i]);
  }
}

void NetworkDevice::set_queue(const Request& request) {
  const auto state = request.as<QueueState>();
  switch (request.header.request) {
    case kSetQueueEntries:
      return queue(state.index).set_entries(state.value);
    case kSetQueueNext:
      return queue(state.index).set_next(state.value);
    case kEnableQueue:
      return queue(state.index).enable(state.value != 0);
    default:
      break;
  }
  const auto addresses = request.as<QueueAddresses>();
  queue(addresses.index)
      .set_addresses({addresses.descriptors, addresses.available, addresses.used});
}

void NetworkDevice::answer_config(const Request& request) const {
  const auto wanted = request.as<Config>();
  std::array<std::byte, sizeof(Config) + 256> reply{};
  if (wanted.bytes > reply.size() - sizeof wanted)
    throw GuestError("its device asks for more configuration than there is");
  const Config own{wanted.offset, wanted.bytes, 0};
  std::memcpy(reply.data(), &own, sizeof own);
  struct {  // virtio_net_config
    Address address;
    std::uint16_t status, queue_pairs, mtu;
  } const own_config{address_, carrier_, 1, mtu_};
  const auto config = std::as_bytes(std::span(&own_config, 1));
  for (std::uint32_t i = 0; i < wanted.bytes && std::size_t{wanted.offset} + i < config.size(); ++i)
    reply[sizeof own + i] = config[wanted.offset + i];
  answer_bytes(request.header, std::span(reply).first(sizeof own + wanted.bytes));
}

void NetworkDevice::send_frames() {
  Virtqueue& from = queues_[kSend];
  while (const Virtqueue::Chain* chain = from.pop()) send_frame(*chain);
  from.want_notice();
}

void NetworkDevice::receive_noted(unsigned index, std::uint16_t until) {
  Virtqueue& from = queue(index);
  if (index != kSend) return;
  while (from.next() != until) {
    const Virtqueue::Chain* const chain = from.pop();
    if (chain == nullptr) throw GuestError("it has noted more than its queue offers");
    send_frame(*chain);
  }
}

void NetworkDevice::send_frame(const Virtqueue::Chain& chain) {
  frame_.clear();
  for (const Virtqueue::Part& part : chain.parts) {
    if (part.writable) throw GuestError("it sends from a buffer that it wants filled");
    frame_.insert(frame_.end(), part.data, part.data + part.bytes);
  }
  if (frame_.size() < sizeof(FrameHeader) + kLeastFrameBytes)
    throw GuestError("it sends a frame of " + std::to_string(frame_.size()) +
                     " bytes with its header, which the network does not have");
  port_.sent(std::span(frame_).subspan(sizeof(FrameHeader)),
             std::uint32_t{queues_[kSend].generation()} << 16 | chain.head);
}

bool NetworkDevice::deliver(std::span<const std::byte> frame) {
  const Virtqueue::Chain* const chain = queues_[kReceive].pop();
  if (chain == nullptr) return false;
  queues_[kReceive].push(chain->head, fill(*chain, frame));
  return true;
}

std::optional<std::uint16_t> NetworkDevice::deliver_hidden(std::span<const std::byte> frame) {
  const Virtqueue::Chain* const chain = queues_[kReceive].pop();
  if (chain == nullptr) return std::nullopt;
  return queues_[kReceive].push_hidden(chain->head, fill(*chain, frame));
}

/// Copies a frame with its header into the chain; returns the number of bytes.
std::uint32_t NetworkDevice::fill(const Virtqueue::Chain& chain, std::span<const std::byte> frame) {
  const FrameHeader header;
  const auto head = std::as_bytes(std::span(&header, 1));
  const std::size_t bytes = head.size() + frame.size();
  std::size_t written = 0;
  for (const Virtqueue::Part& part : chain.parts) {
    if (!part.writable) throw GuestError("it wants a frame in a buffer that it sends from");
    std::size_t at = 0;
    for (const auto& [from, begin] : {std::pair(head, std::size_t{0}), {frame, head.size()}}) {
      if (written < begin || written >= begin + from.size()) continue;
      const auto rest = from.subspan(written - begin);
      const std::size_t some = std::min(rest.size(), part.bytes - at);
      std::memcpy(part.data + at, rest.data(), some);
      at += some;
      written += some;
    }
  }
  if (written < bytes) throw GuestError("its buffer is shorter than a frame");
  return static_cast<std::uint32_t>(written);
}

bool NetworkDevice::wants_interrupt(std::uint16_t index) {
  return queues_[index].ready() && interrupts_.is_open() && queues_[index].wants_interrupt();
}

void NetworkDevice::interrupt(std::uint16_t index) {
  struct {
    Header header;
    QueueState queue;
  } const call{{kCall, kVersion | kWantsAnswer, sizeof(QueueState)}, {index, 0}};
  interrupts_.put(call);
}

bool NetworkDevice::set_carrier(bool up) {
  return std::exchange(carrier_, up) != up && interrupts_.is_open();
}

void NetworkDevice::tell_of_carrier() {
  interrupts_.put(Header{kConfigChanged, kVersion | kWantsAnswer, 0});
}

void NetworkDevice::receive_answer() {
  const auto header = interrupts_.take<Header>();
  if (header.bytes != sizeof(std::uint64_t)) throw GuestError("it answers an interrupt with else");
  interrupts_.take<std::uint64_t>();
}

}  // namespace orrery::lab
