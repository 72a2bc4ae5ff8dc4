// SPDX-License-Identifier: Apache-2.0
#include "core/byte_text.h"

#include <charconv>
#include <cmath>

namespace orrery {

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const std::size_t power =
        std::string_view("KMGT").find(unit.front() == 'k' ? 'K' : unit.front());
    if (power == std::string_view::npos) return std::nullopt;
    const std::string_view rest = unit.substr(1);
    if (rest != "" && rest != "iB" && rest != "B") return std::nullopt;
    factor = std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = std::round(number * factor);
  if (!(bytes < 9.2e18)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string exact_bytes_text(std::uint64_t bytes) {
  constexpr std::string_view kPowers = "KMGT";
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < kPowers.size()) bytes /= 1024, ++power;
  std::string text = std::to_string(bytes);
  if (power > 0) text += std::string(1, kPowers[power - 1]) + "iB";
  return text;
}

}  // namespace orrery
