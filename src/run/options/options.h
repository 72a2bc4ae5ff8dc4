// SPDX-License-Identifier: Apache-2.0
//
// The options of a run. Fields that every engine reads are members; all others are stored by their
// declaration (`options.get(timewarp::kWindow)`), so that an option costs nothing if unused, and
// this folder knows no engine's own options.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/lp_recording.h"
#include "orrery/model.h"
#include "run/options/option.h"
#include "run/options/rank_place.h"

namespace orrery {

template <class T>
class Option;
class Disturbances;

/// What disturbs nothing.
std::shared_ptr<const Disturbances> undisturbed();

struct RunOptions {
  std::uint64_t seed = 1;
  Time until = Time::max();        ///< events at or after it are not handled
  unsigned workers = 0;            ///< 0: one per core that this process may use
  std::string pending = "auto";    ///< affects only the speed (src/pending/engine_set.h)
  std::uint64_t memory_bytes = 0;  ///< budget of the run; 0: three quarters of what is available
  bool bind = true;                ///< bind workers to cores where there are enough
  std::uint32_t livelock_microsteps = 1'000'000;  ///< limit of zero-delay steps in a phase
  RankPlace place;                                ///< of this process among the ranks of the run
  std::shared_ptr<const Disturbances> disturbances = undisturbed();  ///< never null
  /// What the metrics of the model record of single LPs (metric_options.h); the metrics refer to it.
  std::shared_ptr<const std::vector<LpRecording>> recordings;

  /// The same without a horizon: no send is dropped.
  RunOptions without_horizon() const {
    RunOptions options = *this;
    options.until = Time::max();
    return options;
  }

  /// The value of an option that an engine or a part of an engine declares; its default if not set.
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

/// An option of an engine, or of a part that engines share.
template <class T>
class Option final : public ValuedOption<T> {
 public:
  Option(OptionDeclaration declaration, T default_value, OptionForm<T> form)
      : ValuedOption<T>(std::move(declaration), std::move(default_value), std::move(form),
                        OptionBase::Registered::yes) {}
  /// For tests and experiments only: no flag, no help, not in the report.
  Option(std::string name, T default_value)
      : ValuedOption<T>({.name = std::move(name), .type = "", .help = "", .group = {}, .field = ""},
                        std::move(default_value), {}, OptionBase::Registered::no) {}

 private:
  T value(const RunOptions& options) const override { return options.get(*this); }
  void put(RunOptions& options, T value) const override { options.set(*this, std::move(value)); }
};

/// The headings of the options declared here; engines have groups of their own.
inline constexpr OptionGroup kGeneralOptions{0, ""};
inline constexpr OptionGroup kTuningOptions{1, "Options for experiments (automatic by default)"};

/// Needed by a model before it is prepared.
const OptionBase& seed_option();

/// Common options that some engines ignore.
const OptionBase& workers_option();
const OptionBase& memory_option();
const OptionBase& bind_option();
const Option<std::uint64_t>& threads_option();  ///< shared by the workers; 0: automatic
/// A file with the partition to use, and a file for writing the partition that is used
/// (partition_file.h); or empty.
const Option<std::string>& partition_option();
const Option<std::string>& write_partition_option();
/// For every engine: limit for one call of an LP's code, in microseconds; 0: no limit.
const Option<std::int64_t>& event_time_limit_option();

/// The largest number of threads that an option accepts.
inline constexpr unsigned kMostWorkers = 1024;

/// A rule about several options together, checked before a run is set up. Declared as a static
/// object where the options are honoured; `check` throws UsageError.
struct OptionRule {
  explicit OptionRule(void (*check)(const RunOptions&));
};
void check_option_rules(const RunOptions& options);

/// Throws UsageError for options that no engine can honour, ModelFault for a model that no engine
/// can run.
void check_options(const Model& model, const RunOptions& options);

}  // namespace orrery
