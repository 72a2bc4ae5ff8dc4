// SPDX-License-Identifier: Apache-2.0
#include "orrery/empirical.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "orrery/error.h"
#include "orrery/input_file.h"
#include "orrery/math.h"

namespace orrery {

using math::product;

namespace {

bool is_finite(double x) {
  return std::abs(x) <= std::numeric_limits<double>::max();
}

/// Returns `values` after the check, so that it can be called in an initialiser list.
std::span<const double> checked_values(std::span<const double> values,
                                       std::span<const double> weights) {
  if (values.size() != weights.size())
    throw std::invalid_argument(
        fmt::format("EmpiricalValues: {} values have {} weights.", values.size(), weights.size()));
  for (const double value : values)
    if (!is_finite(value))
      throw std::invalid_argument(
          fmt::format("EmpiricalValues: a value must be finite, but it is {:.9g}.", value));
  return values;
}

double weighted_mean(std::span<const double> values, std::span<const double> weights) {
  double sum = 0, all = 0;
  for (const double weight : weights) all += weight;
  for (std::size_t i = 0; i < values.size(); ++i) sum += product(values[i], weights[i] / all);
  return sum;
}

// ---- Files -------------------------------------------------------------------------------------

struct TextRow {
  std::size_t line;
  double first, second;
  bool is_pair;
};

constexpr std::string_view kSeparators = " \t\r,;";

/// Removes the next word from a line; empty at the end of the line.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kSeparators), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kSeparators));
  line.remove_prefix(word.size());
  return word;
}

class NumberFile {
 public:
  explicit NumberFile(const std::string& path) : path_(path), text_(read_input_file(path)) {
    std::string_view rest = text_;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      read_row(number, line.substr(0, line.find('#')));
    }
    if (rows_.empty()) throw UsageError(fmt::format("'{}' has no numbers", path_));
  }

  const std::vector<TextRow>& rows() const { return rows_; }

  [[noreturn]] void refuse(std::size_t line, const std::string& why) const {
    throw UsageError(fmt::format("'{}', line {}: {}", path_, line, why));
  }

  /// Errors of `make` are reported as errors of the file.
  template <class Make>
  auto table(Make make) const {
    try {
      return make();
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("'{}': {}", path_, error.what()));
    }
  }

 private:
  void read_row(std::size_t number, std::string_view line) {
    const std::string_view first = take_word(line);
    if (first.empty()) return;
    const std::string_view second = take_word(line);
    if (!take_word(line).empty()) refuse(number, "a row has one or two numbers");
    rows_.push_back({number, number_of(number, first),
                     second.empty() ? 0 : number_of(number, second), !second.empty()});
  }
  double number_of(std::size_t line, std::string_view word) const {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || !is_finite(value))
      refuse(line, fmt::format("'{}' is no number", printable(std::string(word))));
    return value;
  }

  std::string path_, text_;
  std::vector<TextRow> rows_;
};

// ---- Points ------------------------------------------------------------------------------------

[[noreturn]] void refuse_points(const std::string& why) {
  throw std::invalid_argument("EmpiricalReal: " + why);
}

void check_points(std::span<const double> values, std::span<const double> cumulative) {
  if (values.size() != cumulative.size())
    refuse_points(
        fmt::format("{} values have {} cumulative shares.", values.size(), cumulative.size()));
  if (values.size() < 2) refuse_points("there must be at least 2 points.");
  if (cumulative[0] != 0)
    refuse_points(
        fmt::format("the first cumulative share must be 0, but it is {:.9g}.", cumulative[0]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_finite(values[i]) || !is_finite(cumulative[i]))
      refuse_points(fmt::format("point {} must be finite, but it is {:.9g}, {:.9g}.", i + 1,
                                values[i], cumulative[i]));
    if (i == 0) continue;
    if (!(values[i] > values[i - 1]))
      refuse_points(
          fmt::format("values must rise, but {:.9g} follows {:.9g}.", values[i], values[i - 1]));
    if (!(cumulative[i] >= cumulative[i - 1]))
      refuse_points(fmt::format("cumulative shares must not fall, but {:.9g} follows {:.9g}.",
                                cumulative[i], cumulative[i - 1]));
  }
  if (!(cumulative.back() > 0)) refuse_points("the last cumulative share must be above 0.");
}

