// SPDX-License-Identifier: Apache-2.0
#include "advise/advice.h"

#include <utility>

namespace orrery::advise {
namespace {

/// Quotes a word for a shell, if it has characters with a special meaning.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

const Configuration& Advice::configuration() const {
  return recommended ? offers.offers[*recommended].configuration
                     : findings.measured[chosen].configuration;
}

std::string Advice::command() const {
  std::string text = "orrery";
  for (const std::string& word : run_command) text += " " + quoted(word);
  for (const std::string& word : configuration().words()) text += " " + quoted(word);
  return text;
}

std::optional<Advice> make_advice(Findings findings, const std::vector<Machine>& machines,
                                  const Limits& limits, unsigned cores) {
  const std::optional<std::size_t> chosen = fastest(findings.measured, findings.work());
  if (!chosen) return std::nullopt;
  Advice advice;
  advice.findings = std::move(findings);
  advice.cores = cores;
  advice.limits = limits;
  advice.chosen = *chosen;
  advice.has_table = !machines.empty();
  advice.offers = make_offers(advice.findings.measured, advice.findings.work(), machines);
  advice.recommended = recommended(advice.offers.offers, limits);
  advice.guidelines = guidelines(advice.findings.measured, *chosen, advice.offers.offers, cores);
  return advice;
}

}  // namespace orrery::advise
