// SPDX-License-Identifier: Apache-2.0
//
// The usual forms of options' values, each with its error message, which names the option, states
// the allowed values, and quotes the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/time.h"
#include "run/options/option.h"

namespace orrery::option_forms {

/// A whole number in a range.
OptionForm<std::uint64_t> count(std::uint64_t minimum, std::uint64_t maximum);
/// The same, or "auto", which gives 0.
OptionForm<std::uint64_t> count_or_auto(std::uint64_t minimum, std::uint64_t maximum);
/// A size of memory in a range; `example`: "such as ..." in the error message.
OptionForm<std::uint64_t> bytes(std::uint64_t minimum, std::optional<std::uint64_t> maximum,
                                std::string example);
/// A duration above 0 in ticks, 0 for "auto". A tick is the model's unless its length is given.
OptionForm<std::int64_t> duration_or_auto(std::optional<double> tick_seconds = {});
/// A duration of wall-clock time of at least `least` microseconds; "off" gives 0.
OptionForm<std::int64_t> wall_time_or_off(std::int64_t least);
/// A share from 0 to 1; "auto" gives a negative value, and "auto" in reports.
OptionForm<double> share_or_auto();
/// One of these words.
OptionForm<std::string> choice(std::vector<std::string> words);
/// A text for which `check` throws no UsageError; `choices` for the help.
OptionForm<std::string> checked_text(std::function<void(const std::string&)> check,
                                     std::string choices);
/// Any text, such as a file name, which is checked when the file is opened.
OptionForm<std::string> any_text();
/// "on" or "off".
OptionForm<bool> on_or_off();
/// For a flag that switches off something that is on by default.
OptionForm<bool> off_switch();

/// Parts of the above, for other forms.
std::uint64_t read_count(const std::string& flag, const std::string& text, std::uint64_t minimum,
                         std::uint64_t maximum);
/// A duration of simulated time, 0 or more. `hint`: text appended to the error message.
Duration read_simulated_time(const OptionText& given, std::string_view hint = "");
/// The words between commas; none for an empty text. Throws UsageError that names `flag` if there
/// is nothing between two commas.
std::vector<std::string> read_list(const std::string& flag, const std::string& text);
std::int64_t read_positive_ticks(const OptionText& text, double tick_seconds);

}  // namespace orrery::option_forms
