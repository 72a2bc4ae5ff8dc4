// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/account.h"

#include <fmt/format.h>

namespace orrery::timewarp {
namespace {

/// Share of executed events that are undone above which fewer workers may be faster.
constexpr double kPoorEfficiency = 0.5;

std::string counted(std::uint64_t n, const char* noun) {
  return fmt::format("{} {}{}", fmt::group_digits(n), noun, n == 1 ? "" : "s");
}

std::string account_of_rollbacks(const WorkerStatistics& sum, unsigned workers) {
  if (workers == 1 && sum.rollbacks == 0)
    return "one worker executes events in order, so nothing was rolled back";
  if (sum.rollbacks == 0) return "no event came too late, so nothing was rolled back";
  const double share = static_cast<double>(sum.rolled_back) / static_cast<double>(sum.executed);
  std::string text =
      fmt::format("{} undid {} ({:.1f} % of those executed)", counted(sum.rollbacks, "rollback"),
                  counted(sum.rolled_back, "event"), share * 100);
  if (sum.coasted > 0)
    text += fmt::format(
        ", and {} again to restore states",
        counted(sum.coasted, "event") + (sum.coasted == 1 ? " was" : " were") + " executed");
  if (sum.retreats > 0)
    text += fmt::format("; {} of what lay too far ahead",
                        counted(sum.retreats, "rollback") + (sum.retreats == 1 ? " was" : " were"));
  if (share > kPoorEfficiency) text += "; fewer workers or --engine sequential may be faster";
  return text;
}

}  // namespace

std::string account_of(const WorkerStatistics& sum, unsigned workers) {
  std::string text = account_of_rollbacks(sum, workers);
  if (sum.moves == 0) return text;
  return text + fmt::format("; workers were unevenly loaded: {} of {} in all",
                            counted(sum.moves, "move"), counted(sum.lps_moved, "LP"));
}

}  // namespace orrery::timewarp
