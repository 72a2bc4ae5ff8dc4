// SPDX-License-Identifier: Apache-2.0
#include "output/run_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <limits>

#include "core/float_environment.h"
#include "orrery/error.h"
#include "output/metric_figures.h"
#include "run/options/model_checks.h"

namespace orrery {
namespace {

double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

class DerivedReport final : public Report {
 public:
  DerivedReport(const Model& model, const RunResult& result) : model_(model), result_(result) {}

  const Summary& total(const Metric& metric) const override {
    static const Summary nothing;  // an engine that failed early may have no metrics
    return metric.index() < result_.metrics.size() ? result_.metrics[metric.index()] : nothing;
  }
  double quantile(const Metric& metric, double q) const override {
    return quantile_of(metric, result_, q).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  const LevelSummary& level(const Metric& metric) const override {
    return level_of(metric, result_);
  }
  double seconds(const Metric& metric) const override {
    return observed_seconds(metric, model_, result_);
  }
  void value(std::string_view name, double value, std::string_view unit,
             std::string_view help) override {
    values.push_back({std::string(name), value, std::string(unit), std::string(help), {}});
  }
  void text(std::string_view name, std::string_view text, std::string_view help) override {
    values.push_back({std::string(name), 0, {}, std::string(help), std::string(text)});
  }

  std::vector<DerivedValue> values;

 private:
  const Model& model_;
  const RunResult& result_;
};

}  // namespace

double RunRecord::efficiency() const {
  if (result.executed == 0) return 1;
  return static_cast<double>(result.committed) / static_cast<double>(result.executed);
}

double RunRecord::events_per_second() const {
  return per_second(static_cast<double>(result.committed - result.committed_before),
                    result.loop_seconds);
}

double RunRecord::reached_seconds() const {
  return static_cast<double>(result.reached.ticks()) * model->tick_seconds();
}

double RunRecord::simulated_per_second() const {
  const auto ticks = static_cast<double>((result.reached - result.begun).ticks());
  return per_second(ticks * model->tick_seconds(), result.loop_seconds);
}

const char* run_end_text(RunEnd end) {
  switch (end) {
    case RunEnd::completed:
      return "completed";
    case RunEnd::interrupted:
      return "interrupted";
    case RunEnd::fault:
      return "fault";
    case RunEnd::failed:
      return "failed";
    case RunEnd::paused:
      return "paused";
  }
  return "unknown";
}

std::vector<DerivedValue> derive_values(const Model& model, const RunResult& result) {
  DerivedReport report(model, result);
  ensure_default_floats();  // destructors of LPs are the model's code, too
  const FloatGuard floats;
  call_model("report()", [&] {
    try {
      model.report(report, result.reached);
    } catch (const UsageError& error) {  // too late for input
      throw std::runtime_error(error.what());
    }
  });
  return std::move(report.values);
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace orrery
