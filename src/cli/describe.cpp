// SPDX-License-Identifier: Apache-2.0
//
// orrery describe NAME: shows the parameters and results of a model, or the options of an engine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/describe_json.h"
#include "cli/measure.h"
#include "cli/rank_session.h"
#include "cli/standard_output.h"
#include "core/duration_text.h"
#include "core/float_environment.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "output/capture_file.h"
#include "output/number_text.h"
#include "output/text_table.h"
#include "run/containment/faults.h"
#include "run/engine.h"
#include "run/execution/lp_executions.h"
#include "run/options/lp_patterns.h"
#include "run/options/model_checks.h"
#include "run/results/metric_options.h"

namespace orrery::cli {
namespace {

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string summary_of(const std::string& name) {
  for (const ModelInfo& info : models())
    if (info.name == name) return info.summary;
  return "";
}

void print_parameters(const Model& model, const Terminal& terminal) {
  TextTable table({{"name"}, {"type"}, {"default"}, {"unit"}, {"range"}, {"meaning"}});
  for (const ParameterBase* p : model.parameters()) {
    const char* forks = p->read_at_use() ? " (a fork may change it)" : "";
    table.add({p->name(), p->type_text(), or_dash(p->default_text()), p->unit(), p->range_text(),
               p->help() + forks});
  }
  print_out("\n{} (--set NAME=VALUE)\n{}", terminal.bold("Parameters"),
            table.empty() ? "  none\n" : table.text(terminal));
}

/// The statistics that the metric keeps beside those of every metric.
std::string kept(const Metric& metric) {
  std::string text;
  const auto add = [&text](bool is_kept, const char* name) {
    if (is_kept) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(metric.is_level(), "level");
  add(metric.keeps(Keep::histogram), "quantiles");
  add(metric.keeps(Keep::rate), "rate");
  add(metric.has_series(), "series");
  return text;
}

void print_metrics(const Model& model, const Terminal& terminal) {
  TextTable table({{"name"}, {"unit"}, {"also"}, {"meaning"}});
  for (const Metric* m : model.metrics()) table.add({m->name(), m->unit(), kept(*m), m->help()});
  if (!table.empty())
    print_out("\n{} (count, mean, deviation, extremes; of a level over time)\n{}",
              terminal.bold("Metrics"), table.text(terminal));
}

void print_tables(const Model& model, const Terminal& terminal) {
  if (model.tables().empty()) return;
  print_out("\n{} (in the folder of --out)\n", terminal.bold("Tables"));
  for (const Table* t : model.tables()) {
    print_out("  {}: {}\n", t->name(), t->help());
    TextTable columns({{""}, {""}, {""}, {""}});
    columns.add({"", "time_ticks", "integer", "ticks"});
    columns.add({"", "lp", "integer", ""});
    for (const Column& c : t->columns()) columns.add({"", c.name, name_of(c.type), c.unit});
    print_out("{}", columns.text(terminal));
  }
}

void print_captures(const Model& model, const Terminal& terminal) {
  TextTable table({{"name"}, {"link type", TextTable::Align::right}, {"meaning"}});
  for (const Capture* one : model.captures())
    table.add({one->name(), fmt::to_string(static_cast<unsigned>(one->link())), one->help()});
  if (!table.empty())
    print_out("\n{} ({} in the folder of --out)\n{}", terminal.bold("Captures"), CaptureFile::kName,
              table.text(terminal));
}

/// "252 edges with promises of 10 ms to 2 s, complete"; empty for a model without a graph.
std::string communication_text(const Model& model) {
  const CommunicationGraph graph = communication_of(model);
  std::optional<Duration> least, most;
  std::size_t promised = 0;
  for (const CommunicationGraph::Edge& edge : graph.edges()) {
    if (!edge.promised) continue;
    ++promised;
    least = std::min(least.value_or(edge.minimum_delay), edge.minimum_delay);
    most = std::max(most.value_or(edge.minimum_delay), edge.minimum_delay);
  }
  if (graph.edges().empty() && !graph.is_complete()) return "nothing is said of it";
  const std::size_t edges = graph.edges().size();
  std::string text = grouped(edges) + (edges == 1 ? " edge" : " edges");
  if (promised > 0) {
    text += fmt::format(", {} with a smallest delay, of {} to {}", grouped(promised),
                        duration_text(*least, model.tick_seconds()),
                        duration_text(*most, model.tick_seconds()));
  }
  return text + (graph.is_complete() ? ", and no others" : "");
}

/// "24 (node1, node2, ...)"
std::string lps_text(const Model& model) {
  const std::string names = first_names(named_lps(model));
  return grouped(model.lp_count()) + (names.empty() ? "" : " (" + names + ")");
}

/// "2 confined, 1 committed"; empty if all LPs are speculative.
std::string execution_text(const Model& model) {
  return text_of(LpExecutions(model, Promises()));
}

/// Horizon and number of LPs may depend on input files. If prepare() needs a parameter without a
/// sensible default, the table shows the reason instead.
void print_defaults(Model& model, const Terminal& terminal) {
  print_out("\n{}\n", terminal.bold("Defaults"));
  TextTable table({{""}, {""}});
  const FloatGuard floats;
  try {
    prepare_model(model, 0);
    call_model("its defaults", [&] {
      table.add({"horizon", time_text(model, horizon_of(model)) + " (--until)"});
      table.add({"LPs", lps_text(model)});
      table.add({"lookahead", duration_text(lookahead_of(model), model.tick_seconds())});
      table.add({"communication", communication_text(model)});
      if (const std::string text = execution_text(model); !text.empty())
        table.add({"not rolled back", text});
    });
  } catch (const std::exception& error) {
    table.add({"horizon", std::string("unknown: ") + error.what()});
  }
  const double tick = call_model("tick_seconds()", [&] { return model.tick_seconds(); });
  table.add({"tick", duration_text(Duration::from_ticks(1), tick)});
  print_out("{}", table.text(terminal));
}

int describe_engine(const EngineInfo& engine, const Terminal& terminal) {
  TextTable table({{"option"}, {"default"}, {"meaning"}});
  for (const OptionBase* option : all_options()) {
    if (!engine.honours(*option)) continue;
    table.add(
        {option->takes_value() ? option->flag() + " " + option->declaration().type : option->flag(),
         option->takes_value() ? option->default_text() : "-", option->help()});
  }
  print_out("{}: {}\n\n{}\n{}", terminal.bold(engine.name), engine.summary,
            terminal.bold("Options"), table.text(terminal));
  return kExitOk;
}

constexpr CommandText kDescribeText = {
    .name = "describe",
    .summary = "Show a model's parameters, metrics, tables and lookahead, or an engine's options",
    .operands = "MODEL|ENGINE [OPTIONS]",
    .prose =
        R"(With --measure the command runs the model, and compares the promised delays with the delays of its
sends. Without --measure the command runs no model.)",
    .examples = R"(orrery describe traffic
orrery describe ./mm1.so
orrery describe timewarp
orrery describe pcs --measure --set cells=49 --until 1h)"};

class DescribeCommand final : public Command {
 public:
  DescribeCommand() : Command(kDescribeText) {}

