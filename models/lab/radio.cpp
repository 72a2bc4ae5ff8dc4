// SPDX-License-Identifier: Apache-2.0
#include "radio.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "at_time.h"
#include "orrery/error.h"
#include "orrery/input_file.h"
#include "toml_table.h"

namespace orrery::lab {
namespace {

const wireless::Rate& read_rate(const TomlTable& table, std::string_view key,
                                const wireless::Rate& otherwise) {
  if (!table.has(key)) return otherwise;
  const std::uint64_t bits_per_s = table.rate(key, 0);
  for (const wireless::Rate& one : wireless::kRates)
    if (static_cast<std::uint64_t>(one.megabits_per_second) * 1'000'000 == bits_per_s) return one;
  table.fail_at(key, "a station sends at 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s");
}

}  // namespace

const RadioState& Radio::at(std::int64_t time) const {
  return at_time(states, time);
}

const Connectivity& Radio::connectivity_at(std::int64_t time) const {
  return at_time(connectivity, time);
}

std::int64_t Radio::changes_after(std::int64_t time) const {
  return begins_after(states, time, begins_after(connectivity, time, Track::kNever));
}

void read_radio_state(const TomlTable& table, RadioState& state) {
  state.rate = &read_rate(table, "rate", *state.rate);
  state.broadcast_rate = &read_rate(table, "broadcast_rate", *state.broadcast_rate);
  state.power_dbm = table.real("power", -30, 40, state.power_dbm);
  state.path_loss = table.real("path_loss", 1.5, 6, state.path_loss);
  state.carrier_sense_dbm = table.real("carrier_sense", -150, 0, state.carrier_sense_dbm);
}

void read_radio(const TomlTable& table, Radio& radio) {
  read_radio_state(table, radio.states[0]);
  constexpr double kGiga = 1e9;
  radio.frequency_hz = kGiga * table.real("frequency", 0.1, 100, radio.frequency_hz / kGiga);
  radio.floor_dbm =
      table.real("floor", -150, wireless::kBasicRate.sensitivity_dbm, radio.floor_dbm);
  radio.fading = table.choice("fading", {"none", "rayleigh"}) == 1;
  constexpr wireless::Judgement kJudgements[] = {wireless::Judgement::error_rate,
                                                 wireless::Judgement::threshold,
                                                 wireless::Judgement::collision};
  radio.reception =
      kJudgements[table.choice("reception", {"error_rate", "threshold", "collision"})];
  radio.retries = static_cast<unsigned>(table.integer("retries", 1, 255, radio.retries));
  radio.queue = static_cast<unsigned>(table.integer("queue", 1, 1'000'000, radio.queue));
}

namespace {

class ConnectivityFile {
 public:
  ConnectivityFile(const std::string& path, std::size_t stations)
      : path_(path), stations_(stations) {}

  std::vector<Connectivity> read() {
    std::istringstream file(read_input_file(path_, "connectivity file"));
    for (std::string text; std::getline(file, text);) {
      ++line_;
      text.resize(std::min(text.find('#'), text.size()));
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      std::istringstream words(text);
      words.imbue(std::locale::classic());
      if (text.find("at") != std::string::npos) {
        begin(words);
      } else {
        add_row(words);
      }
    }
    end();
    if (all_.empty() || all_.front().from_ns != 0) fail("the first table begins with 'at 0s'");
    return std::move(all_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(path_ + ":" + std::to_string(line_) + ": " + what);
  }

  void begin(std::istringstream& words) {
    end();
    std::string word, time;
    words >> word >> time;
    const auto from = parse_time(time);
    if (word != "at" || !from || !(words >> std::ws).eof())
      fail("a table begins with its time, 'at 10s'");
    if (!all_.empty() && *from <= all_.back().from_ns)
      fail("tables are in the order of their times");
    all_.push_back({*from, {}});
  }

  void add_row(std::istringstream& words) {
    if (all_.empty()) fail("a table begins with its time, 'at 0s'");
    std::size_t count = 0;
    for (double share; words >> share; ++count) {
      if (!(share >= 0 && share <= 1)) fail("a number of a row is from 0 to 1");
      all_.back().shares.push_back(share);
    }
    if (!words.eof() || count != stations_)
      fail("a row has a number for each of the " + std::to_string(stations_) + " stations");
  }

  void end() const {
    if (all_.empty() || all_.back().shares.size() == stations_ * stations_) return;
    fail("the table before this has not a row for each of the " + std::to_string(stations_) +
         " stations");
  }

  const std::string path_;
  const std::size_t stations_;
  std::size_t line_ = 0;
  std::vector<Connectivity> all_;
};

}  // namespace

std::vector<Connectivity> read_connectivity(const std::string& path, std::size_t stations) {
  return ConnectivityFile(path, stations).read();
}

}  // namespace orrery::lab
