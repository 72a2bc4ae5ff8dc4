// SPDX-License-Identifier: Apache-2.0
//
// Parsing, printing and range checks of parameters, one specialisation of `Text` per type.
#include "orrery/parameter.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "core/duration_text.h"
#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {

ParameterBase::ParameterBase(Model& model, std::string name, std::string unit, std::string help,
                             bool read_at_use)
    : model_(&model),
      name_(std::move(name)),
      unit_(std::move(unit)),
      help_(std::move(help)),
      read_at_use_(read_at_use) {
  model.parameters_.push_back(this);
}

namespace {

template <class T>
struct Text;

template <>
struct Text<std::int64_t> {
  static constexpr const char* kType = "integer";
  static std::optional<std::int64_t> parse(std::string_view text, const Model&) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
  static std::string print(std::int64_t value, const Model&) { return fmt::format("{}", value); }
};

template <>
struct Text<double> {
  static constexpr const char* kType = "real";
  static std::optional<double> parse(std::string_view text, const Model&) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
      return std::nullopt;
    return value;
  }
  static std::string print(double value, const Model&) { return fmt::format("{}", value); }
};

template <>
struct Text<bool> {
  static constexpr const char* kType = "yes/no";
  static std::optional<bool> parse(std::string_view text, const Model&) {
    for (const auto* yes : {"yes", "true", "on", "1"})
      if (text == yes) return true;
    for (const auto* no : {"no", "false", "off", "0"})
      if (text == no) return false;
    return std::nullopt;
  }
  static std::string print(bool value, const Model&) { return value ? "yes" : "no"; }
};

template <>
struct Text<std::string> {
  static constexpr const char* kType = "text";
  static std::optional<std::string> parse(std::string_view text, const Model&) {
    return std::string(text);
  }
  static std::string print(const std::string& value, const Model&) { return value; }
};

template <>
struct Text<Duration> {
  static constexpr const char* kType = "duration";
  static std::optional<Duration> parse(std::string_view text, const Model& model) {
    return parse_duration(text, model.tick_seconds());
  }
  static std::string print(Duration value, const Model& model) {
    return duration_text(value, model.tick_seconds());
  }
};

std::string expectation(std::string_view type) {
  if (type == "duration")
    return fmt::format("a duration such as 250ms, 10s, 2min or 1h30m (units: {})", kDurationUnits);
  if (type == "yes/no") return "yes or no";
  if (type == "integer") return "a whole number";
  return "a number";
}

}  // namespace

template <class T>
Parameter<T>::Parameter(Model& model, std::string name, T initial, ParameterInfo<T> info)
    : ParameterBase(model, std::move(name), info.unit, info.help, info.read_at_use),
      value_(initial),
      default_(std::move(initial)),
      info_(std::move(info)) {}

template <class T>
void Parameter<T>::set(std::string_view text) {
  const std::optional<T> parsed = Text<T>::parse(text, model());
  if (!parsed) {
    throw UsageError(fmt::format("parameter '{}' cannot be '{}': {} is expected{}", name(), text,
                                 expectation(Text<T>::kType),
                                 range_text().empty() ? "" : ", " + range_text()));
  }
  bool inside =
      !(info_.minimum && *parsed < *info_.minimum) && !(info_.maximum && *parsed > *info_.maximum);
  if (!info_.choices.empty()) {
    inside = false;
    for (const T& choice : info_.choices) inside = inside || choice == *parsed;
  }
  if (!inside) {
    throw UsageError(fmt::format("parameter '{}' cannot be {}: the range is {}{}", name(), text,
                                 range_text(), unit().empty() ? "" : " " + unit()));
  }
  value_ = *parsed;
}

template <class T>
std::string Parameter<T>::type_text() const {
  return Text<T>::kType;
}

template <class T>
std::string Parameter<T>::value_text() const {
  return Text<T>::print(value_, model());
}

template <class T>
std::string Parameter<T>::default_text() const {
  return Text<T>::print(default_, model());
}

template <class T>
std::string Parameter<T>::range_text() const {
  if (!info_.choices.empty()) {
    std::string text = "one of ";
    const char* separator = "";
    for (const T& choice : info_.choices) {
      text += separator + Text<T>::print(choice, model());
      separator = ", ";
    }
    return text;
  }
  if (info_.minimum && info_.maximum)
    return Text<T>::print(*info_.minimum, model()) + " .. " +
           Text<T>::print(*info_.maximum, model());
  if (info_.minimum) return "at least " + Text<T>::print(*info_.minimum, model());
  if (info_.maximum) return "at most " + Text<T>::print(*info_.maximum, model());
  return "";
}

template class Parameter<std::int64_t>;
template class Parameter<double>;
template class Parameter<bool>;
template class Parameter<std::string>;
template class Parameter<Duration>;

}  // namespace orrery
