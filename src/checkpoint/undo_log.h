// SPDX-License-Identifier: Apache-2.0
//
// What one event leaves for being undone by its reverse handler: the values that the handler
// remembered, and the metrics that it was about to change. Collected in one buffer of the worker
// while the event runs, then moved into its checkpoint record; taken apart again at a rollback.
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
  /// Throws std::bad_alloc if there was no memory for something: the event cannot be undone by it.
  void raise_refusal() const {
    if (refused_) throw std::bad_alloc();
  }
  /// Both are called from a handler, in application mode.
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
  /// Brings back what was saved, newest first.
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
  /// Not the handler's business if there is no memory for it: no exception gets there.
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

/// What a reverse handler sees.
class Reversal final : public ReverseContext {
 public:
  Reversal(Time now, LpId self, UndoLog::Values values)
      : ReverseContext(now, self, values.begin, values.end) {}
};

}  // namespace orrery::checkpoint
