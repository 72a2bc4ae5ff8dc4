// SPDX-License-Identifier: Apache-2.0
#include "cli/live.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "orrery/error.h"
#include "output/number_text.h"
#include "output/report.h"
#include "run/containment/faults.h"
#include "run/execution/lp_executions.h"
#include "run/world/world_engine.h"

namespace orrery::cli {
namespace {

/// "true" is allowed, since a config file may give --live as a flag.
std::uint16_t read_port(const std::string& text) {
  if (text == "true") return 0;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  if (read.ec != std::errc() || read.ptr != end)
    throw UsageError(
        fmt::format("--live=PORT can be 1 to 65535, or 0 for a free port, not '{}'", text));
  return port;
}

/// The reason why the world cannot be examined during the run; empty: it can.
std::string reason_for_no_looks(const Engine& engine, const std::string& name, const Model& model) {
  if (dynamic_cast<const WorldEngine*>(&engine) == nullptr)
    return fmt::format(
        "Engine {} does not give its LPs away, so metrics and LPs are not shown while it runs.",
        name);
  if (LpExecutions(model, Promises()).any_stays_on_thread())
    return "The model has LPs that stay on their thread, so the run does not halt for this page, "
           "and "
           "metrics and LPs are not shown while it runs.";
  return "";
}

}  // namespace

void Live::declare(OptionTable& options) {
  options.flag_with_value("--live", "0", port_, "PORT",
                          "Show the run in a browser on this machine while it goes on; --live=PORT "
                          "names the port");
}

void Live::prepare(RunState& run) {
  if (port_.empty() || port_ == "false") return;
  const std::uint16_t port = read_port(port_);
  const std::string reason = reason_for_no_looks(*run.engine, run.info->name, run.model());
  looks_ = reason.empty();
  if (!run.is_first()) return;
  facts_ = live::Facts::of(run.record);
  facts_.no_looks = reason;
  server_.emplace(port);
  token_ = live::make_token();
  board_.emplace(run.control, facts_.horizon_seconds);
  answers_.emplace(*board_, facts_, token_);
}

void Live::begin(RunState& run) {
  RunControl& control = run.control;
  if (looks_) {
    halts_.emplace(run.model(), run.record.options, control, board_ ? &*board_ : nullptr,
                   control.halts);
    control.halts = &*halts_;
  }
  if (!board_) return;
  board_->attach(*run.watch, looks_);
  server_->start(*answers_);
  fmt::print(stderr, "orrery: live at http://127.0.0.1:{}/{}/\n", server_->port(), token_);
}

void Live::leave(RunState&) {
  if (board_) board_->detach();
}

void Live::published(RunState& run) {
  if (!board_) return;
  const RunRecord& record = run.record;
  const RunResult& result = record.result;
  const bool has_results = result.end != RunEnd::failed;
  live::Ending ending{.end = run_end_text(result.end),
                      .sentence = run.trouble(),
                      .reached = time_text(*record.model, result.reached),
                      .fingerprint = has_results ? fingerprint_text(result.fingerprint) : "",
                      .metrics = report_metrics(record)};
  board_->end(std::move(ending), record.progress);
  board_->dismiss();
}

void Live::failed() {
  if (board_) board_->dismiss();
}

}  // namespace orrery::cli
