// SPDX-License-Identifier: Apache-2.0
//
// A radio channel and the cards of all stations on it: who transmits when (carrier sense with
// back-off and acknowledgements, IEEE 802.11 DCF without RTS/CTS, as the model `wireless` has it),
// what reaches whom, and what is lost to noise, to other signals and to stations that do not
// listen. Frames for one station are acknowledged and repeated, frames for all are sent once.
//
// One object holds all stations. In `wireless` each is an LP and the channel is none, since there
// the stations are all there is to do; here a frame's way over the air costs some microseconds, and
// the hosts at its two ends ten times that, so the hosts are what has to run side by side, and the
// delay between a host and its card is their lookahead.
//
// It has an agenda of its own, and whoever has it calls advance(T), as of a guest (guest.h). What
// comes at one time is done in an order that does not depend on how far advance() was called.
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
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};  ///< a frame for all, or for a group
  static constexpr std::uint32_t kNobody = kAll - 1;        ///< whose address no station has

  /// A data frame that was on the air, once it has ended everywhere.
  struct Transmission {
    std::int64_t begin_ns, airtime_ns;  ///< at the antenna of who sent it
    std::uint32_t from, to;             ///< station, kAll or kNobody
    std::uint32_t bytes;                ///< of the Ethernet frame
    std::uint32_t tries;                ///< the how manieth of this frame
    std::uint32_t heard;                ///< stations for which it is that have it
  };
  /// What a station did.
  struct Counts {
    std::uint64_t attempts = 0, failed = 0, given_up = 0, queue_drops = 0, received = 0;
    std::int64_t airtime_ns = 0, busy_ns = 0;
  };
  enum class Drop : std::uint8_t { queue_full, given_up };

  class Listener {
   public:
    /// A station has a frame for its host, decoded at `time`, no earlier than those before.
    virtual void received(unsigned station, std::int64_t time,
                          std::span<const std::byte> frame) = 0;
    virtual void transmitted(const Transmission& one) = 0;
    virtual void dropped(unsigned station, Drop why, std::size_t bytes) = 0;

   protected:
    ~Listener() = default;
  };

  /// `radio` and `listener` live as long. `addresses`: of the stations; a frame that a host sends
  /// from another address gives it that one, too.
  RadioChannel(const Radio& radio, std::span<const Address> addresses, std::uint64_t random_key,
               Listener& listener);

  /// A host's frame reaches its card at that time, which no advance() has reached.
  void arrive(unsigned station, std::int64_t time, std::span<const std::byte> frame);
  /// Does all that is to be done before `until`.
  void advance(std::int64_t until);
  /// When something is to be done again.
  std::int64_t next() const { return agenda_.empty() ? kNever : agenda_.top().time; }

  const Counts& counts(unsigned station) const { return stations_[station].counts; }
  /// Ends the counting of the time that a station finds the medium busy.
  void finish(std::int64_t end);

 private:
  using Frame = std::shared_ptr<const std::vector<std::byte>>;
  enum class Mac : std::uint8_t {
    idle,          ///< nothing to send
    contending,    ///< waits for the medium and its back-off
    transmitting,  ///< or waits for the acknowledgement
  };
  /// In the order in which they come at one time.
  enum class Kind : std::uint8_t { arrival, signal_end, signal_start, over, access };
  struct Doing {
    std::int64_t time;
    Kind kind;
    std::uint32_t station;
    float share;           ///< of a signal: how probable it is that it is understood
    double power_w;        ///< of a signal
    std::uint64_t number;  ///< of the signal, or of the attempt that this is about
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
    std::uint32_t frame_number;  ///< of who sends it; of an acknowledgement: which it is of
    const wireless::Rate* rate;
    wireless::Demand demand;  ///< of its rate
    Frame frame;
    std::uint32_t ends;  ///< stations at which it has not ended yet
  };
  struct Neighbour {
    std::uint32_t station;
    float share;
    double power_w;
    std::int64_t delay_ns;
  };
  /// Who hears a station, until that changes.
  struct Neighbours {
    std::int64_t valid_until = 0;
    std::vector<Neighbour> all;
  };
  struct Station {
    std::deque<Frame> coming;  ///< from the host
    std::deque<Frame> queue;   ///< the first is being sent
    Mac mac = Mac::idle;
    std::uint32_t contention_window = wireless::kContentionMinimum;
    std::uint32_t tries = 0, frame_number = 0, to = kNobody;  ///< of the first frame
    wireless::Countdown countdown;
    std::uint64_t access_number = 0, attempt = 0;  ///< what else is in the agenda is out of date
    Time transmits_until, defers_until, busy_since, idle_since;
    bool busy = false;
    wireless::Receiver receiver;
    float incoming_share = 1;                            ///< of what the receiver is locked on
    std::map<std::uint32_t, std::uint32_t> last_frames;  ///< number of the last by sender
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
  std::int64_t state_until_ = 0;  ///< when what busy_from_w_ is made of changes
  std::vector<Station> stations_;
  std::unordered_map<std::uint64_t, std::uint32_t> owners_;  ///< station by address
  std::vector<Signal> signals_;                              ///< by number
  std::vector<std::uint64_t> free_signals_;
  std::priority_queue<Doing, std::vector<Doing>, std::greater<>> agenda_;
  std::uint64_t order_ = 0;
  Time now_;
};

}  // namespace orrery::lab
