// SPDX-License-Identifier: Apache-2.0
#include "snapshot/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "core/fingerprint.h"
#include "core/machine.h"
#include "memory/application_mode.h"
#include "memory/raw.h"
#include "orrery/error.h"
#include "run/threads/team.h"

namespace orrery::snapshot {
namespace {

using memory::Area;
using memory::Arena;
using memory::ChunkRun;
using memory::LpHeap;
using memory::Region;

constexpr LpId kIndexLps = 16384;  ///< at most in an entry of the index

struct alignas(16) HeapRecord {
  std::uint64_t runs, bytes;
};
struct alignas(16) LpRecord {
  std::uint64_t object;
  KernelState kernel;
  HeapRecord heap;
};
struct alignas(16) CountRecord {
  std::uint64_t extents, areas;
};
struct alignas(16) ExtentRecord {
  std::uint64_t base, bytes;
  std::uint32_t pool, huge_pages;
  std::uint64_t unused;
};
struct alignas(16) AreaRecord {
  std::uint64_t base, bytes;
  std::uint32_t size_class, access, log, unused;
};
static_assert(sizeof(LpRecord) == 48 && sizeof(ChunkRun) == 16);

std::uint64_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// Calls work(i) for each i below `threads`, each on its own thread; rethrows an exception of one.
void side_by_side(unsigned threads, const std::function<void(unsigned)>& work) {
  if (threads == 1) return work(0);
  Team team(threads, false);
  team.start(0, {work});
  team.finish();
}

HeapRecord record_of(const LpHeap& heap) {
  return {heap.run_count(), heap.live_bytes()};
}

/// Writes runs and live chunks, which follow a HeapRecord.
void write_heap(const LpHeap& heap, std::byte* to) {
  heap.for_each_run([&](const ChunkRun& run) {
    std::memcpy(to, &run, sizeof run);
    to += sizeof run;
  });
  heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    memory::raw_copy(to, begin, bytes);
    to += bytes;
  });
}
std::size_t written_bytes(const HeapRecord& heap) {
  return heap.runs * sizeof(ChunkRun) + heap.bytes;
}

[[noreturn]] void refuse(std::string_view what) {
  throw UsageError(fmt::format("the snapshot's contents make no sense: {}", what));
}

/// Reads one record after another. Checksums have verified the bytes, so the check here only keeps
/// errors of this program from becoming wild reads.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  const std::byte* take(std::size_t bytes) {
    if (bytes > bytes_.size()) refuse("a record is cut off");
    const std::byte* const place = bytes_.data();
    bytes_ = bytes_.subspan(bytes);
    return place;
  }
  bool done() const { return bytes_.empty(); }

 private:
  Bytes bytes_;
};

/// Reads the live chunks, which write_heap has written behind the runs.
void read_contents(Reader& reader, const LpHeap& heap) {
  heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    memory::raw_copy(const_cast<std::byte*>(begin), reader.take(bytes), bytes);
  });
}

/// Sections lie at multiples of 16 bytes.
void restore_mergeable_statistics(Bytes section, MergeableStatistics& mergeable_statistics) {
  Reader reader(section);
  const auto count = reader.take<std::uint64_t>();
  if (count > section.size() / sizeof count) refuse("the statistics of metrics are cut off");
  std::vector<std::uint64_t> words(count);
  const std::byte* const from = reader.take(count * sizeof count);
  if (count > 0) std::memcpy(words.data(), from, count * sizeof count);
  try {
    mergeable_statistics.merge_words(words);
  } catch (const std::logic_error& error) {
    refuse(error.what());
  }
}

