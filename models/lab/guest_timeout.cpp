// SPDX-License-Identifier: Apache-2.0
#include "guest_timeout.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "guest_error.h"
#include "process_tree.h"

namespace orrery::lab {
namespace {

using std::chrono::milliseconds;

/// Processes are read one after the other, and the running one may change between the reads.
constexpr milliseconds kLeastIdle = 5 * GuestTimeout::kPeriod;

struct Activity {
  milliseconds processor_time{};
  bool runs = false;  ///< a process runs, waits only for a core or a disk, or was stopped
};

/// Adds the activity of a process and of its ended children (Linux, proc_pid_stat(5): fields 3 and
/// 14 to 17).
void add(Activity& to, pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return;  // the process has ended meanwhile
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  char state = ' ';
  fields >> state;
  std::string skipped;
  for (int field = 4; field < 14; ++field) fields >> skipped;
  long ticks = 0;
  for (int field = 14, some = 0; field <= 17 && fields >> some; ++field) ticks += some;
  to.processor_time += milliseconds(ticks * 1'000 / sysconf(_SC_CLK_TCK));
  to.runs |= state == 'R' || state == 'D' || state == 'T';
}

Activity activity_of(pid_t guest) {
  Activity activity;
  for_all_processes(guest, [&](pid_t process) { add(activity, process); });
  return activity;
}

std::string seconds(milliseconds time) {
  std::ostringstream text;
  text << std::chrono::duration<double>(time).count() << " s";
  return text.str();
}

}  // namespace

std::optional<std::string> GuestTimeout::look(pid_t guest) {
  const Activity now = activity_of(guest);
  if (!begun_) {
    begun_ = true;
    at_first_ = at_last_ = now.processor_time;
    idle_ = starved_ = {};
  }
  starved_ = now.processor_time != at_last_ ? milliseconds{} : starved_ + kPeriod;
  idle_ = now.runs || now.processor_time != at_last_ ? milliseconds{} : idle_ + kPeriod;
  at_last_ = now.processor_time;
  if (at_last_ - at_first_ >= limit_)
    return "it has computed for " + seconds(limit_) + " of processor time without an end";
  if (starved_ >= 10 * std::max(limit_, kLeastIdle))
    return "nothing is seen of what it computes for " + seconds(starved_);
  if (idle_ >= std::max(limit_, kLeastIdle))
    return "it has neither computed nor answered for " + seconds(idle_);
  return std::nullopt;
}

void GuestTimeout::check(pid_t guest) {
  const auto clock = std::chrono::steady_clock::now();
  if (!looked_at_) looked_at_ = clock;
  if (clock - *looked_at_ < kPeriod) return;
  looked_at_ = clock;
  if (const auto complaint = look(guest)) throw GuestGivenUp(*complaint);
}

}  // namespace orrery::lab
