// SPDX-License-Identifier: Apache-2.0
#include "snapshot/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/file_output.h"
#include "core/modules.h"
#include "orrery/error.h"
#include "run/clock.h"

namespace orrery::snapshot {
namespace {

/// A file that is written sequentially, with a checksum for each MiB.
class SummedFile {
 public:
  explicit SummedFile(std::string path)
      : path_(std::move(path)),
        file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_ < 0) refuse_to_write(path_);
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  ~SummedFile() {
    if (file_ >= 0) close(file_);
  }
  SummedFile(const SummedFile&) = delete;
  SummedFile& operator=(const SummedFile&) = delete;

  void write(Bytes bytes) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kSumBytes - in_sum_);
      XXH3_64bits_update(state_.get(), bytes.data(), count);
      if (!write_fully(file_, bytes.data(), count)) refuse_to_write(path_);
      in_sum_ += count;
      if (in_sum_ == kSumBytes) end_sum();
      bytes = bytes.subspan(count);
    }
  }
  /// Puts everything on the disk; returns the checksums.
  std::vector<std::uint64_t> finish() {
    if (in_sum_ > 0) end_sum();
    if (!synchronise_contents(file_)) refuse_to_write(path_);
    if (close(std::exchange(file_, -1)) != 0) refuse_to_write(path_);
    return std::move(sums_);
  }

 private:
  void end_sum() {
    sums_.push_back(XXH3_64bits_digest(state_.get()));
    XXH3_64bits_reset(state_.get());
    in_sum_ = 0;
  }

  const std::string path_;
  int file_;
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, FreeState> state_{XXH3_createState()};
  std::size_t in_sum_ = 0;
  std::vector<std::uint64_t> sums_;
};

}  // namespace

Writer::Writer(Folder folder, const Manifest& kept, Hooks hooks)
    : folder_(std::move(folder)),
      hooks_(std::move(hooks)),
      last_(kept.number),
      last_time_(kept.time()),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Image& Writer::image() {
  wait();
  return image_;
}

void Writer::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !manifest_ && !needs_; });
}

void Writer::reserve(const ImageNeeds& needs) {
  {
    const std::lock_guard lock(mutex_);
    needs_ = needs;
  }
  changed_.notify_all();
}

/// If there is not enough memory now, there may be later; else SnapshotTaker::take reports it.
void Writer::reserve_now(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  try {
    image_.reserve(*needs_);
  } catch (const std::bad_alloc&) {
  }
  lock.lock();
  needs_.reset();
  changed_.notify_all();
}

void Writer::write(Manifest manifest) {
  {
    const std::lock_guard lock(mutex_);
    manifest_ = std::move(manifest);
  }
  changed_.notify_all();
}

void Writer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return manifest_ || needs_ || closing_; });
    if (needs_ && !closing_) reserve_now(lock);
    if (!manifest_) {
      if (closing_) return;
      continue;
    }
    Manifest& manifest = *manifest_;
    lock.unlock();
    Stopwatch watch;
    std::string failure;
    try {
      write_one(manifest);
    } catch (const std::exception& error) {
      failure = error.what();
      std::remove(folder_.manifest_of(manifest.number, manifest.rank).c_str());
      std::remove(folder_.contents_of(manifest.number, manifest.rank).c_str());
      hooks_.tell(fmt::format("the snapshot at {} is given up: {}; {}", manifest.time(), failure,
                              last_ > 0 ? "the one before is kept" : "there is none yet"));
    }
    lock.lock();
    longest_seconds_ = std::max(longest_seconds_, watch.lap());
    failure.empty() ? ++written_ : ++failed_;
    if (failure.empty()) {
      last_ = manifest.number;
      last_time_ = manifest.time();
      last_bytes_ = manifest.contents_bytes() + parts_bytes_;
    }
    manifest_.reset();
    changed_.notify_all();
  }
}

void Writer::write_one(Manifest& manifest) {
  find_references(manifest);
  for (unsigned i = 0; i < kSections.size(); ++i)
    manifest.section_bytes[i] = image_.size(static_cast<Section>(i));
  write_contents(manifest);
  if (manifest.rank > 0) return write_manifest(manifest);
  await_parts(manifest);
  hooks_.synchronise_rows();
  write_manifest(manifest);
  std::vector<unsigned> kept{manifest.number};
  if (last_ > 0) kept.push_back(last_);
  folder_.keep_only(kept, manifest.number);
}

void Writer::give_up_if_missing(unsigned number) {
  {
    const std::lock_guard lock(mutex_);
    tried_ = number;
  }
  changed_.notify_all();
}

/// Waits for the other ranks' manifests, which appear when their contents are on the disk. Polling
/// is simpler than messages, since this thread does not communicate with other ranks.
void Writer::await_parts(Manifest& manifest) {
  constexpr std::chrono::milliseconds kLookEvery{5};
  std::unique_lock lock(mutex_);
  while (!has_parts(manifest)) {
    if (tried_ >= manifest.number || closing_)
      throw UsageError("another rank could not write its part");
    changed_.wait_for(lock, kLookEvery);
  }
  lock.unlock();
  parts_bytes_ = 0;
  for (const Manifest& part : folder_.read_parts(manifest)) {
    if (part.rank == 0) continue;
    manifest.add_part(part);
    parts_bytes_ += part.contents_bytes();
  }
}

bool Writer::has_parts(const Manifest& manifest) const {
  for (unsigned rank = 1; rank < manifest.ranks; ++rank)
    if (access(folder_.manifest_of(manifest.number, rank).c_str(), R_OK) != 0) return false;
  return true;
}

void Writer::write_contents(Manifest& manifest) const {
  SummedFile file(folder_.contents_of(manifest.number, manifest.rank));
  for (unsigned i = 0; i < kSections.size(); ++i)
    image_.for_each_piece(static_cast<Section>(i), [&](Bytes piece) { file.write(piece); });
  manifest.sums = file.finish();
}

void Writer::write_manifest(const Manifest& manifest) const {
  const std::string name = folder_.manifest_of(manifest.number, manifest.rank),
                    part = name + ".part";
  const std::string text = manifest.to_json();
  SummedFile file(part);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
  folder_.synchronise();  // so that the contents' name is on the disk before the manifest's
  if (std::rename(part.c_str(), name.c_str()) != 0) refuse_to_write(name);
  folder_.synchronise();
}

/// Counts words that look like addresses in modules at random places. Nothing is changed, since a
/// number may look like an address.
void Writer::find_references(Manifest& manifest) const {
  manifest.references.clear();
  std::vector<Module> modules = loaded_modules();
  std::erase_if(modules, [](const Module& module) { return module.is_fixed; });
  if (modules.empty()) return;
  std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
  for (const Module& module : modules) {
    lowest = std::min(lowest, module.begin);
    highest = std::max(highest, module.end);
  }
  std::vector<std::uint64_t> words(modules.size());
  const auto scan = [&](Bytes piece) {
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= piece.size(); at += 8) {
      std::uintptr_t word = 0;
      std::memcpy(&word, piece.data() + at, sizeof word);
      if (word - lowest >= highest - lowest) [[likely]]
        continue;
      for (std::size_t i = 0; i < modules.size(); ++i) words[i] += modules[i].covers(word) ? 1 : 0;
    }
  };
  image_.for_each_piece(kModel, scan);
  image_.for_each_piece(kLps, scan);
  image_.for_each_piece(kEvents, scan);
  for (std::size_t i = 0; i < modules.size(); ++i)
    if (words[i] > 0)
      manifest.references.push_back(
          {modules[i].path, modules[i].build_id, modules[i].base, words[i]});
}

}  // namespace orrery::snapshot
