// SPDX-License-Identifier: Apache-2.0
//
// Texts of numbers for people: thousands separated, units chosen by size.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

/// "1,234,567"
std::string grouped(std::uint64_t number);
/// About six significant digits: "0.0123457", "12.5", "1,234,568".
std::string number_text(double number);
/// Three significant digits and a power of a thousand: "3.54 M", "812", "12.1 k".
std::string short_number(double number);
/// "112 MiB"
std::string bytes_text(std::uint64_t bytes);
/// A span of wall-clock time: "12.3 ms", "2.31 s", "1 min 03 s", "2 h 05 min".
std::string span_text(double seconds);
/// A span of simulated time, four digits: "45.56 min".
std::string rounded_time_text(double seconds);
/// Simulated time per wall-clock second: "24.1 min/s".
std::string pace_text(double simulated_seconds_per_second);
/// "90.9 %"
std::string percent_text(double share);
/// A unit; empty for "1", with which models mark a number without a unit.
std::string unit_text(const std::string& unit);
/// "0x9e3779b97f4a7c15"
std::string fingerprint_text(std::uint64_t fingerprint);

}  // namespace orrery
