// SPDX-License-Identifier: Apache-2.0
#include "movement.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "orrery/error.h"
#include "orrery/input_file.h"
#include "orrery/math.h"
#include "toml_table.h"

namespace orrery::lab {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kLatest = 9e9;  // s

}  // namespace

double distance_m(Place a, Place b) {
  const double dx = a.x - b.x, dy = a.y - b.y;
  return math::sqrt(math::product(dx, dx) + math::product(dy, dy));
}

std::size_t Track::passed(std::int64_t time) const {
  const auto later =
      std::upper_bound(points_.begin(), points_.end(), time,
                       [](std::int64_t at, const Point& point) { return at < point.time; });
  return static_cast<std::size_t>(later - points_.begin());
}

Place Track::at(std::int64_t time) const {
  const std::size_t next = passed(time);
  if (next == 0) return points_.front().place;
  if (next == points_.size()) return points_.back().place;
  const Point &from = points_[next - 1], &to = points_[next];
  const double share =
      static_cast<double>(time - from.time) / static_cast<double>(to.time - from.time);
  return {from.place.x + math::product(to.place.x - from.place.x, share),
          from.place.y + math::product(to.place.y - from.place.y, share)};
}

std::int64_t Track::rests_until(std::int64_t time) const {
  std::size_t next = passed(time);
  if (next == 0) return points_.front().time;
  const Place here = points_[next - 1].place;
  for (std::int64_t until = time;; until = points_[next++].time) {
    if (next == points_.size()) return kNever;
    if (points_[next].place.x != here.x || points_[next].place.y != here.y) return until;
  }
}

void Track::go(std::int64_t time, Place to, double metres_per_second) {
  const Place from = at(time);
  points_.resize(passed(time));
  add(time, from);
  if (metres_per_second <= 0) return;
  const double seconds = distance_m(from, to) / metres_per_second;
  const double latest = kLatest - static_cast<double>(time) / kNanoseconds;
  add(time + std::llround(math::product(std::min(seconds, latest), kNanoseconds)), to);
}

void Track::jump(std::int64_t time, Place to) {
  const Place from = at(time);
  points_.resize(passed(time));
  add(time, from);
  add(time, to);
}

std::string add_waypoint(Track& track, std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string time;
  Place place;
  if (!(words >> time >> place.x >> place.y) || !(words >> std::ws).eof())
    return "a waypoint is a time and a place in metres, \"10s 1.5 20\"";
  const auto at = parse_time(time);
  if (!at) return "the time '" + time + "' of a waypoint is a number and its unit, \"10s\"";
  if (!track.is_empty() && *at < track.last_ns()) return "waypoints are in the order of time";
  track.add(*at, place);
  return "";
}

// ---- Files of ns-2

namespace {

class Ns2File {
 public:
  Ns2File(const std::string& path, std::size_t stations)
      : path_(path), tracks_(stations), begins_(stations) {}

  std::vector<Track> read() {
    std::istringstream file(read_input_file(path_, "movement file"));
    for (std::string text; std::getline(file, text);) {
      ++line_;
      read_line(text);
    }
    std::stable_sort(moves_.begin(), moves_.end(),
                     [](const Move& a, const Move& b) { return a.time < b.time; });
    for (std::size_t i = 0; i < tracks_.size(); ++i)
      if (begins_[i].known) tracks_[i] = Track(begins_[i].place);
    for (const Move& move : moves_) apply(move);
    return std::move(tracks_);
  }

 private:
  struct Begin {
    Place place;
    bool known = false;
  };
  struct Move {
    std::int64_t time;
    std::size_t station, line;
    char axis;      ///< X, Y or Z: a jump along this axis; 0: a movement
    double metres;  ///< coordinate after the jump
    Place to;       ///< destination of the movement, with the speed below
    double metres_per_second;
  };

  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw UsageError(path_ + ":" + std::to_string(line) + ": " + what);
  }

