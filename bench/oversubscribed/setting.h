// SPDX-License-Identifier: Apache-2.0
//
// What is run: words of the form NAME=VALUE, each with a default. Wrong ones are refused by a
// sentence before anything is started.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "event.h"

namespace oversubscribed {

inline constexpr unsigned kMostRanks = 128;

struct Setting {
  std::string model = "phold";
  std::string kernel = "conservative";
  std::string way = "llf";
  unsigned ranks = 2;
  unsigned lps = 512;    ///< of all ranks together
  Ticks end = 200'000;   ///< events at this time or later are not executed
  unsigned work = 1000;  ///< of an event, in steps of about 3 ns
  unsigned remote = 20;  ///< of PHOLD's events, per cent that go to an LP anywhere
  unsigned interval =
      100;               ///< that ranks promise, per cent of the model's lookahead (conservative)
  unsigned round = 256;  ///< executed events of a rank after which it wants a round of GVT
  unsigned room = 1024;  ///< of a ring, in messages
  unsigned hogs = 0;     ///< processes beside that only compute
  unsigned limit = 60;   ///< seconds after which the run is given up
};

/// A sentence for who has started the program with words that mean nothing.
class WrongWord : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Setting setting_of(const std::vector<std::string>& words);

}  // namespace oversubscribed
