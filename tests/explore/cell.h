// SPDX-License-Identifier: Apache-2.0
//
// Plain data in a scenario, watched: an access that is not ordered after the other threads'
// conflicting ones by acquire and release is a failure even if this run happens to order it, and so
// is one after the data was freed.
#pragma once

#include <cstddef>
#include <utility>

#include "explore/execution.h"

namespace orrery::explore {

template <class T>
class Cell : Tracked {
 public:
  Cell() : Cell(T{}) {}
  Cell(T value) : value_(std::move(value)) { note_write(); }
  Cell(const Cell& other) : Cell(other.get()) {}
  Cell& operator=(const Cell& other) {
    set(other.get());
    return *this;
  }

  const T& get() const {
    Execution::active().access(const_cast<Cell&>(*this), writes_, "read");
    return value_;
  }
  void set(T value) {
    note_write();
    value_ = std::move(value);
  }

 private:
  void note_write() {
    Execution::active().access(*this, accesses, "write");
    writes_ = accesses;
  }

  T value_;
  Clock writes_{};
};

/// Frees `object`: all atomics and cells in it. What others did with them must have happened
/// before, and nobody may touch them afterwards. (Its destructor runs when the scenario ends.)
template <class T>
void free_memory(const T& object) {
  Execution::active().free(&object, sizeof(T));
}

}  // namespace orrery::explore
