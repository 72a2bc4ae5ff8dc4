// SPDX-License-Identifier: Apache-2.0
//
// An option of an earlier version. It is accepted with any value and has no effect, so that old
// commands and config files still work. A note of the run says what to use instead.
#pragma once

#include <string>
#include <vector>

#include "run/options/options.h"

namespace orrery {

inline constexpr OptionGroup kRetiredOptions{3, "Options without effect"};

class RetiredOption final : public OptionBase {
 public:
  /// `successor`: a sentence, without a stop.
  RetiredOption(const std::string& name, const std::string& successor)
      : OptionBase({.name = name,
                    .type = "VALUE",
                    .help = "No effect; " + successor,
                    .group = kRetiredOptions,
                    .field = "",
                    .default_words = "none"},
                   Registered::yes),
        successor_(successor),
        given_(name, "") {}

  const std::string& successor() const { return successor_; }

  void read(const std::string& text, double, RunOptions& into) const override {
    into.set(given_, text);
  }
  bool asked(const RunOptions& options) const override { return !options.get(given_).empty(); }
  std::vector<Field> report(const RunOptions&, double) const override { return {}; }

 private:
  std::string written_default() const override { return given_.default_value(); }
  const std::string& choices() const override { return given_.default_value(); }

  const std::string successor_;
  const Option<std::string> given_;
};

/// Null: the option has an effect.
inline const RetiredOption* as_retired(const OptionBase* option) {
  return dynamic_cast<const RetiredOption*>(option);
}

}  // namespace orrery
