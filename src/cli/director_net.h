// SPDX-License-Identifier: Apache-2.0
//
// `orrery director net MACHINES.toml` and `orrery director set DIR NAME=VALUE ...`.
#pragma once

#include <csignal>
#include <optional>
#include <span>
#include <string>

#include "director/orders.h"

namespace orrery::cli {

struct NetRequest {
  director::Orders orders;
  std::string description, folder, csv;
  std::uint64_t seed = 1;
  bool force = false, json = false, quiet = false;
};

/// Runs machines until they have ended, the time is over, or one of `signals` comes, which are
/// blocked. Returns the exit code.
int run_director_net(const NetRequest& request, const sigset_t& signals);
/// Returns the exit code.
int run_director_set(std::span<const std::string> words);

/// Of --tick and --ceiling, and of the settings of the same names. `name` is for the sentence.
director::Nanoseconds read_tick(const std::string& name, const std::string& text);
double read_ceiling(const std::string& name, const std::string& text);
/// A number, or one with '%'. Nothing if the text is none.
std::optional<double> parse_share(const std::string& text);

}  // namespace orrery::cli
