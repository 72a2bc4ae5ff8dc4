// SPDX-License-Identifier: Apache-2.0
#include "page/json_place.h"

#include "output/number_text.h"

namespace orrery::page {

const Json& at(const Json& json, Path path) {
  static const Json nothing;
  const Json* place = &json;
  for (const char* name : path) {
    if (!place->is_object()) return nothing;
    const auto found = place->find(name);
    if (found == place->end()) return nothing;
    place = &*found;
  }
  return *place;
}

std::optional<double> number_at(const Json& json, Path path) {
  const Json& value = at(json, path);
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

std::string text_at(const Json& json, Path path) {
  const Json& value = at(json, path);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number()) return number_text(value.get<double>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string exact_text(const Json& value) {
  return value.is_number() ? value.dump() : value_text(value);
}

std::string with_unit(const std::string& number, const std::string& unit) {
  return unit.empty() || unit == "1" || number == "-" ? number : number + " " + unit;
}

}  // namespace orrery::page
