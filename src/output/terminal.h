// SPDX-License-Identifier: Apache-2.0
//
// The abilities of a file descriptor. Only a terminal gets a rewritten progress line, colours and
// characters beyond ASCII.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

struct Terminal {
  bool interactive = false;  ///< a terminal that can rewrite its last line
  bool colour = false;       ///< interactive, and NO_COLOR is not set
  bool utf8 = false;         ///< the locale's characters are UTF-8
  unsigned width = 0;        ///< columns; 0: lines have no limit

  /// Examines the descriptor and the environment (TERM, NO_COLOR, LC_ALL, LC_CTYPE, LANG).
  static Terminal of(int descriptor);

  std::string bold(std::string_view text) const;
  std::string faint(std::string_view text) const;
};

/// Columns of a UTF-8 text: its code points, since Orrery prints no wide characters.
std::size_t display_width(std::string_view text);

}  // namespace orrery
