// SPDX-License-Identifier: Apache-2.0
//
// A model and the options of its run, for `run` and for the commands that start runs. Options stay
// text until the model is known, because some need the model ("2h" in the model's ticks), and
// because the error message for a refused value can then name the allowed values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/input_digests.h"
#include "cli/option_table.h"
#include "orrery/error.h"
#include "orrery/model.h"
#include "run/engine.h"
#include "run/options/model_checks.h"

namespace orrery::cli {

struct RunRequest {
  std::vector<std::string> words;  ///< MODEL, and name=value pairs that follow a --set
  std::string model;
  std::vector<std::string> sets;       ///< "name=value"
  std::vector<std::string> file_sets;  ///< those of the config file; `sets` win
  std::string config;
  InputDigests inputs;  ///< read before the model is prepared
  FilePlaces places;    ///< of what a config or study file sets
  /// The texts of declared run options (run/options/option.h); empty: not given. A map, since the
  /// parser keeps references to its elements.
  std::map<const OptionBase*, std::string> texts;

  std::string text(const OptionBase& option) const {
    const auto found = texts.find(&option);
    return found == texts.end() ? "" : found->second;
  }
};

/// Does `work`. Adds to errors the place of `key` in the file, or `otherwise` if the key is not
/// there.
template <class Work>
auto at_key(const RunRequest& request, const std::string& key, const std::string& otherwise,
            Work&& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    const std::string place = request.places.of(key);
    throw UsageError((place.empty() ? otherwise : place) + error.what());
  }
}

/// The options about the output of results.
struct OutputRequest {
  std::string out;
  bool force = false, quiet = false, json = false;
};

void declare_model(OptionTable& options, RunRequest& request);
void declare_set(OptionTable& options, RunRequest& request);
void declare_config(OptionTable& options, RunRequest& request);
void declare_output(OptionTable& options, OutputRequest& output);
/// Declares one option of runs, in its group.
void declare_run_option(OptionTable& options, const OptionBase& option, RunRequest& request);
/// Declares all options of runs, in the order of the help, except `left_out`.
void declare_run_options(OptionTable& options, RunRequest& request,
                         const OptionBase* left_out = nullptr);

/// Sorts the words into a model and sets. Throws UsageError for two models.
void sort_words(RunRequest& request);
/// Call it once after parsing: sorts the words, and reads the config file without the options that
/// are `ignored`. The command line wins over the file. Throws UsageError, also without a model.
/// `command`: its name.
void complete_request(OptionTable& options, RunRequest& request, std::string_view command,
                      const std::function<bool(const std::string& flag)>& ignored = {});

/// A model with its parameters set, not yet prepared.
struct ChosenModel {
  ModelPointer model;
  std::string name, path;
};
ChosenModel choose_model(const RunRequest& request);

/// Returns `defaults` changed by the given options. Throws UsageError for a value that no engine
/// takes, so that a typing error is refused on every engine.
RunOptions read_options(const RunRequest& request, const Model& model, RunOptions defaults = {});

/// The seed alone, since a model needs its seed before it is prepared.
std::uint64_t read_seed(const RunRequest& request);

/// Names and values of "name=value". Throws UsageError, also for a name that is given twice.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings settings_of(const std::vector<std::string>& sets);
/// "name=value" of config file and command line; the command line wins.
std::vector<std::string> effective_sets(const RunRequest& request);

}  // namespace orrery::cli
