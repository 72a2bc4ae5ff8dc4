// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/config_syntax.h"
#include "orrery/input_file.h"

namespace orrery::cli {

void apply_config_file(OptionTable& options, RunRequest& request,
                       const std::function<bool(const std::string& flag)>& ignored) {
  const Listening listening(request.inputs);
  request.places.file = fmt::format("config file '{}'", request.config);
  const std::string text = read_input_file(request.config, "config file");
  const auto set_parameter = [&](const std::string& set, std::size_t line) {
    request.places.lines["set." + set.substr(0, set.find('='))] = line;
    request.file_sets.push_back(set);
  };
  for (const ConfigEntry& entry : read_config(request.config, text)) {
    const std::string value = fmt::format("{}", fmt::join(entry.values, ","));
    if (entry.is_parameter) {
      set_parameter(entry.key + "=" + value, entry.line);
    } else if (entry.key == "set") {
      request.places.lines[entry.key] = entry.line;
      for (const std::string& set : entry.values) set_parameter(set, entry.line);
    } else if (entry.key == "model") {
      if (!request.model.empty()) continue;
      request.model = value;
      request.places.lines[entry.key] = entry.line;
    } else if (!ignored || !ignored("--" + entry.key)) {
      options.set_by_file(request.places, entry.key, entry.line, entry.values, {"model", "set"});
    }
  }
}

}  // namespace orrery::cli
