// SPDX-License-Identifier: Apache-2.0
#include "run/containment/faults.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "core/duration_text.h"
#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "memory/region.h"
#include "orrery/error.h"
#include "run/containment/frame_names.h"
#include "run/containment/lp_names.h"

namespace orrery {

std::string time_text(const Model& model, Time time) {
  return duration_text(time - Time::zero(), model.tick_seconds());
}

std::string_view name_of_event(const LogicalProcessBase& lp, EventTypeId type) {
  std::string_view name;
  look_at_remains([&] { name = lp.event_name(type); });  // a handler may have destroyed its own LP
  return name.empty() ? "of an unknown type" : name;
}

std::string describe_event(const Model& model, LpId lp, std::string_view event_name, Time time) {
  const std::string who = lp_text(model, lp);
  if (event_name.empty()) return who + ", start of the run";
  return fmt::format("{}, event {} at {} (tick {})", who, event_name, time_text(model, time),
                     time.ticks());
}

namespace {

/// Whether the size exceeds the machine's memory: then it is no failure of the system.
bool is_absurd(std::size_t bytes) {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page_bytes <= 0) return false;
  return bytes > static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
}

std::string refusal(const std::string& where, std::size_t bytes) {
  const std::size_t most = memory::thread_context.denies_above_bytes;
  if (most < bytes || is_absurd(bytes)) {
    return fmt::format("model fault in {}: it ran out of memory: it asked for {} bytes, which {}",
                       where, bytes,
                       most < bytes ? fmt::format("--oversize deny refuses above {}", most)
                                    : "the system does not have");
  }
  return fmt::format("{}{}: a request for {} bytes of memory failed, because none is left{}",
                     kSystemFailure, where, bytes, memory::Region::limit_advice());
}

}  // namespace

std::string describe_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                       Time time) {
  const std::string where = describe_event(model, lp, event_name, time);
  try {
    throw;
  } catch (const ModelFault& fault) {
    return fmt::format("model fault in {}: {}", where, fault.what());
  } catch (const std::bad_array_new_length& exception) {
    return fmt::format("model fault in {}: an exception left the handler: {}", where,
                       exception.what());
  } catch (const std::bad_alloc& exception) {
    const std::size_t bytes = std::exchange(memory::thread_context.thrown_bytes, 0);
    memory::thread_context.refused_bytes = 0;  // reported now
    if (bytes == 0)                            // not thrown for an allocation
      return fmt::format("model fault in {}: an exception left the handler: {}", where,
                         exception.what());
    return refusal(where, bytes);
  } catch (const std::exception& exception) {
    return fmt::format("model fault in {}: an exception left the handler: {}", where,
                       exception.what());
  } catch (...) {
    return fmt::format(
        "model fault in {}: an exception that is not a std::exception left the handler", where);
  }
}

std::string report_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                     Time time) {
  return describe_current_exception(model, lp, event_name, time) +
         frame_lines(trace_of_current_exception().frames);
}

void LivelockTrail::add(Time instant, LpId lp) {
  if (instant < instant_) return;  // steps that commit together need not come in order
  if (instant > instant_) lps_.clear();
  instant_ = instant;
  const auto at = std::lower_bound(lps_.begin(), lps_.end(), lp);
  if (at != lps_.end() && *at == lp) return;
  lps_.insert(at, lp);
  if (lps_.size() > kNamed + 1) lps_.pop_back();
}

void LivelockTrail::merge(const LivelockTrail& other) {
  merge(other.instant_, other.lps_);
}

void LivelockTrail::merge(Time instant, const std::vector<LpId>& lps) {
  for (const LpId lp : lps) add(instant, lp);
}

std::string LivelockTrail::text(const Model& model, Time instant) const {
  if (instant != instant_) return "";
  std::string text = "; LPs on it:";
  for (std::size_t i = 0; i < lps_.size() && i < kNamed; ++i)
    text += (i == 0 ? " " : ", ") + lp_number_text(model, lps_[i]);
  return lps_.size() > kNamed ? text + " and others" : text;
}

void FaultReport::add(LpId lp, std::string sentence, std::string frames) {
  sentence_ = std::move(sentence);
  frame_lines_ = std::move(frames);
  trail_.note(key_, lp);
}

std::string FaultReport::text(const Model& model) const {
  const bool livelock = key_.microstep() >= limit_;
  return sentence_ + (livelock ? trail_.text(model, key_.time()) : "") + frame_lines_ +
         frame_lines(frames_);
}

}  // namespace orrery
