// SPDX-License-Identifier: Apache-2.0
//
// The data with which a reverse handler undoes one event: the values that the handler remembered,
// and the metrics before their change. One buffer of the worker collects them while the event runs;
// they then move into the event's checkpoint record, and a rollback reads them from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <vector>

#include "memory/application_mode.h"
#include "orrery/reverse.h"

namespace orrery::checkpoint {

class UndoLog {
 public:
  void clear() {
    values_.clear();
    images_.clear();
    refused_ = false;
  }
  /// Whether memory ran out: the log is incomplete and cannot undo the event.
  bool was_refused() const { return refused_; }
  /// remember and save_before are called from a handler, in application mode.
  void remember(const void* value, std::size_t bytes) {
    const memory::PlatformMode platform;
    append({{value, bytes}, {&bytes, sizeof bytes}}, values_);
  }
  void save_before(const void* address, std::size_t bytes) {
    const memory::PlatformMode platform;
    append({{address, bytes}, {&address, sizeof address}, {&bytes, sizeof bytes}}, images_);
  }

  /// A record: size of the values, the values, then the images.
  std::size_t record_bytes() const {
    return sizeof(std::uint64_t) + values_.size() + images_.size();
  }
  void write(std::byte* record) const {
    const std::uint64_t values = values_.size();
    std::memcpy(record, &values, sizeof values);
    record += sizeof values;
    if (!values_.empty()) std::memcpy(record, values_.data(), values_.size());
    if (!images_.empty()) std::memcpy(record + values_.size(), images_.data(), images_.size());
  }

  /// The remembered values of a record.
  struct Values {
    const std::byte* begin;
    const std::byte* end;
  };
  static Values values_of(const std::byte* record) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, record, sizeof bytes);
    return {record + sizeof bytes, record + sizeof bytes + bytes};
  }
  /// Restores the saved bytes, newest first.
  static void restore_images(const std::byte* record, std::size_t record_bytes) {
    const std::byte* begin = values_of(record).end;
    for (const std::byte* end = record + record_bytes; end > begin;) {
      std::uint64_t bytes = 0;
      void* address = nullptr;
      std::memcpy(&bytes, end - sizeof bytes, sizeof bytes);
      std::memcpy(&address, end - sizeof bytes - sizeof address, sizeof address);
      end -= sizeof bytes + sizeof address + (bytes + 7) / 8 * 8;
      std::memcpy(address, end, bytes);
    }
  }

 private:
  struct Part {
    const void* bytes;
    std::size_t count;
  };
  /// Notes missing memory instead of throwing: the handler must not see the exception.
  void append(std::initializer_list<Part> parts, std::vector<std::byte>& to) noexcept {
    try {
      for (const auto& [bytes, count] : parts) {
        const auto* first = static_cast<const std::byte*>(bytes);
        to.insert(to.end(), first, first + count);
        to.resize((to.size() + 7) / 8 * 8);
      }
    } catch (const std::bad_alloc&) {
      refused_ = true;
    }
  }

  std::vector<std::byte> values_;
  std::vector<std::byte> images_;
  bool refused_ = false;
};

/// The context that a reverse handler gets.
class Reversal final : public ReverseContext {
 public:
  Reversal(Time now, LpId self, UndoLog::Values values)
      : ReverseContext(now, self, values.begin, values.end) {}
};

}  // namespace orrery::checkpoint