  void declare(OptionTable& options) override {
    options.operands("NAME", request_.words,
                     "Name of a model or an engine, or path of a shared object with a model");
    options.flag("--measure", measure_,
                 "Run the model and show the smallest delays of its sends beside what it promises, "
                 "and the durations that events could have; the options below are for that");
    declare_set(options, request_);
    const OptionList observations = metric_options();  // it shows no metrics
    for (const OptionBase* option : all_options())
      if (option->declaration().universal &&
          std::find(observations.begin(), observations.end(), option) == observations.end())
        declare_run_option(options, *option, request_);
    options.flag("--quiet", output_.quiet, "Show no progress");
    options.flag("--json", output_.json, "Print what is there, or was measured, as JSON");
  }

  int run(OptionTable& options, const Invocation&) override {
    if (request_.words.empty())
      throw UsageError(
          "which model or engine? 'orrery describe NAME' needs one; 'orrery list' shows all");
    refuse_mpi_launcher("orrery describe");
    complete_request(options, request_, "describe");
    if (measure_) return measure(request_, output_);
    if (const std::string option = needing_a_run(); !option.empty())
      throw UsageError(fmt::format("{} means something only with --measure", option));
    const Terminal terminal = Terminal::of(STDOUT_FILENO);
    if (summary_of(request_.model).empty())
      for (const EngineInfo& engine : engines())
        if (engine.name == request_.model) {
          if (!output_.json) return describe_engine(engine, terminal);
          print_out("{}", engine_json(engine));
          return kExitOk;
        }
    std::string name;
    const ModelPointer model =
        call_model("the model's constructor", [&] { return make_model(request_.model, &name); });
    if (output_.json) {
      print_out("{}", model_json(*model, name, summary_of(name)));
      return kExitOk;
    }
    print_out("{}: {}\n", terminal.bold(name), summary_of(name));
    print_parameters(*model, terminal);
    print_metrics(*model, terminal);
    print_tables(*model, terminal);
    print_captures(*model, terminal);
    print_defaults(*model, terminal);
    return kExitOk;
  }

 private:
  std::string needing_a_run() const {
    for (const auto& [option, text] : request_.texts)
      if (!text.empty()) return option->flag();
    return request_.sets.empty() ? "" : "--set";
  }

  RunRequest request_;  ///< the model may be an engine
  OutputRequest output_;
  bool measure_ = false;
};

const CommandEntry kDescribeEntry(2, make_command<DescribeCommand>);

}  // namespace
}  // namespace orrery::cli
