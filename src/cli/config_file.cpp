// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/config_syntax.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "orrery/input_file.h"

namespace orrery::cli {
namespace {

/// The options that a file may set, without dashes.
std::vector<std::string> keys_of(const OptionTable& options) {
  std::vector<std::string> keys{"model"};
  for (const std::string& flag : options.flags())
    if (flag != "--help" && flag != "--config" && flag != "--again") keys.push_back(flag.substr(2));
  return keys;
}

void set_option(OptionTable& options, const RunRequest& request, const ConfigEntry& entry) {
  const std::vector<std::string> keys = keys_of(options);
  if (std::find(keys.begin(), keys.end(), entry.key) == keys.end())
    refuse_config(request.config, entry.line,
                  fmt::format("there is no option '{}'{} (options: {})", entry.key,
                              near_matches(entry.key, keys), fmt::join(keys, ", ")));
  const std::string flag = "--" + entry.key;
  if (options.is_given(flag)) return;  // the command line wins
  // "1,2,4" without quotes arrives as three words.
  if (!options.set(flag, {fmt::format("{}", fmt::join(entry.values, ","))}))
    refuse_config(
        request.config, entry.line,
        fmt::format("option '{}' cannot be '{}'", entry.key, fmt::join(entry.values, " ")));
}

}  // namespace

void apply_config_file(OptionTable& options, RunRequest& request,
                       const std::function<bool(const std::string& flag)>& ignored) {
  const Listening listening(request.inputs);
  const std::string text = read_input_file(request.config, "config file");
  for (const ConfigEntry& entry : read_config(request.config, text)) {
    const std::string value = fmt::format("{}", fmt::join(entry.values, ","));
    if (entry.is_parameter) {
      request.file_sets.push_back(entry.key + "=" + value);
    } else if (entry.key == "set") {
      request.file_sets.insert(request.file_sets.end(), entry.values.begin(), entry.values.end());
    } else if (entry.key == "model") {
      if (request.model.empty()) request.model = value;
    } else if (!ignored || !ignored("--" + entry.key)) {
      set_option(options, request, entry);
    }
  }
}

}  // namespace orrery::cli