/// Extents that the ranks had from an earlier snapshot are in the images of all ranks; `known`:
/// extents that were restored already.
void restore_ground(Bytes section, std::set<std::uint64_t>& known, Arena& ground) {
  Reader reader(section);
  const auto counts = reader.take<CountRecord>();
  for (std::uint64_t i = 0; i < counts.extents; ++i) {
    const auto extent = reader.take<ExtentRecord>();
    if (!known.insert(extent.base).second) continue;
    if (!ground.restore_extent({reinterpret_cast<std::byte*>(extent.base), extent.bytes,
                                static_cast<Region::Pool>(extent.pool), extent.huge_pages != 0}))
      throw UsageError(fmt::format(
          "{} MiB of memory at {:#x}, where the snapshot has LPs, cannot be had in this process",
          extent.bytes >> 20, extent.base));
  }
  for (std::uint64_t i = 0; i < counts.areas; ++i) {
    const auto area = reader.take<AreaRecord>();
    if (!memory::is_lp_pointer(reinterpret_cast<const void*>(area.base))) refuse("an area");
    if (memory::area_of(reinterpret_cast<const void*>(area.base)) != nullptr) continue;
    if (!ground.restore_area(reinterpret_cast<std::byte*>(area.base), area.bytes, area.size_class,
                             static_cast<memory::Access>(area.access), area.log))
      throw std::bad_alloc();
  }
}

void restore_lp(Reader& reader, LpId id, World& world) {
  const auto record = reader.take<LpRecord>();
  LpHeap& heap = world.heap(id);
  for (std::uint64_t i = 0; i < record.heap.runs; ++i) {
    const auto run = reader.take<ChunkRun>();
    if (!memory::is_lp_pointer(run.base()) || memory::area_of(run.base()) == nullptr)
      refuse(fmt::format("memory of LP {}", id));
    if (!heap.restore_run(run)) throw std::bad_alloc();
  }
  if (heap.live_bytes() != record.heap.bytes) refuse(fmt::format("the heap of LP {}", id));
  read_contents(reader, heap);
  auto* const object = reinterpret_cast<LogicalProcessBase*>(record.object);
  if (!heap.owns(object)) refuse(fmt::format("the object of LP {}", id));
  world.lp(id) = {object, record.kernel};
}

/// Skips an LP that another rank has now.
void skip_lp(Reader& reader) {
  reader.take(written_bytes(reader.take<LpRecord>().heap));
}

/// Restores the LPs on several threads, each some entries of the index. Returns the number of LPs
/// that belong to this rank.
std::uint64_t restore_lps(const SectionBytes& sections, World& world) {
  std::vector<Stretch> index;
  for (Reader reader(sections[kIndex]); !reader.done();) index.push_back(reader.take<Stretch>());
  std::atomic<std::size_t> next{0};     // next entry of the index: relaxed
  std::atomic<std::uint64_t> found{0};  // a sum: relaxed, read when all threads have ended
  const auto work = [&](unsigned) {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < index.size();) {
      const Stretch& one = index[i];
      if (one.offset > sections[kLps].size() || one.first > world.lp_count() ||
          one.count > world.lp_count() - one.first)
        refuse("the index");
      Reader reader(sections[kLps].subspan(one.offset));
      std::uint64_t here = 0;
      for (auto id = static_cast<LpId>(one.first); id < one.first + one.count; ++id) {
        world.is_here(id) ? restore_lp(reader, id, world) : skip_lp(reader);
        here += world.is_here(id) ? 1 : 0;
      }
      found.fetch_add(here, std::memory_order_relaxed);
    }
  };
  side_by_side(static_cast<unsigned>(std::clamp<std::size_t>(index.size(), 1, usable_cores())),
               work);
  return found;
}

void restore_events(Bytes section, World& world, Time until) {
  Reader reader(section);
  while (!reader.done()) {
    const std::byte* const place = reader.take(sizeof(EventHeader));
    const EventHeader event = EventList::event_at(place);
    const std::byte* const payload =
        reader.take(EventList::stored_bytes(event) - sizeof(EventHeader));
    if (event.receiver >= world.lp_count()) refuse("an event for an LP that is not there");
    if (event.time() >= until || !world.is_here(event.receiver)) continue;
    world.append_pending(event, payload);
  }
}

}  // namespace

// ---- Taking

namespace {

unsigned threads_for(const World& world) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(world.lp_count() / kIndexLps, 1, usable_cores()));
}

std::size_t image_bytes(const LpHeap& heap) {
  return sizeof(LpRecord) + written_bytes(record_of(heap));
}

}  // namespace

