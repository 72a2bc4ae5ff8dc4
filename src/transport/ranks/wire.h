// SPDX-License-Identifier: Apache-2.0
//
// What carries parcels between ranks: a back-end. There are three (memory_wire.h, local_wire.h,
// mpi_wire.h), and they do as little as possible: whole parcels, in order from each rank to each
// other one, none lost. Credits, collectives and everything else are the same for all and lie above
// (rank_transport.h).
//
// A wire is used by one thread at a time, and never waits but in `wait`.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "transport/ranks/parcel.h"

namespace orrery::transport {

/// Ranks cannot go on together: one is gone, or the system refuses what they need to talk. A whole
/// sentence.
class RankFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another rank has ended, or closed its end, before all had agreed to part.
/// The system has not let ranks begin: no processes, sockets or memory for them.
class RankRefused : public RankFailure {
 public:
  using RankFailure::RankFailure;
};

class RankLost : public RankFailure {
 public:
  explicit RankLost(unsigned rank)
      : RankFailure("rank " + std::to_string(rank) +
                    " ended before the run was over, so the run is ended, and what it had computed "
                    "is lost"),
        rank_(rank) {}
  unsigned rank() const { return rank_; }

 private:
  unsigned rank_;
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual unsigned rank() const = 0;
  virtual unsigned ranks() const = 0;
  /// "local", for reports.
  virtual std::string name() const = 0;

  /// To another rank. Takes the parcel and returns; what cannot go at once waits in here.
  virtual void send(unsigned to, Parcel parcel) = 0;
  /// What is sent from now on may wait until flush(), or what progress() there is before, so that
  /// it goes together.
  virtual void hold() {}
  virtual void flush() {}
  /// Moves on what can be moved, and hands over what has come: deliver(from, parcel). Returns
  /// whether anything came or went. Throws RankLost.
  using Deliver = std::function<void(unsigned from, Parcel parcel)>;
  virtual bool progress(const Deliver& deliver) = 0;
  /// Whether to find nothing costs less than a call of the system: then a look may be taken more
  /// often.
  virtual bool looks_are_cheap() const { return false; }
  /// Whether everything that was given to `send` has left.
  virtual bool is_drained() const = 0;
  /// Sleeps until something may have come, or so long.
  virtual void wait(std::chrono::microseconds most) = 0;
  /// All have agreed to part: that others go from now on is no failure.
  virtual void part() = 0;
  /// Ends the run on all ranks as far as that can be done from here; the process ends with `code`
  /// afterwards. By any thread.
  virtual void abandon(int code) noexcept = 0;
};

}  // namespace orrery::transport
