// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

namespace orrery::trace {

using protozero::data_view;

namespace {

std::string_view view_of(data_view view) {
  return {view.data(), view.size()};
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A note of an event.
struct Value {
  std::uint64_t iid = 0, number = 0;  ///< the bits of a number of any type
  double real = 0;
  std::string_view text;
};

Value value_of(data_view note) {
  Value value;
  for (CheckedReader reader(note); reader.next();) {
    switch (reader.tag()) {
      case field::kAnnotationIid:
        value.iid = reader.get_uint64();
        break;
      case field::kBool:
        value.number = reader.get_bool() ? 1 : 0;
        break;
      case field::kUint:
      case field::kPointer:
        value.number = reader.get_uint64();
        break;
      case field::kInt:
        value.number = static_cast<std::uint64_t>(reader.get_int64());
        break;
      case field::kDouble:
        value.real = reader.get_double();
        break;
      case field::kString:
        value.text = view_of(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return value;
}

/// Stores the notes of an event in `read` and in the parts of its key.
struct EventNotes {
  ReadEvent& read;
  std::int64_t ticks = 0;
  std::uint64_t phase = 0, microstep = 0, sender = 0, send = 0;

  Key key() const {
    const std::uint64_t step = Key::first_step_of(static_cast<unsigned>(phase)) + microstep;
    return Key(Time::from_ticks(ticks), static_cast<std::uint32_t>(step), static_cast<LpId>(sender),
               send);
  }
  void operator()(Note note, const Value& value) {
    switch (note) {
      case Note::ticks:
        ticks = static_cast<std::int64_t>(value.number);
        break;
      case Note::phase:
        phase = value.number;
        break;
      case Note::microstep:
        microstep = value.number;
        break;
      case Note::sender:
        sender = value.number;
        break;
      case Note::send:
        send = value.number;
        break;
      case Note::payload:
        read.payload_bytes = value.number;
        break;
      case Note::duration:
        read.duration_ticks = static_cast<std::int64_t>(value.number);
        break;
      case Note::fingerprint:
        read.fingerprint = value.number;
        break;
      case Note::first_send:
        read.first_send = value.number;
        break;
      case Note::sends:
        read.sends = value.number;
        break;
      default:
        break;
    }
  }
};

/// The fields of a packet that the reader uses.
struct Packet {
  explicit Packet(data_view packet) {
    for (CheckedReader reader(packet); reader.next();) {
      switch (reader.tag()) {
        case field::kSequence:
          sequence = reader.get_uint32();
          break;
        case field::kTrackEvent:
          event = reader.get_view();
          break;
        case field::kInterned:
          interned = reader.get_view();
          break;
        case field::kTrackDescriptor:
          track = reader.get_view();
          break;
        default:
          reader.skip();
      }
    }
  }
  std::uint32_t sequence = 0;
  data_view event, interned, track;
};

/// The name of an LP in the name of its track, "LP 5 (router3)"; "" for other tracks and LPs.
std::pair<LpId, std::string> named_lp_of(data_view track) {
  std::uint64_t uuid = 0;
  std::string_view text;
  for (CheckedReader reader(track); reader.next();) {
    if (reader.tag() == field::kUuid)
      uuid = reader.get_uint64();
    else if (reader.tag() == field::kTrackName)
      text = view_of(reader.get_view());
    else
      reader.skip();
  }
  const auto lp = static_cast<LpId>(uuid - kFirstLpTrack);
  const std::string begin = lp_text(lp, "") + " (";
  if (uuid < kFirstLpTrack || !text.starts_with(begin) || !text.ends_with(')')) return {};
  text = text.substr(begin.size(), text.size() - begin.size() - 1);
  return {lp, std::string(mistake_in_name(text).empty() ? text : "")};
}

struct TrackEvent {
  explicit TrackEvent(data_view event) {
    for (CheckedReader reader(event); reader.next();) {
      switch (reader.tag()) {
        case field::kType:
          kind = static_cast<EventKind>(reader.get_enum());
          break;
        case field::kTrackUuid:
          track = reader.get_uint64();
          break;
        case field::kNameIid:
          name = reader.get_uint64();
          break;
        case field::kAnnotation:
          notes.push_back(value_of(reader.get_view()));
          break;
        default:
          reader.skip();
      }
    }
  }
  EventKind kind = EventKind::end;
  std::uint64_t track = 0, name = 0;
  std::vector<Value> notes;
};

/// Calls visit(list, iid, name) for each interned name.
template <class Visit>
void for_each_interned(data_view interned, Visit&& visit) {
  for (CheckedReader lists(interned); lists.next();) {
    const std::uint32_t list = lists.tag();
    std::uint64_t iid = 0;
    std::string_view name;
    for (CheckedReader one(lists.get_view()); one.next();) {
      if (one.tag() == field::kIid)
        iid = one.get_uint64();
      else if (one.tag() == field::kName)
        name = view_of(one.get_view());
      else
        one.skip();
    }
    visit(list, iid, name);
  }
}

}  // namespace

/// Checks the first packet, which begins the sequence of committed events.
bool is_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[1024];
  file.read(begin, sizeof begin);
  const std::string_view text(begin, static_cast<std::size_t>(file.gcount()));
  return !text.empty() && text.front() == (field::kPacket << 3 | 2) &&
         text.find("LPs (simulated time)") != std::string_view::npos;
}

TraceReader::TraceReader(std::string path) : path_(std::move(path)) {
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (file < 0 || fstat(file, &facts) != 0) {
    const std::string why = std::strerror(errno);
    if (file >= 0) close(file);
    throw UsageError(fmt::format("cannot read trace '{}': {}", path_, why));
  }
  size_ = S_ISREG(facts.st_mode) ? static_cast<std::size_t>(facts.st_size) : 0;
  void* const map = size_ == 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (map == MAP_FAILED) {
    size_ = 0;
    refuse("it is no file, or empty");
  }
  bytes_ = static_cast<const char*>(map);
  try {
    if (!is_trace(path_)) refuse("it does not begin as one");
    at_ = CheckedReader(bytes_, size_);
    read_head();
  } catch (...) {
    munmap(const_cast<char*>(bytes_), size_);
    throw;
  }
}

TraceReader::~TraceReader() {
  munmap(const_cast<char*>(bytes_), size_);
}

void TraceReader::refuse(const std::string& why) const {
  throw UsageError(fmt::format("'{}' is no trace of 'orrery run --trace': {}", path_, why));
}

/// Turns exceptions of the decoder into errors about a damaged file.
template <class Action>
auto TraceReader::guarded(Action&& action) const {
  try {
    return action();
  } catch (const protozero::exception& error) {
    throw UsageError(
        fmt::format("trace '{}' is damaged, or not all of it is there ({})", path_, error.what()));
  }
}

void TraceReader::read_head() {
  guarded([this] {
    while (!has_head_ && at_.next(field::kPacket)) read_packet(at_.get_view());
  });
  if (!has_head_) refuse("it does not say of what");
  first_ = at_;
}

void TraceReader::rewind() {
  at_ = first_;
  is_over_ = false;
}

std::optional<ReadEvent> TraceReader::next() {
  return guarded([this]() -> std::optional<ReadEvent> {
    while (!is_over_ && at_.next(field::kPacket))
      if (std::optional<ReadEvent> event = read_packet(at_.get_view())) return event;
    if (!has_tail_)
      throw UsageError(
          fmt::format("trace '{}' is damaged, or not all of it is there (it has no end)", path_));
    is_over_ = true;
    return std::nullopt;
  });
}

void TraceReader::intern(data_view interned) {
  for_each_interned(interned, [this](std::uint32_t list, std::uint64_t iid, std::string_view name) {
    if (list == field::kEventNames) names_[iid] = name;
    const auto* const known = std::find(std::begin(kNotes) + 1, std::end(kNotes), name);
    if (list == field::kAnnotationNames && known != std::end(kNotes))
      notes_[iid] = static_cast<Note>(known - std::begin(kNotes));
  });
}

std::optional<ReadEvent> TraceReader::read_packet(data_view bytes) {
  const Packet packet(bytes);
  if (packet.sequence != kCommittedSequence) return std::nullopt;
  intern(packet.interned);
  if (packet.event.size() == 0) return std::nullopt;
  const TrackEvent event(packet.event);
  if (event.kind == EventKind::end) return std::nullopt;
  const auto found = names_.find(event.name);
  if (found == names_.end()) refuse("an event has no name");
  const auto for_each_note = [&](auto&& visit) {
    for (const Value& value : event.notes)
      if (const auto note = notes_.find(value.iid); note != notes_.end())
        visit(note->second, value);
  };
  if (event.track != kLpsTrack) {
    ReadEvent read;
    read.type = found->second;
    read.lp = static_cast<LpId>(event.track - kFirstLpTrack);
    EventNotes notes{read};
    for_each_note(notes);
    read.key = notes.key();
    return read;
  }
  if (found->second == kHead) {
    for_each_note([this](Note note, const Value& value) {
      read_head_note(note, value.number, value.real, value.text);
    });
    has_head_ = true;
  } else {
    for_each_note([this](Note note, const Value& value) { read_tail_note(note, value.number); });
    has_tail_ = is_over_ = true;
  }
  return std::nullopt;
}

void TraceReader::read_head_note(Note note, std::uint64_t number, double real,
                                 std::string_view text) {
  const Time time = Time::from_ticks(static_cast<std::int64_t>(number));
  switch (note) {
    case Note::version:
      if (number < 1 || number > kVersion) refuse("it is of another version of Orrery");
      break;
    case Note::model:
      facts_.model = text;
      break;
    case Note::parameters:
      facts_.parameters = lines_of(text);
      break;
    case Note::seed:
      facts_.seed = number;
      break;
    case Note::tick_seconds:
      facts_.tick_seconds = real;
      break;
    case Note::lps:
      facts_.lps = number;
      break;
    case Note::lp_ranges:
      if (text != "all") facts_.scope.lps = read_ranges(path_, std::string(text));
      break;
    case Note::from:
      facts_.scope.from = time;
      break;
    case Note::to:
      facts_.scope.to = time;
      break;
    default:
      break;
  }
}

void TraceReader::read_tail_note(Note note, std::uint64_t number) {
  switch (note) {
    case Note::events:
      tail_.events = number;
      break;
    case Note::whole:
      tail_.whole = number != 0;
      break;
    case Note::until:
      tail_.until = Time::from_ticks(static_cast<std::int64_t>(number));
      break;
    default:
      break;
  }
}

const std::unordered_map<LpId, std::string>& TraceReader::lp_names() const {
  if (lp_names_) return *lp_names_;
  return lp_names_.emplace(guarded([this] {
    std::unordered_map<LpId, std::string> names;
    for (CheckedReader file(bytes_, size_); file.next(field::kPacket);) {
      const Packet packet(file.get_view());
      if (packet.sequence != kCommittedSequence || packet.track.size() == 0) continue;
      if (auto named = named_lp_of(packet.track); !named.second.empty())
        names.insert(std::move(named));
    }
    return names;
  }));
}

std::string TraceReader::lp_name(LpId lp) const {
  const auto found = lp_names().find(lp);
  return found == lp_names().end() ? "" : found->second;
}

NamedLps TraceReader::lps() const {
  return {.count = std::min<std::uint64_t>(facts_.lps, std::numeric_limits<LpId>::max()),
          .name_of = [this](LpId lp) { return lp_name(lp); },
          .owner = "the trace"};
}

std::string TraceReader::lp_text(LpId lp) const {
  return orrery::lp_text(lp, lp_name(lp));
}

/// Each sequence has its own table of interned names.
Life TraceReader::life() const {
  return guarded([this] {
    Life life;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> names;
    std::map<std::string, std::uint64_t> slices;
    for (CheckedReader file(bytes_, size_); file.next(field::kPacket);) {
      const Packet packet(file.get_view());
      if (packet.sequence < kFirstLifeSequence) continue;
      for_each_interned(packet.interned,
                        [&](std::uint32_t list, std::uint64_t iid, std::string_view name) {
                          if (list == field::kEventNames) names[{packet.sequence, iid}] = name;
                        });
      const TrackEvent event(packet.event);
      if (event.kind == EventKind::begin) ++slices[names[{packet.sequence, event.name}]];
      if (event.kind == EventKind::instant)
        for (const Value& value : event.notes) life.left_out += value.number;
    }
    life.slices.assign(slices.begin(), slices.end());
    std::stable_sort(life.slices.begin(), life.slices.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return life;
  });
}

}  // namespace orrery::trace
