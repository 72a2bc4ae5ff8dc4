// SPDX-License-Identifier: Apache-2.0
//
// A radio channel and the cards of all its stations: medium access (carrier sense with back-off and
// acknowledgements, IEEE 802.11 DCF without RTS/CTS, as in the model `wireless`), propagation, and
// losses by noise, by other signals and by stations that do not listen. Frames for one station are
// acknowledged and repeated, frames for all are sent once.
//
// One object holds all stations. In `wireless` each station is an LP and there is no channel, since
// stations are the whole work there. Here a frame's way over the air costs some microseconds, and
// the hosts at its two ends ten times as much. So the hosts have to run side by side, and the delay
// between a host and its card is their lookahead.
//
// The channel has an agenda of its own, and advance(T) executes it, as for a guest (guest.h). The
// order of entries of one time does not depend on the times for which advance() was called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "../common/countdown.h"
#include "../common/reception.h"
#include "orrery/random.h"
#include "orrery/time.h"
#include "radio.h"

namespace orrery::lab {

class RadioChannel {
 public:
  using Address = std::array<std::uint8_t, 6>;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};  ///< a frame for all or for a group
  static constexpr std::uint32_t kNobody = kAll - 1;        ///< a frame for an unknown address

  /// A data frame that was on the air and has ended at all stations.
  struct Transmission {
    std::int64_t begin_ns, airtime_ns;  ///< at the sender's antenna
    std::uint32_t from, to;             ///< station, kAll or kNobody
    std::uint32_t bytes;                ///< of the Ethernet frame
    std::uint32_t tries;                ///< number of transmissions of this frame so far
    std::uint32_t heard;                ///< addressed stations that received the frame
  };
  /// Counts of a station.
  struct Counts {
    std::uint64_t attempts = 0, failed = 0, given_up = 0, queue_drops = 0, received = 0;
    std::int64_t airtime_ns = 0, busy_ns = 0;
  };
  enum class Drop : std::uint8_t { queue_full, given_up };

  class Listener {
   public:
    /// A station has a frame for its host, decoded at `time`, no earlier than the frames before.
    virtual void received(unsigned station, std::int64_t time,
                          std::span<const std::byte> frame) = 0;
    virtual void transmitted(const Transmission& one) = 0;
    virtual void dropped(unsigned station, Drop why, std::size_t bytes) = 0;

   protected:
    ~Listener() = default;
  };

  /// `radio` and `listener` must live as long as this object. `addresses` and
  /// `random_keys`: of the stations. A frame
  /// that a host sends from another address adds that address to its station.
  RadioChannel(const Radio& radio, std::span<const Address> addresses,
               std::span<const std::uint64_t> random_keys, Listener& listener);

  /// A host's frame reaches its card at `time`, which no advance() has reached.
  void arrive(unsigned station, std::int64_t time, std::span<const std::byte> frame);
  /// Executes all entries of the agenda before `until`.
  void advance(std::int64_t until);
  /// Time of the next entry of the agenda.
  std::int64_t next() const { return agenda_.empty() ? kNever : agenda_.top().time; }

  const Counts& counts(unsigned station) const { return stations_[station].counts; }
  /// Ends the counting of the time for which stations sense a busy medium.
  void finish(std::int64_t end);

 private:
  using Frame = std::shared_ptr<const std::vector<std::byte>>;
  enum class Mac : std::uint8_t {
    idle,          ///< nothing to send
    contending,    ///< waits for the medium and its back-off
    transmitting,  ///< or waits for the acknowledgement
  };
  /// The order of the kinds at one time.
  enum class Kind : std::uint8_t { arrival, signal_end, signal_start, over, access };
  struct Doing {
    std::int64_t time;
    Kind kind;
    std::uint32_t station;
    float share;           ///< of a signal: probability that it can be decoded
    double power_w;        ///< of a signal
    std::uint64_t number;  ///< of the signal, access or attempt
    std::uint64_t order;
    bool operator>(const Doing& other) const {
      if (time != other.time) return time > other.time;
      if (kind != other.kind) return kind > other.kind;
      return station != other.station ? station > other.station : order > other.order;
    }
  };
  /// A frame on the air.
  struct Signal {
    Transmission what;
    bool is_data;
    std::uint32_t frame_number;  ///< of the sender; an acknowledgement has that of its frame
    const wireless::Rate* rate;
    wireless::Demand demand;  ///< of its rate
    Frame frame;
    std::uint32_t ends;  ///< number of stations at which the signal has not ended yet
  };
  struct Neighbour {
    std::uint32_t station;
    float share;
    double power_w;
    std::int64_t delay_ns;
  };
  /// The stations that receive a station's signals, until this changes.
  struct Neighbours {
    std::int64_t valid_until = 0;
    std::vector<Neighbour> all;
  };
  struct Station {
    std::deque<Frame> coming;  ///< from the host
    std::deque<Frame> queue;   ///< the station is sending the first
    Mac mac = Mac::idle;
    std::uint32_t contention_window = wireless::kContentionMinimum;
    std::uint32_t tries = 0, frame_number = 0, to = kNobody;  ///< of the first frame
    wireless::Countdown countdown;
    std::uint64_t access_number = 0, attempt = 0;  ///< others in the agenda are outdated
    Time transmits_until, defers_until, busy_since, idle_since;
    bool busy = false;
    wireless::Receiver receiver;
    float incoming_share = 1;                            ///< of the frame being received
    std::map<std::uint32_t, std::uint32_t> last_frames;  ///< by sender: number of its last frame
    Neighbours neighbours;
    Random random;
    Counts counts;
  };

  void add(Time time, Kind kind, std::uint32_t station, std::uint64_t number, double power_w = 0,
           float share = 1);
  void refresh();
  void do_next(const Doing& doing);
  std::uint32_t owner_of(const Frame& frame) const;
  const std::vector<Neighbour>& neighbours_of(std::uint32_t from);
  void find_neighbours(std::uint32_t from);

  void frame_comes(std::uint32_t id);
  void begin_contention(std::uint32_t id, Time earliest);
  void resume(std::uint32_t id, Time earliest);
  void pause(Station& station, Time busy_from);
  void access(std::uint32_t id, std::uint64_t number);
  void transmit(std::uint32_t id);
  void emit(std::uint32_t id, Duration lead, Signal&& signal);
  void over(std::uint32_t id, std::uint64_t attempt);
  void frame_done(std::uint32_t id, Time earliest);
  void frame_failed(std::uint32_t id);

  void signal_starts(const Doing& doing);
  void signal_ends(const Doing& doing);
  void frame_ends(std::uint32_t id, Signal& signal);
  void data_received(std::uint32_t id, Signal& signal);
  void acknowledged(std::uint32_t id, const Signal& signal);
  void sense(Station& station);
  void release(std::uint64_t number);

  const Radio& radio_;
  Listener& listener_;
  wireless::ReceiverSettings receiver_;
  double busy_from_w_ = 0;
  std::int64_t state_until_ = 0;  ///< until then busy_from_w_ is valid
  std::vector<Station> stations_;
  std::unordered_map<std::uint64_t, std::uint32_t> owners_;  ///< station by address
  std::vector<Signal> signals_;                              ///< by number
  std::vector<std::uint64_t> free_signals_;
  std::priority_queue<Doing, std::vector<Doing>, std::greater<>> agenda_;
  std::uint64_t order_ = 0;
  Time now_;
};

}  // namespace orrery::lab
