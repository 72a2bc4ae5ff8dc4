// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "checkpoint/offload.h"
#include "checkpoint/strategy.h"
#include "cli/config_file.h"
#include "core/duration_text.h"
#include "core/model_registry.h"
#include "observe/number_text.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

/// A setting is a name, "=", a value; a path to a model has a slash before any "=".
bool is_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

void sort_words(RunArguments& arguments) {
  for (const std::string& word : arguments.words) {
    if (is_setting(word)) {
      arguments.sets.push_back(word);
    } else if (arguments.model.empty()) {
      arguments.model = word;
    } else {
      throw UsageError(fmt::format("two models are given, '{}' and '{}'; one is expected",
                                   arguments.model, word));
    }
  }
}

void apply_sets(Model& model, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--set needs NAME=VALUE, not '{}'", set));
    set_parameter(model, std::string_view(set).substr(0, equals),
                  std::string_view(set).substr(equals + 1));
  }
}

Duration parse_positive_duration(std::string_view option, const std::string& text,
                                 double tick_seconds) {
  const auto duration = parse_duration(text, tick_seconds);
  if (duration && duration->ticks() > 0) return *duration;
  throw UsageError(fmt::format(
      "{} needs a duration above 0 such as 250ms, 100s, 15min or 2h, not '{}'", option, text));
}

Time horizon(const RunArguments& arguments, const Model& model) {
  if (arguments.until.empty()) return model.default_horizon();
  return Time::zero() + parse_positive_duration("--until", arguments.until, model.tick_seconds());
}

std::uint64_t parse_memory(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (bytes && *bytes >= (1u << 20)) return *bytes;
  throw UsageError(
      fmt::format("--memory needs a size of at least 1MiB such as 512MiB or 4GiB, not '{}'", text));
}

/// A share, or below 0 for "auto".
double parse_share(std::string_view option, const std::string& text) {
  if (text == "auto") return -1;
  double share = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, share);
  if (error == std::errc{} && stop == end && share >= 0 && share <= 1) return share;
  throw UsageError(
      fmt::format("{} needs a number from 0 to 1 such as 0.75, or 'auto', not '{}'", option, text));
}

std::uint32_t parse_burst(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (bytes && *bytes >= 64 && *bytes <= (1u << 30)) return static_cast<std::uint32_t>(*bytes);
  throw UsageError(
      fmt::format("--burst needs a size from 64 to 1GiB such as 4KiB, not '{}'", text));
}

void set_offload(const RunArguments& a, RunOptions& options) {
  if (!a.offload.empty()) options.offload = a.offload;
  if (!a.copier.empty()) options.copier = a.copier;
  if (!a.copiers.empty())
    options.copiers = static_cast<unsigned>(parse_count("--copiers", a.copiers, 0, kMostWorkers));
  if (!a.burst.empty()) options.burst_bytes = parse_burst(a.burst);
  if (!a.abort_threshold.empty())
    options.abort_threshold = parse_share("--abort-threshold", a.abort_threshold);
  if (!a.max_checkpoint_distance.empty()) {
    options.max_checkpoint_distance = static_cast<std::uint32_t>(
        parse_count("--max-checkpoint-distance", a.max_checkpoint_distance, 1, 1'000'000));
  }
}

/// One of two words; true for the first.
bool parse_choice(std::string_view option, const std::string& text, std::string_view first,
                  std::string_view second) {
  if (text == first) return true;
  if (text == second) return false;
  throw UsageError(fmt::format("{} can be '{}' or '{}', not '{}'", option, first, second, text));
}

}  // namespace