/// Estimates from a sample of the LPs. LPs grow while the run goes on; an image can then get more
/// memory.
ImageNeeds ImageNeeds::of(const World& world) {
  constexpr LpId kLooks = 1024;
  constexpr double kMore = 1.125;
  ImageNeeds needs{threads_for(world)};
  double bytes = 0, events = 0, looks = 0, here = 0;
  const LpId step = std::max<LpId>(1, world.lp_count() / kLooks);
  for (LpId id = 0; id < world.lp_count(); id += step) {
    ++looks;
    if (!world.is_here(id)) continue;
    ++here;
    bytes += static_cast<double>(image_bytes(world.heap(id)));
  }
  for (const EventList& list : world.pending) events += static_cast<double>(list.bytes());
  const double lps = here > 0 ? bytes / looks * world.lp_count() : 0;
  needs.lp_bytes = static_cast<std::size_t>(lps * kMore / needs.threads);
  needs.event_bytes = static_cast<std::size_t>(events * kMore / needs.threads);
  return needs;
}

void Image::reserve(const ImageNeeds& needs) {
  for (const auto& [section, bytes] :
       {std::pair{kLps, needs.lp_bytes}, std::pair{kEvents, needs.event_bytes}}) {
    logs_[section].resize(std::max<std::size_t>(logs_[section].size(), needs.threads));
    for (ByteLog& log : logs_[section]) log.reserve(bytes);
  }
}

void Image::take(World& world, const memory::ModelHeap* model) {
  for (auto& logs : logs_) {
    if (logs.empty()) logs.resize(1);
    for (ByteLog& log : logs) log.clear();
  }
  if (model != nullptr) take_model(*model);
  take_ground(world);
  take_lps_and_events(world);
  if (!world.mergeable_statistics.is_idle()) take_mergeable_statistics(world);
}

std::size_t Image::size(Section section) const {
  std::size_t bytes = 0;
  for (const ByteLog& log : logs_[section]) bytes += log.size();
  return bytes;
}

void Image::take_model(const memory::ModelHeap& model) {
  const HeapRecord record = record_of(model.heap);
  logs_[kModel].front().append(record);
  write_heap(model.heap, logs_[kModel].front().extend(written_bytes(record)));
}

void Image::take_ground(const World& world) {
  CountRecord counts{};
  world.for_each_arena([&](const Arena& arena) {
    arena.for_each_extent([&](const Arena::Extent&) { ++counts.extents; });
    arena.for_each_area([&](const Area&) { ++counts.areas; });
  });
  ByteLog& log = logs_[kGround].front();
  log.append(counts);
  world.for_each_arena([&](const Arena& arena) {
    arena.for_each_extent([&](const Arena::Extent& extent) {
      log.append(ExtentRecord{number_of(extent.base), extent.bytes,
                              static_cast<std::uint32_t>(extent.pool), extent.huge_pages, 0});
    });
  });
  world.for_each_arena([&](const Arena& arena) {
    arena.for_each_area([&](const Area& area) {
      log.append(AreaRecord{number_of(area.base), area.bytes(), area.size_class,
                            static_cast<std::uint32_t>(area.access()), area.run_log, 0});
    });
  });
}

void Image::take_lps_and_events(World& world) {
  const LpId lps = world.lp_count();
  const unsigned threads = threads_for(world);
  for (const Section section : {kLps, kEvents})
    logs_[section].resize(std::max<std::size_t>(logs_[section].size(), threads));
  std::vector<Part> parts(threads);
  for (unsigned i = 0; i < threads; ++i) {
    parts[i].begin = static_cast<LpId>(std::uint64_t{lps} * i / threads);
    parts[i].end = static_cast<LpId>(std::uint64_t{lps} * (i + 1) / threads);
  }
  side_by_side(threads, [&](unsigned i) {
    take_part(world, parts[i], logs_[kLps][i]);
    take_events(world, i, threads, logs_[kEvents][i]);
  });
  fingerprint_ = 0;
  std::uint64_t offset = 0;
  for (unsigned i = 0; i < threads; ++i) {
    fingerprint_ += parts[i].fingerprint;
    for (Stretch stretch : parts[i].stretches) {
      stretch.offset += offset;
      logs_[kIndex].front().append(stretch);
    }
    offset += logs_[kLps][i].size();
  }
}

