// SPDX-License-Identifier: Apache-2.0
//
// Brings snapshots to the disk, in a thread of its own, while the run goes on: looks for addresses
// that will not mean the same in another process, checksums, writes, synchronises, and at last
// renames the manifest into place; then what is older goes. So at any moment, also when the process
// or the machine dies in the middle, the folder holds the last snapshot that was whole.
//
// One that cannot be written (a full disk) is told and given up; the ones before stay, and the run
// goes on.
//
// Over ranks each writes its part, the manifest of the part last, into a folder that all of them
// see. The first rank's manifest waits for those of the others: a snapshot exists when all of it
// does. A part that fails never appears; that is noticed when the ranks meet again
// (give_up_if_missing).
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
    /// Before a manifest appears: what it refers to in the log of rows is on the disk. May throw
    /// UsageError.
    std::function<void()> synchronise_rows = [] {};
    /// By the writer's thread, a sentence for whom it concerns now.
    std::function<void(const std::string&)> tell;
  };
  /// `kept`: of what is in the folder already, the last one that stays for now; number 0: none.
  Writer(Folder folder, const Manifest& kept, Hooks hooks);
  /// Finishes what was begun.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Makes memory for it ready, beside the run. Before the first snapshot.
  void reserve(const ImageNeeds& needs);
  /// Where to take the next snapshot into; waits until the one before is written.
  Image& image();
  /// Hands it over; the rest of the manifest is filled in.
  void write(Manifest manifest);
  /// By the first rank: of snapshots up to that number the others have written what they will.
  void give_up_if_missing(unsigned number);
  /// Until all is written.
  void wait();

  // After wait().
  unsigned written() const { return written_; }
  unsigned failed() const { return failed_; }
  std::uint64_t last_bytes() const { return last_bytes_; }
  double longest_seconds() const { return longest_seconds_; }
  /// The last one that was written; 0: none.
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
  Image image_;                    ///< of the thread while there is a manifest, or needs
  std::uint64_t parts_bytes_ = 0;  ///< of other ranks, of the last one; of the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Manifest> manifest_;
  std::optional<ImageNeeds> needs_;
  bool closing_ = false;
  unsigned tried_ = 0;  ///< of snapshots up to that number no part is under way

  // Written by the thread before the manifest goes, under the mutex.
  unsigned last_, written_ = 0, failed_ = 0;
  std::string last_time_;
  std::uint64_t last_bytes_ = 0;
  double longest_seconds_ = 0;
  std::thread thread_;
};

}  // namespace orrery::snapshot
