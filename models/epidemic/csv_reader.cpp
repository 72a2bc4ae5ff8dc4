// SPDX-License-Identifier: Apache-2.0
#include "csv_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "orrery/error.h"
#include "orrery/input_file.h"

namespace epidemic {
namespace {

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  if (text.empty()) return "nothing";
  return fmt::format("'{}{}'", text.substr(0, kShown), text.size() > kShown ? "..." : "");
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

CsvReader::CsvReader(const std::string& path, const std::vector<std::string_view>& columns)
    : path_(path), text_(orrery::read_input_file(path)), columns_(columns) {
  const std::string wanted = fmt::format("{}", fmt::join(columns, ","));
  if (!next_line()) refuse(fmt::format("the columns {} are expected, found nothing", wanted));
  if (line_ != wanted)
    refuse(fmt::format("the columns {} are expected, found {}", wanted, shown(line_)));
}

bool CsvReader::next_line() {
  while (at_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = trimmed(std::string_view(text_).substr(at_, end - at_));
    at_ = end + 1;
    ++number_;
    if (!line_.empty()) return true;
  }
  return false;
}

bool CsvReader::next() {
  if (!next_line()) return false;
  split();
  if (fields_.size() != columns_.size()) {
    refuse(fmt::format("{} values are expected ({}), found {}", columns_.size(),
                       fmt::join(columns_, ","), fields_.size()));
  }
  return true;
}

void CsvReader::split() {
  fields_.clear();
  std::string_view rest = line_;
  while (true) {
    const std::size_t comma = rest.find(',');
    fields_.push_back(trimmed(rest.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

double CsvReader::real(std::size_t column, double minimum, double maximum) const {
  const std::string_view text = fields_[column];
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    refuse(fmt::format("{} is expected as a number, found {}", columns_[column], shown(text)));
  if (value < minimum || value > maximum) {
    refuse(fmt::format("{} must be from {} to {}, found {}", columns_[column], minimum, maximum,
                       value));
  }
  return value;
}

std::uint64_t CsvReader::count(std::size_t column, std::uint64_t maximum) const {
  const std::string_view text = fields_[column];
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > maximum) {
    refuse(fmt::format("{} is expected as a whole number from 0 to {}, found {}", columns_[column],
                       maximum, shown(text)));
  }
  return value;
}

void CsvReader::refuse(const std::string& what) const {
  throw orrery::UsageError(fmt::format("{}:{}: {}", path_, number_, what));
}

}  // namespace epidemic
