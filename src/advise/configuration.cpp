// SPDX-License-Identifier: Apache-2.0
#include "advise/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::advise {
namespace {

std::string counted(unsigned count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string rest_of(const std::vector<std::string>& options) {
  return options.empty() ? "" : fmt::format(", {}", fmt::join(options, " "));
}

}  // namespace

std::string Configuration::family() const {
  return fmt::format("{}{}{}", engine, ranks > 1 ? fmt::format(", ranks of {}", workers) : "",
                     rest_of(options));
}

Configuration Configuration::with_executors(unsigned count) const {
  Configuration other = *this;
  if (ranks > 1)
    other.ranks = count / workers;
  else
    other.workers = count;
  return other;
}

std::string Configuration::name() const {
  if (engine == "sequential") return engine + rest_of(options);
  if (ranks > 1)
    return fmt::format("{}, {} of {}{}", engine, counted(ranks, "rank"), counted(workers, "worker"),
                       rest_of(options));
  return fmt::format("{}, {}{}", engine, counted(workers, "worker"), rest_of(options));
}

std::vector<std::string> Configuration::words() const {
  std::vector<std::string> words = {"--engine", engine};
  if (engine != "sequential") words.insert(words.end(), {"--workers", std::to_string(workers)});
  if (ranks > 1) words.insert(words.end(), {"--ranks", std::to_string(ranks)});
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace orrery::advise