  void read_line(const std::string& text) {
    static const std::regex kNothing(R"(\s*(#.*)?|\s*\$god_.*|.*"\$god_.*|\s*set\s+god_.*)");
    static const std::regex kAt(R"re(\s*\$ns_\s+at\s+([-+.\deE]+)\s+"([^"]*)"\s*;?\s*)re");
    static const std::regex kSet(R"(\s*\$node_\((\d+)\)\s+set\s+([XYZ])_\s+([-+.\deE]+)\s*;?\s*)");
    static const std::regex kGo(
        R"(\s*\$node_\((\d+)\)\s+setdest\s+([-+.\deE]+)\s+([-+.\deE]+)\s+([-+.\deE]+)\s*;?\s*)");
    if (std::regex_match(text, kNothing)) return;
    std::smatch at, found;
    const bool is_later = std::regex_match(text, at, kAt);
    const std::string what = is_later ? at[2].str() : text;
    if (std::regex_match(what, found, kSet)) {
      const char axis = *found[2].first;
      if (is_later)
        moves_.push_back({time(at[1]), station(found[1]), line_, axis, number(found[3]), {}, 0});
      else
        begin(begins_[station(found[1])], axis, number(found[3]));
    } else if (is_later && std::regex_match(what, found, kGo)) {
      moves_.push_back({time(at[1]),
                        station(found[1]),
                        line_,
                        0,
                        0,
                        {number(found[2]), number(found[3])},
                        speed(found[4])});
    } else {
      fail(line_,
           "a line of a movement file is '$node_(I) set X_ METRES' (or Y_, Z_), '$ns_ at SECONDS "
           "\"$node_(I) setdest X Y SPEED\"' or '$ns_ at SECONDS \"$node_(I) set X_ METRES\"'; "
           "this is '" +
               text + "'");
    }
  }

  static Place on(char axis, Place place, double metres) {
    if (axis == 'X') place.x = metres;
    if (axis == 'Y') place.y = metres;
    return place;
  }

  static void begin(Begin& begin, char axis, double metres) {
    begin = {on(axis, begin.place, metres), true};
  }

  std::int64_t time(const std::string& text) const {
    const double seconds = number(text);
    if (seconds < 0 || seconds > kLatest) fail(line_, "there is no time " + text);
    return std::llround(math::product(seconds, kNanoseconds));
  }

  double speed(const std::string& text) const {
    const double metres_per_second = number(text);
    if (metres_per_second < 0)
      fail(line_, "the speed " + text + " is negative; it is 0 (it stands still) or more");
    return metres_per_second;
  }

  std::size_t station(const std::string& text) const {
    const double one = number(text);
    if (one >= static_cast<double>(tracks_.size()))
      fail(line_, "there is a node " + text + ", and the channel has " +
                      std::to_string(tracks_.size()) + " stations, from 0 on");
    return static_cast<std::size_t>(one);
  }

  double number(const std::string& text) const {
    std::istringstream words(text);
    words.imbue(std::locale::classic());
    double value = 0;
    if (!(words >> value) || !words.eof()) fail(line_, "'" + text + "' is no number");
    return value;
  }

  /// A station without an initial position starts where it jumps to at 0 s. Heights are ignored.
  void apply(const Move& move) {
    Track& track = tracks_[move.station];
    if (track.is_empty() && move.axis != 0 && move.time == 0) track = Track(Place{});
    if (track.is_empty())
      fail(move.line, "node " + std::to_string(move.station) +
                          " goes, and no line says where it is before ('set X_' and 'set Y_')");
    if (move.axis == 0)
      track.go(move.time, move.to, move.metres_per_second);
    else if (move.axis != 'Z')
      track.jump(move.time, on(move.axis, track.at(move.time), move.metres));
  }

  const std::string path_;
  std::size_t line_ = 0;
  std::vector<Track> tracks_;
  std::vector<Begin> begins_;
  std::vector<Move> moves_;
};

}  // namespace

std::vector<Track> read_ns2_movement(const std::string& path, std::size_t stations) {
  return Ns2File(path, stations).read();
}

}  // namespace orrery::lab
