// SPDX-License-Identifier: Apache-2.0
//
// What `orrery director` shows and writes: tables of threads, the table on the terminal, the samples
// of each tick, the summary as text and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "director/director.h"
#include "output/output_folder.h"
#include "output/terminal.h"

namespace orrery::cli {

double seconds(director::Nanoseconds time);

/// Directed threads, the least virtual time first. `most`: rows at most, 0 for all.
std::string thread_table(std::vector<director::ThreadView> views, const director::Figures& figures,
                         bool is_directed, const Terminal& terminal, std::size_t most);
/// The heading of a summary: for how long, on which cores.
std::string course_text(director::Director& director, const director::Orders& orders);
/// The spread and the lateness of the beat.
std::string spread_text(const director::Figures& figures, director::Nanoseconds tick);

/// The figures that all summaries have.
nlohmann::ordered_json figures_json(director::Director& director, const director::Orders& orders);
nlohmann::ordered_json spread_json(const director::SpreadCounts& counts);
std::string json_text(const nlohmann::ordered_json& json);

/// A table that replaces itself on the terminal.
class LiveTable {
 public:
  explicit LiveTable(bool quiet);
  ~LiveTable() { erase(); }
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  /// `table` gets the terminal and the most rows that fit.
  void draw(const std::function<std::string(const Terminal&, std::size_t)>& table);
  void erase();
  bool is_shown() const { return shown_; }

 private:
  std::string erase_text() const;
  Terminal terminal_;
  bool shown_ = false;
  std::size_t lines_ = 0;
};

/// The line below a live table.
std::string short_spread_text(const director::Figures& figures);

/// A CSV file that has a temporary name until it is complete.
class SampleFile {
 public:
  SampleFile(const std::string& path, bool force);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  /// Takes the samples so far. A thread that came and went between two calls has only its number.
  void take(director::Director& director);
  /// Takes the last samples, gives the file its name, and says on stderr how many could not be kept.
  void publish(director::Director& director);

 private:
  std::string temporary() const { return path_ + ".part"; }
  void write(const director::Sample& sample);

  std::string path_;
  std::optional<FileWriter> file_;
  std::map<std::uint32_t, std::string> columns_;
};

}  // namespace orrery::cli
