// SPDX-License-Identifier: Apache-2.0
//
// Reading reports that others wrote, perhaps by hand: a place that is not there, or holds something
// else than it should, says nothing instead of ending the page.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace orrery::page {

using Json = nlohmann::ordered_json;
using Path = std::initializer_list<const char*>;

/// What lies at the end of the path of names; null if nothing does.
const Json& at(const Json& json, Path path);
std::optional<double> number_at(const Json& json, Path path);
/// Empty if there is no text.
std::string text_at(const Json& json, Path path);

/// A value as a reader wants it: texts without quotes, yes and no, numbers in few digits.
std::string value_text(const Json& value);
/// The same with all digits and nothing between them: what was asked for.
std::string exact_text(const Json& value);
/// A number with its unit, where that means anything.
std::string with_unit(const std::string& number, const std::string& unit);

}  // namespace orrery::page
