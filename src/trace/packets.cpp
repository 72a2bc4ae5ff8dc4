// SPDX-License-Identifier: Apache-2.0
#include "trace/packets.h"

#include <algorithm>
#include <iterator>

namespace orrery::trace {

using protozero::pbf_writer;

namespace {

void intern_name(pbf_writer& interned, std::uint32_t list, std::uint64_t iid,
                 std::string_view name) {
  pbf_writer one(interned, list);
  one.add_uint64(field::kIid, iid);
  one.add_string(field::kName, name.data(), name.size());
}

}  // namespace

/// The packet that begins a sequence also defines the names of all notes.
void Packets::begin(pbf_writer& packet) {
  packet.add_uint32(field::kSequence, sequence_);
  packet.add_uint32(field::kSequenceFlags, begun_ ? kNeedsState : kStateCleared);
  if (begun_) return;
  begun_ = true;
  pbf_writer interned(packet, field::kInterned);
  for (std::size_t i = 1; i < std::size(kNotes); ++i)
    intern_name(interned, field::kAnnotationNames, i, kNotes[i]);
}

/// A packet that describes a track; the destructor completes it.
class Packets::Track {
 public:
  Track(Packets& packets, std::string& out, std::uint64_t uuid)
      : top_(out), packet_(top_, field::kPacket) {
    packets.begin(packet_);
    track_ = pbf_writer(packet_, field::kTrackDescriptor);
    track_.add_uint64(field::kUuid, uuid);
  }
  /// A track of a group.
  Track(Packets& packets, std::string& out, std::uint64_t uuid, std::uint64_t group,
        std::string_view name)
      : Track(packets, out, uuid) {
    track_.add_string(field::kTrackName, name.data(), name.size());
    track_.add_uint64(field::kParent, group);
  }
  pbf_writer& fields() { return track_; }

 private:
  pbf_writer top_, packet_, track_;
};

void Packets::add_group(std::string& out, std::uint64_t uuid, std::int32_t pid,
                        std::string_view name, std::string_view description) {
  Track track(*this, out, uuid);
  track.fields().add_int32(field::kChildOrdering, kExplicitOrder);
  track.fields().add_string(field::kDescription, description.data(), description.size());
  pbf_writer process(track.fields(), field::kProcess);
  process.add_int32(field::kPid, pid);
  process.add_string(field::kProcessName, name.data(), name.size());
}

void Packets::add_track(std::string& out, std::uint64_t uuid, std::uint64_t group,
                        std::string_view name, std::uint64_t rank) {
  constexpr std::uint64_t kMostRank = 0x7fffffff;
  Track track(*this, out, uuid, group, name);
  track.fields().add_int32(field::kOrderRank, static_cast<std::int32_t>(std::min(rank, kMostRank)));
}

void Packets::add_counter(std::string& out, std::uint64_t uuid, std::uint64_t group,
                          std::string_view name, std::string_view unit) {
  Track track(*this, out, uuid, group, name);
  pbf_writer counter(track.fields(), field::kCounter);
  counter.add_string(field::kUnitName, unit.data(), unit.size());
}

std::uint64_t Packets::intern(std::string_view name, bool& is_new) {
  const auto [found, inserted] = names_.try_emplace(std::string(name), names_.size() + 1);
  is_new = inserted;
  return found->second;
}

Packets::Event::Event(Packets& packets, std::string& out, EventKind kind, std::uint64_t timestamp,
                      std::uint64_t track, std::string_view name)
    : top_(out), packet_(top_, field::kPacket) {
  packet_.add_uint64(field::kTimestamp, timestamp);
  packets.begin(packet_);
  std::uint64_t iid = 0;
  if (!name.empty()) {
    bool is_new = false;
    iid = packets.intern(name, is_new);
    if (is_new) {
      pbf_writer interned(packet_, field::kInterned);
      intern_name(interned, field::kEventNames, iid, name);
    }
  }
  event_ = pbf_writer(packet_, field::kTrackEvent);
  event_.add_enum(field::kType, static_cast<std::int32_t>(kind));
  event_.add_uint64(field::kTrackUuid, track);
  if (iid != 0) event_.add_uint64(field::kNameIid, iid);
}

namespace {

pbf_writer begin_note(pbf_writer& event, Note name) {
  pbf_writer note(event, field::kAnnotation);
  note.add_uint64(field::kAnnotationIid, static_cast<std::uint64_t>(name));
  return note;
}

}  // namespace

Packets::Event& Packets::Event::note(Note name, std::uint64_t value) {
  begin_note(event_, name).add_uint64(field::kUint, value);
  return *this;
}
Packets::Event& Packets::Event::note(Note name, std::int64_t value) {
  begin_note(event_, name).add_int64(field::kInt, value);
  return *this;
}
Packets::Event& Packets::Event::note(Note name, double value) {
  begin_note(event_, name).add_double(field::kDouble, value);
  return *this;
}
Packets::Event& Packets::Event::note(Note name, bool value) {
  begin_note(event_, name).add_bool(field::kBool, value);
  return *this;
}
Packets::Event& Packets::Event::note(Note name, std::string_view value) {
  begin_note(event_, name).add_string(field::kString, value.data(), value.size());
  return *this;
}
Packets::Event& Packets::Event::note_bits(Note name, std::uint64_t value) {
  begin_note(event_, name).add_uint64(field::kPointer, value);
  return *this;
}
Packets::Event& Packets::Event::flows(const std::vector<std::uint64_t>& ids) {
  for (const std::uint64_t id : ids) event_.add_fixed64(field::kFlows, id);
  return *this;
}
Packets::Event& Packets::Event::ends_flow(std::uint64_t id) {
  event_.add_fixed64(field::kEndingFlows, id);
  return *this;
}
Packets::Event& Packets::Event::counts(std::int64_t value) {
  event_.add_int64(field::kCounterValue, value);
  return *this;
}
Packets::Event& Packets::Event::counts(double value) {
  event_.add_double(field::kDoubleCounterValue, value);
  return *this;
}

}  // namespace orrery::trace
