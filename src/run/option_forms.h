// SPDX-License-Identifier: Apache-2.0
//
// How values of options are written: the usual forms, each with its refusal. Refusals are sentences
// that name the option, say what is allowed, and quote what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/time.h"
#include "run/option.h"

namespace orrery::option_forms {

/// A whole number in a range.
OptionForm<std::uint64_t> count(std::uint64_t minimum, std::uint64_t maximum);
/// The same, or "auto", which is 0.
OptionForm<std::uint64_t> count_or_auto(std::uint64_t minimum, std::uint64_t maximum);
/// A size of memory in a range; `example`: "such as ..." in the refusal.
OptionForm<std::uint64_t> bytes(std::uint64_t minimum, std::optional<std::uint64_t> maximum,
                                std::string example);
/// A duration above 0 in ticks, 0 for "auto". A tick is the model's unless its length is given.
OptionForm<std::int64_t> duration_or_auto(std::optional<double> tick_seconds = {});
/// A duration of wall-clock time from so many microseconds on, 0 for "off".
OptionForm<std::int64_t> wall_time_or_off(std::int64_t least);
/// A share from 0 to 1, or "auto", which is negative and "auto" in reports.
OptionForm<double> share_or_auto();
/// One of these words.
OptionForm<std::string> choice(std::vector<std::string> words);
/// A text that `check` does not refuse by a UsageError; `choices` for the help.
OptionForm<std::string> checked_text(std::function<void(const std::string&)> check,
                                     std::string choices);
/// Any text, such as the name of a file that whoever opens it judges.
OptionForm<std::string> any_text();
/// "on" or "off".
OptionForm<bool> on_or_off();
/// Of a flag that switches something off which is on.
OptionForm<bool> off_switch();

/// The parts of the above, for those who write a form of their own.
std::uint64_t read_count(const std::string& flag, const std::string& text, std::uint64_t minimum,
                         std::uint64_t maximum);
/// Of the model's clock, from 0 on. `hint`: behind the sentence that refuses anything else.
Duration read_simulated_time(const OptionText& given, std::string_view hint = "");
/// The words between commas; none of an empty text. Throws UsageError that names `flag` for commas
/// with nothing between them.
std::vector<std::string> read_list(const std::string& flag, const std::string& text);
std::int64_t read_positive_ticks(const OptionText& text, double tick_seconds);

}  // namespace orrery::option_forms
