// SPDX-License-Identifier: Apache-2.0
//
// The position of a radio station over time: a track of points, with straight movement at constant
// speed from each point to the next. Two points of the same time are a jump.
//
// Tracks come from a list in the topology, or for all stations from a movement file of ns-2 (The ns
// Manual, "Mobile Networking": `set X_`, `setdest`), which setdest, BonnMotion and SUMO write.
// There `set X_` at a time is a jump, after which the station stands still until the next
// `setdest`. `setdest` with speed 0 stops the station.
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
  /// Time of the last point.
  std::int64_t last_ns() const { return points_.back().time; }
  /// Adds a point at `time`, no earlier than the last point.
  void add(std::int64_t time, Place place) { points_.push_back({time, place}); }
  /// From `time` on the station moves from its position at that time to `to`, with the speed in
  /// m/s. Later points are removed.
  void go(std::int64_t time, Place to, double metres_per_second);
  /// At `time` the station jumps to `to` and stands there. Later points are removed.
  void jump(std::int64_t time, Place to);

  Place at(std::int64_t time) const;
  /// Until when the station stays at its position of `time`; `time` if it moves.
  std::int64_t rests_until(std::int64_t time) const;

 private:
  struct Point {
    std::int64_t time;
    Place place;
  };
  /// Number of points up to `time`.
  std::size_t passed(std::int64_t time) const;

  std::vector<Point> points_;
};

/// Adds the point "10s 1.5 20" at the end of a track. Returns an error message, or "" on success.
std::string add_waypoint(Track& track, std::string_view text);

/// The tracks of stations 0 to `stations` - 1 from a file of ns-2; empty for stations that are not
/// in the file. Throws UsageError with file and line for unknown text.
std::vector<Track> read_ns2_movement(const std::string& path, std::size_t stations);

}  // namespace orrery::lab
