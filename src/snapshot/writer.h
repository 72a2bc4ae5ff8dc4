// SPDX-License-Identifier: Apache-2.0
//
// Writes snapshots to the disk, in its own thread, while the run goes on. It searches for addresses
// that are not valid in another process, computes checksums, writes, synchronises, renames the
// manifest into place, and then removes older snapshots. So at any moment, also after a crash of
// the process or the machine, the folder holds the last complete snapshot.
//
// A snapshot that cannot be written (a full disk) is reported and given up. The earlier ones stay,
// and the run goes on.
//
// Each rank writes its part, with the part's manifest last, into a folder that all ranks see. The
// first rank writes its manifest when those of the others exist, so a snapshot exists only when it
// is complete. The manifest of a failed part never appears. The first rank learns of this when the
// ranks meet again (give_up_if_missing).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "snapshot/folder.h"
#include "snapshot/image.h"

namespace orrery::snapshot {

class Writer {
 public:
  struct Hooks {
    /// Called before a manifest appears: puts the rows that it refers to on the disk. May throw
    /// UsageError.
    std::function<void()> synchronise_rows = [] {};
    /// Called by the writer's thread with a sentence for the user.
    std::function<void(const std::string&)> tell;
  };
  /// `kept`: the last existing snapshot, which stays for now; number 0: none.
  Writer(Folder folder, const Manifest& kept, Hooks hooks);
  /// Finishes the snapshot that is being written.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Prepares memory while the run goes on. Call it before the first snapshot.
  void reserve(const ImageNeeds& needs);
  /// The image for the next snapshot; waits until the last one is written.
  Image& image();
  /// Hands the image over; the writer completes the manifest.
  void write(Manifest manifest);
  /// Called by the first rank: the other ranks have finished, or given up, snapshots up to
  /// `number`.
  void give_up_if_missing(unsigned number);
  /// Waits until all is written.
  void wait();

  // After wait().
  unsigned written() const { return written_; }
  unsigned failed() const { return failed_; }
  std::uint64_t last_bytes() const { return last_bytes_; }
  double longest_seconds() const { return longest_seconds_; }
  /// Number of the last snapshot that was written; 0: none.
  unsigned last() const { return last_; }
  const std::string& last_time() const { return last_time_; }

 private:
  void run();
  void reserve_now(std::unique_lock<std::mutex>& lock);
  void write_one(Manifest& manifest);
  void await_parts(Manifest& manifest);
  bool has_parts(const Manifest& manifest) const;
  void write_contents(Manifest& manifest) const;
  void write_manifest(const Manifest& manifest) const;
  void find_references(Manifest& manifest) const;

  const Folder folder_;
  const Hooks hooks_;
  Image image_;                    ///< owned by the thread while manifest_ or needs_ is set
  std::uint64_t parts_bytes_ = 0;  ///< other ranks' bytes of the last snapshot; the thread's

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Manifest> manifest_;
  std::optional<ImageNeeds> needs_;
  bool closing_ = false;
  unsigned tried_ = 0;  ///< no part of a snapshot up to this number is being written

  // Written by the thread before it resets manifest_, under the mutex.
  unsigned last_, written_ = 0, failed_ = 0;
  std::string last_time_;
  std::uint64_t last_bytes_ = 0;
  double longest_seconds_ = 0;
  std::thread thread_;
};

}  // namespace orrery::snapshot
