// SPDX-License-Identifier: Apache-2.0
//
// Splits a TNTP file into words, and reports unexpected words. A file is read as a whole and cut
// into lines and words in place: the largest trip tables have about ten million words, and streams
// would take most of the start-up time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tntp.h"

namespace traffic {

/// Goes through a file line by line and, within a line, word by word. `;` and `:` are separate
/// words, so "5:1.5;" and "5 : 1.5 ;" read alike.
class Reader {
 public:
  explicit Reader(const std::string& path);

  /// Goes to the next line that is neither empty nor a comment; returns false at the end.
  bool next_line();
  std::string_view line() const { return line_; }
  std::uint32_t number() const { return number_; }
  /// The comments read so far, without their "~".
  const std::vector<std::string_view>& comments() const { return comments_; }

  /// The next word of the line; empty at its end.
  std::string_view word();
  void skip_to(std::size_t column) { rest_ = line_.substr(column); }
  bool at_line_end();

  void expect(std::string_view wanted, std::string_view where);
  double real(std::string_view what);
  double real_not_negative(std::string_view what);
  /// A whole number.
  std::uint64_t count(std::string_view what);

  [[noreturn]] void refuse(const std::string& what) const { refuse_line(path_, number_, what); }

 private:
  [[noreturn]] void refuse_number(std::string_view what, std::string_view kind,
                                  std::string_view found) const;

  const std::string& path_;
  std::string text_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
  std::string_view line_, rest_;
  std::vector<std::string_view> comments_;
};

/// Without blanks at both ends.
std::string_view trim(std::string_view text);
/// For messages: the found text in quotes, cut to a readable length.
std::string quoted(std::string_view text);

}  // namespace traffic
