// SPDX-License-Identifier: Apache-2.0
//
// A model's picture (orrery/live_picture.h) as markup of the live page. Texts may come from anywhere
// (the console of a virtual machine), so all are escaped here.
#pragma once

#include <string>
#include <vector>

#include "orrery/live_picture.h"

namespace orrery::live {

class PictureMarkup {
 public:
  /// `reached_seconds`: simulated time of the picture. Loads are those since the last call.
  std::string of(const LivePicture& picture, double reached_seconds);

 private:
  std::vector<double> carried_before_;  ///< by line
  double reached_before_ = 0;
};

}  // namespace orrery::live
