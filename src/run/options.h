// SPDX-License-Identifier: Apache-2.0
//
// What a run is asked for: the fields that every engine reads are members, everything else is kept
// by its declaration (`options.get(timewarp::kWindow)`), so that an option costs nothing where
// nobody asks for it, and this folder knows none of the engines' own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "orrery/model.h"
#include "run/option.h"
#include "run/rank_place.h"

namespace orrery {

template <class T>
class Option;

struct RunOptions {
  std::uint64_t seed = 1;
  Time until = Time::max();        ///< events at or after it are not handled
  unsigned workers = 0;            ///< 0: one per core that this process may use
  std::string pending = "auto";    ///< changes nothing (src/pending/engine_set.h)
  std::uint64_t memory_bytes = 0;  ///< budget of the run; 0: three quarters of what is available
  bool bind = true;                ///< bind workers to cores where there are enough
  std::uint32_t livelock_microsteps =
      1'000'000;    ///< zero-delay steps at one instant that are too many
  RankPlace place;  ///< of this process among those of the run

  /// The same without a horizon: nothing that is sent is dropped.
  RunOptions without_horizon() const {
    RunOptions options = *this;
    options.until = Time::max();
    return options;
  }

  /// The value of an option that an engine or a part of one declares; its default if it is not set.
  template <class T>
  T get(const Option<T>& option) const {
    const auto found = values_.find(&option);
    return found == values_.end() ? option.default_value() : std::get<T>(found->second);
  }
  /// Throws UsageError for a value that the command line would refuse.
  template <class T>
  void set(const Option<T>& option, std::type_identity_t<T> wanted) {
    option.check(wanted);
    values_[&option].template emplace<T>(std::move(wanted));
  }

 private:
  std::map<const OptionBase*, OptionValue> values_;
};

/// An option of an engine, or of a part that engines use.
template <class T>
class Option final : public ValuedOption<T> {
 public:
  Option(OptionDeclaration declaration, T default_value, OptionForm<T> form)
      : ValuedOption<T>(std::move(declaration), std::move(default_value), std::move(form),
                        OptionBase::Registered::yes) {}
  /// For tests and experiments only: without a flag, a help and a place in the report.
  Option(std::string name, T default_value)
      : ValuedOption<T>({.name = std::move(name), .type = "", .help = "", .group = {}, .field = ""},
                        std::move(default_value), {}, OptionBase::Registered::no) {}

 private:
  T value(const RunOptions& options) const override { return options.get(*this); }
  void put(RunOptions& options, T value) const override { options.set(*this, std::move(value)); }
};

/// The headings of what is declared here; engines have groups of their own.
inline constexpr OptionGroup kGeneralOptions{0, ""};
inline constexpr OptionGroup kTuningOptions{1,
                                            "Options for experiments (automatic where not given)"};

/// What a model knows before it is prepared.
const OptionBase& seed_option();

/// The common options that some engines have no use for.
const OptionBase& workers_option();
const OptionBase& memory_option();
const OptionBase& bind_option();
const Option<std::uint64_t>& threads_option();  ///< that workers share; 0: automatic
/// A partition to be followed, and where to write the one that is used (partition_file.h); or
/// empty.
const Option<std::string>& partition_option();
const Option<std::string>& write_partition_option();
/// Of every engine: how long a call of an LP's code may take, in microseconds; 0: no limit.
const Option<std::int64_t>& event_time_limit_option();

/// The most threads that a run may be asked for.
inline constexpr unsigned kMostWorkers = 1024;

/// A rule about several options together, checked before a run is set up. Declared, as an object of
/// static life, by whoever honours them; `check` throws UsageError.
struct OptionRule {
  explicit OptionRule(void (*check)(const RunOptions&));
};
void check_option_rules(const RunOptions& options);

/// Throws UsageError for options that no engine can honour, ModelFault for a model that none can
/// run.
void check_options(const Model& model, const RunOptions& options);

}  // namespace orrery