void add_shared_options(CLI::App& command, RunArguments& a) {
  command
      .add_option("MODEL", a.words,
                  "Name of a model ('orrery list') or path of a shared object that holds one")
      ->type_name("");
  command.add_option("--until", a.until, "Simulate up to this time: 100s, 15min, 2h, 3d")
      ->type_name("TIME");
  command.add_option("--seed", a.seed, "Seed of all random numbers (1)")->type_name("N");
  command.add_option("--set", a.sets, "Set a parameter of the model; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_option("--config", a.config, "Read options from a file (the command line wins)")
      ->type_name("FILE");
  command.add_option("--out", a.out, "Leave the results in this folder")->type_name("DIR");
  command.add_flag("--force", a.force, "Replace the results of an earlier run in that folder");
  command.add_flag("--quiet", a.quiet, "Show no progress");
  command.add_flag("--json", a.json, "Print the report as JSON instead of tables");

  const char* experiments = "Options for experiments (automatic where not given)";
  const auto option = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type)->group(experiments);
  };
  option("--memory", a.memory, "SIZE",
         "Memory budget: 512MiB, 4GiB (three quarters of what is free)");
  option("--pending", a.pending, "NAME", "Pending event set");
  option("--checkpoint", a.checkpoint, "NAME",
         "Checkpoints: copy, periodic:N, adaptive, incremental, reverse");
  option("--offload", a.offload, "MODE",
         "Copy checkpoints beside the workers: none (as it is), mono (one at a time), multi");
  option("--copiers", a.copiers, "N", "Threads that copy (1)");
  option("--copier", a.copier, "NAME", "Who copies: thread, synchronous (thread)");
  option("--burst", a.burst, "SIZE", "Bytes that a copier takes at a time (1KiB)");
  option("--abort-threshold", a.abort_threshold, "SHARE",
         "Share of a copy, 0 to 1, from which on it is finished rather than given up");
  option("--max-checkpoint-distance", a.max_checkpoint_distance, "N",
         "Events after which a copy is never given up (40)");
  option("--window", a.window, "TIME", "Optimism: how far a worker may run ahead of GVT");
  option("--gvt-period", a.gvt_period, "TIME", "Wall-clock time between GVT computations");
  option("--expanded-mode", a.expanded_mode, "NAME",
         "Expanded events: auto, in-place, single, batched or decentralised");
  option("--handover", a.handover, "NAME", "Expanded events: push or pull (push)");
  option("--barrier", a.barrier, "NAME", "Expanded events: barriers local or event (local)");
  option("--livelock", a.livelock, "N",
         "Zero-delay steps at one instant that are too many (1000000)");
  option("--cache-aware", a.cache_aware, "on|off",
         "Keep model memory and checkpoints on different sets of the cache (on)");
  option("--cache-share", a.cache_share, "SHARE",
         "Share of the sets for model memory and events: 0 to 1, or auto");
  option("--oversize", a.oversize, "reliable|deny",
         "Requests of a model for more than 64 KiB: serve or refuse them (reliable)");
  command.add_flag("--no-bind", a.no_bind, "Do not bind workers to cores")->group(experiments);
}

void complete_arguments(CLI::App& command, RunArguments& arguments) {
  sort_words(arguments);
  if (!arguments.config.empty()) apply_config_file(command, arguments);
  if (arguments.model.empty()) {
    throw UsageError(fmt::format(
        "which model? 'orrery {0} MODEL' needs one; 'orrery list' shows all", command.get_name()));
  }
}

ChosenModel choose_model(const RunArguments& arguments) {
  ChosenModel chosen;
  chosen.model = make_model(arguments.model, &chosen.name);
  if (chosen.name != arguments.model) chosen.path = arguments.model;
  try {
    apply_sets(*chosen.model, arguments.file_sets);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("config file '{}': {}", arguments.config, error.what()));
  }
  apply_sets(*chosen.model, arguments.sets);
  return chosen;
}

const EngineInfo& choose_engine(const RunArguments& arguments) {
  if (!arguments.engine.empty()) return find_engine(arguments.engine);
  for (const char* name : {"timewarp", "sequential"})
    for (const EngineInfo& info : engines())
      if (info.name == name) return info;
  throw UsageError("this build of orrery has no engine");
}

RunOptions run_options(const RunArguments& a, const Model& model) {
  RunOptions options;
  options.until = horizon(a, model);
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  if (!a.seed.empty()) options.seed = parse_count("--seed", a.seed, 0, kMost);
  if (!a.workers.empty())
    options.workers = static_cast<unsigned>(parse_count("--workers", a.workers, 1, kMostWorkers));
  if (!a.pending.empty()) options.pending = a.pending;
  if (!a.checkpoint.empty()) {
    checkpoint::Strategy::parse(a.checkpoint);  // a slip is refused on every engine
    options.checkpoint = a.checkpoint;
  }
  if (!a.memory.empty()) options.memory_bytes = parse_memory(a.memory);
  if (!a.window.empty()) {
    options.window_ticks =
        parse_positive_duration("--window", a.window, model.tick_seconds()).ticks();
  }
  if (!a.gvt_period.empty()) {
    const Duration period = parse_positive_duration("--gvt-period", a.gvt_period, 1e-6);
    options.gvt_period_us = static_cast<std::uint64_t>(period.ticks());
  }
  if (!a.livelock.empty()) {
    options.livelock_microsteps =
        static_cast<std::uint32_t>(parse_count("--livelock", a.livelock, 1, 10'000'000));
  }
  set_offload(a, options);
  checkpoint::Offload::parse(options);
  if (!a.expanded_mode.empty()) options.expanded_mode = a.expanded_mode;
  if (!a.handover.empty()) options.handover = a.handover;
  if (!a.barrier.empty()) options.barrier = a.barrier;
  if (!a.cache_aware.empty())
    options.cache_aware = parse_choice("--cache-aware", a.cache_aware, "on", "off");
  if (!a.cache_share.empty()) options.cache_share = parse_share("--cache-share", a.cache_share);
  if (!a.oversize.empty())
    options.deny_oversize = !parse_choice("--oversize", a.oversize, "reliable", "deny");
  options.bind = !a.no_bind;
  return options;
}

std::uint64_t parse_count(std::string_view option, const std::string& text, std::uint64_t minimum,
                          std::uint64_t maximum) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && value >= minimum && value <= maximum) return value;
  throw UsageError(fmt::format("{} needs a whole number from {} to {}, not '{}'", option, minimum,
                               maximum, text));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace orrery::cli
