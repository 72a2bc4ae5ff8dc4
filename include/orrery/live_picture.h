// SPDX-License-Identifier: Apache-2.0
//
// A picture of the present state of a model, for the page of --live: nodes, and lines between them
// that carry something. The page colours each line by its load since the last picture.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/event.h"
#include "orrery/logical_process.h"

namespace orrery {

struct LivePicture {
  enum class Shape : std::uint8_t { circle, box };
  struct Node {
    std::string name;
    double x = 0, y = 0;  ///< in any unit; y grows downwards
    Shape shape = Shape::circle;
    std::string text = {};  ///< about its present state, any bytes; may be empty
  };
  struct Line {
    std::uint32_t from = 0, to = 0;  ///< indices of nodes
    double carried = 0;              ///< since the begin of the run
    double capacity = 0;             ///< of `carried`, a second of simulated time; 0: not limited
    std::string text = {};
    bool is_down = false;
  };

  std::vector<Node> nodes;  ///< none: no picture
  std::vector<Line> lines;
};

/// The LP with this number; nullptr if it lies on another rank.
using LpsNow = std::function<const LogicalProcessBase*(LpId)>;

}  // namespace orrery
