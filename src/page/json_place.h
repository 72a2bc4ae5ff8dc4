// SPDX-License-Identifier: Apache-2.0
//
// Reads reports that other programs or people wrote: a missing place, or a value of another type,
// gives an empty result, not an exception.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace orrery::page {

using Json = nlohmann::ordered_json;
using Path = std::initializer_list<const char*>;

/// The value at the end of the path of names; a null value if there is none.
const Json& at(const Json& json, Path path);
std::optional<double> number_at(const Json& json, Path path);
/// Empty if the value is no text.
std::string text_at(const Json& json, Path path);

/// A value for people: texts without quotes, yes and no, numbers in few digits.
std::string value_text(const Json& value);
/// The same with all digits and without thousands separators, for parameters and options.
std::string exact_text(const Json& value);
/// A number with its unit; without it for the unit "1" and for "-".
std::string with_unit(const std::string& number, const std::string& unit);

}  // namespace orrery::page
