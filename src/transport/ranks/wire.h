// SPDX-License-Identifier: Apache-2.0
//
// A wire is a back-end that carries parcels between ranks. There are three (memory_wire.h,
// local_wire.h, mpi_wire.h), and they do as little as possible: they deliver whole parcels, in
// order from each rank to each other one, without loss. Credits, collectives and the rest are the
// same for all and lie above (rank_transport.h).
//
// A wire is used by one thread at a time, and blocks only in `wait`.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "transport/ranks/parcel.h"

namespace orrery::transport {

/// The ranks cannot go on: one has ended, or the system refuses what they need to communicate. The
/// text is a whole sentence.
class RankFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The system has refused the processes, sockets or memory to start ranks.
class RankRefused : public RankFailure {
 public:
  using RankFailure::RankFailure;
};

/// Another rank has ended, or closed its end, before all had agreed to part.
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
  /// What this rank has, as words behind its name ("with the LPs a, b"), in case it dies. Only a wire
  /// whose ranks have a parent that names them passes this on.
  virtual void about(std::string_view) {}

  /// Sends to another rank. Takes the parcel and returns; parcels that cannot go at once wait here.
  virtual void send(unsigned to, Parcel parcel) = 0;
  /// Parcels sent from now on may wait until flush(), or until an earlier progress(), so that they
  /// go together.
  virtual void hold() {}
  virtual void flush() {}
  /// Sends and receives as far as possible, and calls deliver(from, parcel) for each parcel that
  /// has come. Returns whether anything came or went. Throws RankLost.
  using Deliver = std::function<void(unsigned from, Parcel parcel)>;
  virtual bool progress(const Deliver& deliver) = 0;
  /// Whether a look that finds nothing costs less than a system call, so that looks may be
  /// frequent.
  virtual bool looks_are_cheap() const { return false; }
  /// Whether everything given to `send` has left.
  virtual bool is_drained() const = 0;
  /// Sleeps until something may have come, at most for `most`.
  virtual void wait(std::chrono::microseconds most) = 0;
  /// Call when all have agreed to part: from now on the end of another rank is no failure.
  virtual void part() = 0;
  /// Ends the run on all ranks as far as this one can; the process ends with `code` afterwards. By
  /// any thread.
  virtual void abandon(int code) noexcept = 0;
};

}  // namespace orrery::transport
