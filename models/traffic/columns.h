// SPDX-License-Identifier: Apache-2.0
//
// The meaning of the columns of a network file. The format fixes the first seven. The column names,
// in the metadata line <ORIGINAL HEADER> or in the comment above the links, may add a column of
// lanes, and may say that the capacity is for one lane.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tntp.h"

namespace traffic {

class LinkColumns {
 public:
  /// Throws UsageError if capacities are per lane and the file has no column of lanes.
  LinkColumns(const std::string& path, std::string_view original_header,
              const std::vector<std::string_view>& comments);

  /// `rest`: the sixth column to the tenth. Sets the link's lanes and its capacity.
  void apply(const double (&rest)[5], TntpLink& link) const;

 private:
  void read(std::string_view header);

  std::string path_;
  bool capacity_is_per_lane_ = false;
  std::optional<std::size_t> lanes_;  ///< index in `rest`
};

}  // namespace traffic
