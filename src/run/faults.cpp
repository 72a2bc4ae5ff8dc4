// SPDX-License-Identifier: Apache-2.0
#include "run/faults.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "core/duration_text.h"
#include "memory/application_mode.h"
#include "orrery/error.h"

namespace orrery {

std::string time_text(const Model& model, Time time) {
  return duration_text(time - Time::zero(), model.tick_seconds());
}

std::string_view name_of_event(const LogicalProcessBase& lp, EventTypeId type) {
  const std::string_view name = lp.event_name(type);
  return name.empty() ? "of an unknown type" : name;
}

std::string describe_event(const Model& model, LpId lp, std::string_view event_name, Time time) {
  if (event_name.empty()) return fmt::format("LP {}, start of the run", lp);
  return fmt::format("LP {}, event {} at {} (tick {})", lp, event_name, time_text(model, time),
                     time.ticks());
}

namespace {
std::string refusal_reason(std::size_t bytes) {
  if (memory::thread_context.denies_above_bytes < bytes) {
    return fmt::format("--oversize deny refuses above {}",
                       memory::thread_context.denies_above_bytes);
  }
  return "the system does not have";
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
    memory::thread_context.refused_bytes = 0;  // told now
    if (bytes == 0)                            // not thrown for an allocation
      return fmt::format("model fault in {}: an exception left the handler: {}", where,
                         exception.what());
    return fmt::format("model fault in {}: it ran out of memory: it asked for {} bytes, which {}",
                       where, bytes, refusal_reason(bytes));
  } catch (const std::exception& exception) {
    return fmt::format("model fault in {}: an exception left the handler: {}", where,
                       exception.what());
  } catch (...) {
    return fmt::format(
        "model fault in {}: an exception that is not a std::exception left the handler", where);
  }
}

}  // namespace orrery
