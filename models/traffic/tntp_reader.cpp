// SPDX-License-Identifier: Apache-2.0
#include "tntp_reader.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "orrery/error.h"
#include "orrery/input_file.h"

namespace traffic {
namespace {

/// Larger whole numbers are not exact as doubles, which the result tables use.
constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 53;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool is_separator(char c) {
  return c == ';' || c == ':';
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  if (text.empty()) return "nothing";
  std::string shown;
  for (const char c : text.substr(0, kShown))
    shown += std::isprint(static_cast<unsigned char>(c)) ? c : is_blank(c) ? ' ' : '?';
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

void refuse_line(const std::string& path, std::uint32_t line, const std::string& what) {
  throw orrery::UsageError(fmt::format("{}:{}: {}", path, line, what));
}

Reader::Reader(const std::string& path) : path_(path), text_(orrery::read_input_file(path)) {}

bool Reader::next_line() {
  while (at_ < text_.size()) {
    std::size_t end = text_.find('\n', at_);
    if (end == std::string::npos) end = text_.size();
    line_ = trim(std::string_view(text_).substr(at_, end - at_));
    at_ = end + 1;
    ++number_;
    if (line_.empty()) continue;
    if (line_.front() != '~') {
      rest_ = line_;
      return true;
    }
    comments_.push_back(line_.substr(1));
  }
  return false;
}

std::string_view Reader::word() {
  rest_ = trim(rest_);
  std::size_t length = 0;
  while (length < rest_.size() && !is_blank(rest_[length]) && !is_separator(rest_[length]))
    ++length;
  if (length == 0 && !rest_.empty()) length = 1;
  const std::string_view result = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return result;
}

bool Reader::at_line_end() {
  return (rest_ = trim(rest_)).empty();
}

void Reader::expect(std::string_view wanted, std::string_view where) {
  const std::string_view found = word();
  if (found != wanted)
    refuse(fmt::format("'{}' is expected {}, found {}", wanted, where, quoted(found)));
}

double Reader::real(std::string_view what) {
  const std::string_view text = word();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    refuse_number(what, "a number", text);
  return value;
}

double Reader::real_not_negative(std::string_view what) {
  const double value = real(what);
  if (value < 0) refuse(fmt::format("{} must not be negative, found {}", what, value));
  return value;
}

std::uint64_t Reader::count(std::string_view what) {
  const std::string_view text = word();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    refuse_number(what, "a whole number", text);
  if (value > kLargestNumber)
    refuse(fmt::format("{} must not be above {}, found {}", what, kLargestNumber, value));
  return value;
}

void Reader::refuse_number(std::string_view what, std::string_view kind,
                           std::string_view found) const {
  const bool grouped = !found.empty() && std::isdigit(static_cast<unsigned char>(found.front())) &&
                       found.find(',') != std::string_view::npos;
  refuse(fmt::format("{} is expected as {}, found {}{}", what, kind, quoted(found),
                     grouped ? " (write numbers with a decimal point and without thousands "
                               "separators)"
                             : ""));
}

}  // namespace traffic
