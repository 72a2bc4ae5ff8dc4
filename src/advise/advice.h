// SPDX-License-Identifier: Apache-2.0
//
// The advice of `orrery advise`, and its forms: a text for the terminal, JSON, tables, a picture.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "advise/guidelines.h"
#include "advise/measurement.h"
#include "advise/offers.h"
#include "output/terminal.h"
#include "study/plain_table.h"

namespace orrery::advise {

struct Advice {
  std::string model;                     ///< as the user named it
  std::vector<std::string> run_command;  ///< "run MODEL --set ..." as typed, without engine
  Findings findings;
  unsigned cores = 1;
  std::string currency;
  bool has_table = false;  ///< a table of machines was given
  Limits limits;
  Offers offers;                           ///< empty without a table
  std::size_t chosen = 0;                  ///< index in findings.measured: the fastest here
  std::optional<std::size_t> recommended;  ///< index in the offers
  std::vector<Guideline> guidelines;

  /// The recommended configuration: on the recommended machine, or here.
  const Configuration& configuration() const;
  /// "orrery run ..." for a shell.
  std::string command() const;
};

/// Nothing if no configuration could be measured.
std::optional<Advice> make_advice(Findings findings, const std::vector<Machine>& machines,
                                  const Limits& limits, unsigned cores);

std::string advice_text(const Advice& advice, const Terminal& terminal);
nlohmann::ordered_json advice_json(const Advice& advice);
/// "configurations" and, with a table of machines, "machines".
std::vector<study::PlainTable> advice_tables(const Advice& advice);
/// Time against cost, with the efficient frontier, as SVG.
std::string advice_picture(const Advice& advice);

}  // namespace orrery::advise
