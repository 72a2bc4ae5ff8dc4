// SPDX-License-Identifier: Apache-2.0
//
// Where a station of a radio channel is at which time: a track of points, straight and at constant
// speed from each to the next. Two points of one time are a jump.
//
// Tracks come from a list in the topology, or for all stations from a movement file of ns-2 (The ns
// Manual, "Mobile Networking": `set X_`, `setdest`), which setdest, BonnMotion and SUMO write.
// There `set X_` at a time is a jump, and who jumps stands there until it goes again; `setdest`
// with the speed 0 is to stand still.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::lab {

struct Place {
  double x = 0, y = 0;  ///< m
};

double distance_m(Place a, Place b);

class Track {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  Track() = default;
  explicit Track(Place place) : points_{{0, place}} {}

  bool is_empty() const { return points_.empty(); }
  /// Of its last point.
  std::int64_t last_ns() const { return points_.back().time; }
  /// Is there at `time`, no earlier than the last point.
  void add(std::int64_t time, Place place) { points_.push_back({time, place}); }
  /// From `time` on it goes from where it is then to `to`, so many metres a second; what it was
  /// about to do later is forgotten.
  void go(std::int64_t time, Place to, double metres_per_second);
  /// At `time` it is at `to` at once, and stands there; what it was about to do is forgotten, too.
  void jump(std::int64_t time, Place to);

  Place at(std::int64_t time) const;
  /// Until when it stays where it is at `time`; `time` if it moves.
  std::int64_t rests_until(std::int64_t time) const;

 private:
  struct Point {
    std::int64_t time;
    Place place;
  };
  /// The number of points up to `time`.
  std::size_t passed(std::int64_t time) const;

  std::vector<Point> points_;
};

/// "10s 1.5 20": a point of a track, after those that it has. A sentence, if it is none.
std::string add_waypoint(Track& track, std::string_view text);

/// The tracks of stations 0 to `stations` - 1 from a file of ns-2; empty of those that are not in
/// it. Throws UsageError with file and line for what it does not know.
std::vector<Track> read_ns2_movement(const std::string& path, std::size_t stations);

}  // namespace orrery::lab
