// SPDX-License-Identifier: Apache-2.0
//
// Advice as text: the recommendation first, then the measurements behind it.
#include <fmt/format.h>

#include <algorithm>

#include "advise/advice.h"
#include "output/number_text.h"
#include "output/text_table.h"

namespace orrery::advise {
namespace {

using Align = TextTable::Align;

/// "3.4 s, 3.2 to 3.6 s"
std::string span_of(const Likely& seconds) {
  const std::string value = span_text(seconds.value);
  if (!seconds.half_width) return value + ", by one run";
  const double low = seconds.value - *seconds.half_width;
  const std::string high = span_text(seconds.value + *seconds.half_width);
  return low > 0 ? fmt::format("{}, {} to {}", value, span_text(low), high)
                 : fmt::format("{}, at most {}", value, high);
}

std::string error_text(const Likely& likely) {
  if (!likely.half_width) return "one run";
  return likely.share() > 1 ? "+/- > 100 %" : "+/- " + percent_text(likely.share());
}

std::string price_text(const Advice& advice, double price) {
  return fmt::format("{:.4g}{}", price, advice.currency.empty() ? "" : " " + advice.currency);
}

/// Without start-up, whose error does not belong to the event rate.
std::string rate_error(const Measured& one, const Forecast& forecast) {
  return error_text(one.fit()->seconds(forecast.events.value, kConfidence));
}

std::string table_of_configurations(const Advice& advice, const Terminal& terminal) {
  TextTable table({{"configuration"},
                   {"runs", Align::right},
                   {"events/s", Align::right},
                   {"", Align::right},
                   {"efficiency", Align::right},
                   {"whole run", Align::right},
                   {"", Align::right}});
  const Findings& found = advice.findings;
  std::vector<const Measured*> order;
  for (const Measured& one : found.measured)
    if (!one.samples.empty() && !one.beyond_cores) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(), [](const Measured* a, const Measured* b) {
    return a->fit()->per_event < b->fit()->per_event;
  });
  for (const Measured* one : order) {
    const Likely time = time_of_run(*one, found.forecast.events, found.start_seconds);
    table.add({one->configuration.name(), std::to_string(one->samples.size()),
               short_number(1 / one->fit()->per_event), rate_error(*one, found.forecast),
               percent_text(one->efficiency()), span_text(time.value), error_text(time)});
  }
  return table.text(terminal);
}

std::string table_of_machines(const Advice& advice, const Terminal& terminal) {
  TextTable table({{""},
                   {"machine"},
                   {"configuration"},
                   {"whole run", Align::right},
                   {"", Align::right},
                   {"price", Align::right},
                   {""}});
  std::vector<const Offer*> order;
  for (const Offer& one : advice.offers.offers) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(),
                   [](const Offer* a, const Offer* b) { return a->price < b->price; });
  for (const Offer* one : order)
    table.add({one->is_efficient ? "*" : "", one->machine.name, one->configuration.name(),
               span_text(one->seconds.value), error_text(one->seconds),
               price_text(advice, one->price), one->is_extrapolated ? "extrapolated" : ""});
  return fmt::format(
      "\n{}  * efficient: no other is faster and not dearer. Prices are billed by the second.\n",
      table.text(terminal));
}

std::string limits_text(const Advice& advice) {
  std::string text;
  if (advice.limits.seconds) text += " within " + span_text(*advice.limits.seconds);
  if (advice.limits.price)
    text += (text.empty() ? " for at most " : " and for at most ") +
            price_text(advice, *advice.limits.price);
  return text;
}

std::string answer(const Advice& advice, const Terminal& terminal) {
  const Findings& found = advice.findings;
  const Measured& here = found.measured[advice.chosen];
  std::string text = fmt::format("{}\n", terminal.bold(advice.command()));
  if (advice.recommended) {
    const Offer& offer = advice.offers.offers[*advice.recommended];
    text += fmt::format("on {}: {}; {}{}\n", offer.machine.name, span_of(offer.seconds),
                        price_text(advice, offer.price),
                        offer.is_extrapolated ? " (extrapolated to its cores)" : "");
  } else {
    text += fmt::format("on this machine: {}\n",
                        span_of(time_of_run(here, found.forecast.events, found.start_seconds)));
  }
  if (advice.has_table && !advice.recommended)
    text += fmt::format("No machine of the table does it{}.\n", limits_text(advice));
  return text;
}

std::string basis_text(const Advice& advice) {
  const Findings& found = advice.findings;
  std::string text = fmt::format("\n{}.\n", found.forecast.text());
  if (found.begin == Begin::snapshot)
    text +=
        fmt::format("Measured from a snapshot at {} on, {} runs in {}.\n",
                    rounded_time_text(found.begin_seconds), found.runs, span_text(found.seconds));
  else
    text += fmt::format("Measured from the start on, {} runs in {}.\n", found.runs,
                        span_text(found.seconds));
  if (found.speed)
    text += fmt::format("The speed factor of this machine is {:.2f}.\n", found.speed->factor);
  return text;
}

std::string notes_text(const Advice& advice) {
  std::string text;
  const auto note = [&](const std::string& line) { text += fmt::format("note: {}\n", line); };
  for (const Measured& one : advice.findings.measured)
    if (!one.refusal.empty())
      note(fmt::format("{} is left out: {}", one.configuration.name(), one.refusal));
  for (const std::string& line : advice.findings.notes) note(line);
  for (const std::string& line : advice.offers.notes) note(line);
  if (!advice.has_table)
    note("with a table of machines and their prices (--machines FILE) there is a price, too");
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string advice_text(const Advice& advice, const Terminal& terminal) {
  std::string text = answer(advice, terminal);
  text += basis_text(advice);
  text += "\n" + table_of_configurations(advice, terminal);
  if (!advice.offers.offers.empty()) text += table_of_machines(advice, terminal);
  if (!advice.guidelines.empty()) text += "\n";
  for (const Guideline& one : advice.guidelines)
    text += fmt::format("{}: {}\n", terminal.bold(one.name), one.text);
  return text + notes_text(advice);
}

}  // namespace orrery::advise
