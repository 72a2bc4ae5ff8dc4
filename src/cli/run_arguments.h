// SPDX-License-Identifier: Apache-2.0
//
// The options of `run` and `compare` as they were written, and what they mean. They are kept as
// text until the model is known, because some need it ("2h" in the model's ticks), and so that
// every refusal is a sentence of ours that says what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery::cli {

struct RunArguments {
  std::vector<std::string> words;  ///< MODEL, and name=value pairs that follow a --set
  std::string model;
  std::vector<std::string> sets;       ///< "name=value", later ones win
  std::vector<std::string> file_sets;  ///< those of the config file; `sets` win
  std::string engine, workers, until, seed, memory, pending, checkpoint;
  std::string window, gvt_period, livelock;
  std::string offload, copier, copiers, burst, abort_threshold, max_checkpoint_distance;
  std::string expanded_mode, handover, barrier;
  std::string cache_aware, cache_share, oversize;
  std::string config, out;
  bool no_bind = false, quiet = false, force = false, json = false;
};

struct CompareArguments : RunArguments {
  std::string engines, repeats;
};

/// Declares the options that both commands have.
void add_shared_options(CLI::App& command, RunArguments& arguments);

/// Sorts words into model and sets and reads the config file: call once after parsing. What the
/// command line gives wins over the file.
void complete_arguments(CLI::App& command, RunArguments& arguments);

/// A model with its parameters set, not yet prepared.
struct ChosenModel {
  std::unique_ptr<Model> model;
  std::string name, path;
};
ChosenModel choose_model(const RunArguments& arguments);

/// The engine that --engine names: by default timewarp where it is linked in.
const EngineInfo& choose_engine(const RunArguments& arguments);

/// Reads the options; `model` must be prepared, since its horizon may depend on its input.
RunOptions run_options(const RunArguments& arguments, const Model& model);

/// A whole number within a range, or a UsageError that says so.
std::uint64_t parse_count(std::string_view option, const std::string& text, std::uint64_t minimum,
                          std::uint64_t maximum);

/// The words between commas.
std::vector<std::string> split(const std::string& text);

}  // namespace orrery::cli