void Image::take_part(World& world, Part& part, ByteLog& log) {
  std::vector<Stretch>& stretches = part.stretches;
  for (LpId id = part.begin; id < part.end; ++id) {
    if (!world.is_here(id)) continue;
    if (stretches.empty() || stretches.back().first + stretches.back().count != id ||
        stretches.back().count == kIndexLps)
      stretches.push_back({id, 0, log.size(), 0});
    ++stretches.back().count;
    const World::Lp& lp = world.lp(id);
    const LpHeap& heap = world.heap(id);
    const LpRecord record{number_of(lp.object), lp.kernel, record_of(heap)};
    std::byte* const to = log.extend(sizeof record + written_bytes(record.heap));
    std::memcpy(to, &record, sizeof record);
    write_heap(heap, to + sizeof record);
    part.fingerprint += fingerprint::contribution(id, lp.kernel.hash);
  }
}

/// Copies one thread's share of the pieces. Events are multiples of 8, which suffices for them.
void Image::take_events(const World& world, unsigned thread, unsigned threads, ByteLog& log) {
  std::size_t piece = 0;
  for (const EventList& list : world.pending)
    list.for_each_piece([&](const std::byte* begin, const std::byte* end) {
      if (piece++ % threads != thread || begin == end) return;
      const auto bytes = static_cast<std::size_t>(end - begin);
      std::memcpy(log.extend(bytes), begin, bytes);
    });
}

void Image::take_mergeable_statistics(const World& world) {
  std::vector<std::uint64_t> words = world.mergeable_statistics.words();
  words.insert(words.begin(), words.size());
  if (words.size() % 2 != 0) words.push_back(0);
  const std::size_t bytes = words.size() * sizeof(std::uint64_t);
  std::memcpy(logs_[kMergeableStatistics].front().extend(bytes), words.data(), bytes);
}

// ---- Bringing back

ModelMatch compare_model(Bytes section, const memory::ModelHeap& model) {
  Reader reader(section);
  const auto record = reader.take<HeapRecord>();
  const HeapRecord own = record_of(model.heap);
  if (own.runs != record.runs || own.bytes != record.bytes) return ModelMatch::laid_out_otherwise;
  bool same = true;
  model.heap.for_each_run([&](const ChunkRun& run) {
    const auto other = reader.take<ChunkRun>();
    same = same && other.where == run.where && other.free_chunks == run.free_chunks;
  });
  if (!same) return ModelMatch::laid_out_otherwise;
  model.heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    same = memory::raw_equal(reader.take(bytes), begin, bytes) && same;
  });
  return same ? ModelMatch::equal : ModelMatch::contents_differ;
}

void restore_model(Bytes section, const memory::ModelHeap& model) {
  Reader reader(section);
  const auto record = reader.take<HeapRecord>();
  reader.take(record.runs * sizeof(ChunkRun));
  read_contents(reader, model.heap);
}

void restore(const std::vector<SectionBytes>& images, World& world, Time until) {
  Arena& ground = world.add_ground();
  std::set<std::uint64_t> known;
  for (const SectionBytes& sections : images) restore_ground(sections[kGround], known, ground);
  for (unsigned part = 0; part < world.parts(); ++part) world.make_heaps(part);
  std::uint64_t found = 0, wanted = 0;
  for (const SectionBytes& sections : images) {
    found += restore_lps(sections, world);
    restore_events(sections[kEvents], world, until);
    if (world.place().rank == 0 && !world.mergeable_statistics.is_idle())
      restore_mergeable_statistics(sections[kMergeableStatistics], world.mergeable_statistics);
  }
  for (LpId id = 0; id < world.lp_count(); ++id) wanted += world.is_here(id) ? 1 : 0;
  if (found != wanted) refuse(fmt::format("{} LPs of {}", found, wanted));
}

}  // namespace orrery::snapshot