void check_width(double low, double high) {
  if (!is_finite(high - low))
    refuse_points(
        fmt::format("the values' range must be finite, but they are from {:.9g} to "
                    "{:.9g}.",
                    low, high));
}

}  // namespace

// ---- Values with weights -----------------------------------------------------------------------

EmpiricalValues::EmpiricalValues(std::span<const double> values, std::span<const double> weights)
    : values_(checked_values(values, weights).begin(), values.end()),
      index_(weights),
      mean_(weighted_mean(values, weights)) {}

EmpiricalValues EmpiricalValues::read(const std::string& path) {
  const NumberFile file(path);
  std::vector<double> values, weights;
  for (const TextRow& row : file.rows()) {
    values.push_back(row.first);
    weights.push_back(row.is_pair ? row.second : 1);
    if (!(weights.back() >= 0)) file.refuse(row.line, "a weight is at least 0");
  }
  return file.table([&] { return EmpiricalValues(values, weights); });
}

// ---- Reals -------------------------------------------------------------------------------------

EmpiricalReal EmpiricalReal::of_sample(std::span<const double> sample) {
  if (sample.size() < 2) refuse_points("a sample must have at least 2 values.");
  for (const double value : sample)
    if (!is_finite(value))
      refuse_points(fmt::format("a value must be finite, but it is {:.9g}.", value));
  EmpiricalReal result;
  result.values_.assign(sample.begin(), sample.end());
  std::sort(result.values_.begin(), result.values_.end());
  check_width(result.values_.front(), result.values_.back());
  return result;
}

EmpiricalReal EmpiricalReal::of_points(std::span<const double> values,
                                       std::span<const double> cumulative) {
  check_points(values, cumulative);
  check_width(values.front(), values.back());
  EmpiricalReal result;
  result.values_.assign(values.begin(), values.end());
  for (const double share : cumulative) result.cumulative_.push_back(share / cumulative.back());
  return result;
}

EmpiricalReal EmpiricalReal::read(const std::string& path) {
  const NumberFile file(path);
  const bool pairs = file.rows().front().is_pair;
  std::vector<double> values, cumulative;
  for (const TextRow& row : file.rows()) {
    if (row.is_pair != pairs)
      file.refuse(row.line, pairs ? "the rows before have two numbers, this one has one"
                                  : "the rows before have one number, this one has two");
    values.push_back(row.first);
    cumulative.push_back(row.second);
  }
  return file.table([&] { return pairs ? of_points(values, cumulative) : of_sample(values); });
}

/// The sum of the middle of each segment times its share.
double EmpiricalReal::mean() const {
  const double even = 1 / static_cast<double>(values_.size() - 1);
  double sum = 0;
  for (std::size_t i = 1; i < values_.size(); ++i) {
    const double share = cumulative_.empty() ? even : cumulative_[i] - cumulative_[i - 1];
    sum += product(values_[i - 1] / 2 + values_[i] / 2, share);
  }
  return sum;
}

/// The segment is the last one that begins at or below u, so a segment of share 0 is never chosen.
double EmpiricalReal::quantile(double u) const {
  std::size_t i = 0;
  double within = 0;
  if (cumulative_.empty()) {
    const double place = product(u, static_cast<double>(values_.size() - 1));
    i = std::min(static_cast<std::size_t>(place), values_.size() - 2);
    within = place - static_cast<double>(i);
  } else {
    const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u);
    i = static_cast<std::size_t>(above - cumulative_.begin()) - 1;
    within = (u - cumulative_[i]) / (cumulative_[i + 1] - cumulative_[i]);
  }
  const double value = values_[i] + product(values_[i + 1] - values_[i], within);
  return std::min(value, values_[i + 1]);
}

}  // namespace orrery
