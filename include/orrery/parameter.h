// SPDX-License-Identifier: Apache-2.0
//
// A model's parameters: members with a name, type, default, range, unit and meaning. They
// register with the model that owns them, so `orrery describe`, `--set` and config files need no
// further code:
//
//   orrery::Parameter<double> load{*this, "load", 0.8, {.help = "offered load", .minimum = 0.0}};
//
// T is std::int64_t, double, bool, std::string or orrery::Duration (written as "10ms", "2min").
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "orrery/time.h"

namespace orrery {

class Model;

class ParameterBase {
 public:
  ParameterBase(Model& model, std::string name, std::string unit, std::string help,
                bool read_at_use = false);
  ParameterBase(const ParameterBase&) = delete;
  ParameterBase& operator=(const ParameterBase&) = delete;
  virtual ~ParameterBase() = default;

  const std::string& name() const { return name_; }
  const std::string& unit() const { return unit_; }
  const std::string& help() const { return help_; }
  /// See ParameterInfo.
  bool read_at_use() const { return read_at_use_; }

  /// Parses and sets a value. Throws UsageError with a sentence that names the parameter, the given
  /// text and the allowed values.
  virtual void set(std::string_view text) = 0;
  virtual std::string type_text() const = 0;
  virtual std::string value_text() const = 0;
  virtual std::string default_text() const = 0;
  /// "1 .. 16777216", "one of a, b", or empty if every value is allowed.
  virtual std::string range_text() const = 0;

 protected:
  const Model& model() const { return *model_; }

 private:
  const Model* model_;
  std::string name_, unit_, help_;
  bool read_at_use_;
};

/// The values that a parameter may take; an empty list allows all.
template <class T>
class Choices {
 public:
  Choices() noexcept {}
  Choices(std::initializer_list<T> values) : values_(values) {}
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::vector<T> values_;
};

template <class T>
struct ParameterInfo {
  std::string help{};
  std::string unit{};
  std::optional<T> minimum{};
  std::optional<T> maximum{};
  Choices<T> choices{};
  /// Handlers read the parameter from the model at each use, and nothing made in prepare(),
  /// create() or start() depends on it. So `orrery fork` may change it in the middle of a run.
  bool read_at_use = false;
};

template <class T>
class Parameter final : public ParameterBase {
  static_assert(std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                    std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                    std::is_same_v<T, Duration>,
                "a parameter is a std::int64_t, double, bool, std::string or orrery::Duration");

 public:
  Parameter(Model& model, std::string name, T initial, ParameterInfo<T> info);

  const T& value() const { return value_; }
  operator const T&() const { return value_; }

  void set(std::string_view text) override;
  std::string type_text() const override;
  std::string value_text() const override;
  std::string default_text() const override;
  std::string range_text() const override;

 private:
  T value_, default_;
  ParameterInfo<T> info_;
};

extern template class Parameter<std::int64_t>;
extern template class Parameter<double>;
extern template class Parameter<bool>;
extern template class Parameter<std::string>;
extern template class Parameter<Duration>;

}  // namespace orrery
