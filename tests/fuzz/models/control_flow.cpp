// SPDX-License-Identifier: Apache-2.0
//
// State in suspended control flow: closures, frames of coroutines, and exceptions that wait to be
// thrown again. What an LP will do next then lies in memory that the language allocates, with
// pointers into code.
#include <coroutine>
#include <exception>
#include <optional>

#include "nasty.h"

namespace orrery::fuzz {
namespace {

class Closures final : public Habit {
  using Action = std::function<std::uint64_t(std::uint64_t)>;

  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (actions_.size() < 6 && random.below(3) != 0) actions_.push_back(make(random, value));
    if (actions_.empty()) return 0;
    const std::size_t at = random.below(actions_.size());
    const std::uint64_t result = actions_[at](value);
    if (random.below(4) == 0) actions_.erase(actions_.begin() + static_cast<std::ptrdiff_t>(at));
    return result;
  }

  static Action make(Random& random, std::uint64_t value) {
    const std::uint64_t kind = random.below(4);
    if (kind == 0) return [value](std::uint64_t x) { return x ^ value; };  // fits into the object
    if (kind == 1) {
      return [text = std::string(value % 40, 'c'), calls = 0u](std::uint64_t x) mutable {
        text += static_cast<char>('a' + x % 26);
        return text.size() * ++calls;
      };
    }
    if (kind == 2) {
      auto shared = std::make_shared<std::uint64_t>(value);
      return [shared](std::uint64_t x) { return *shared += x; };
    }
    Action inner = [value](std::uint64_t x) { return x + value; };
    return [inner, again = inner](std::uint64_t x) { return again(inner(x)); };
  }

  std::uint64_t digest() const override {
    std::uint64_t digest = actions_.size();
    for (const Action& action : actions_) digest = mix(digest, Action(action)(1));  // on a copy
    return digest;
  }

  std::vector<Action> actions_;
};

/// A coroutine that yields numbers.
class Generator {
 public:
  struct promise_type {
    std::uint64_t value = 0;
    Generator get_return_object() {
      return Generator(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::uint64_t next) noexcept {
      value = next;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }
  };

  explicit Generator(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Generator(Generator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Generator& operator=(Generator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Generator() {
    if (handle_) handle_.destroy();
  }
  /// Nothing at the end.
  std::optional<std::uint64_t> next() {
    handle_.resume();
    if (handle_.done()) return std::nullopt;
    return handle_.promise().value;
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Its frame holds a string, a vector and where it is in two loops.
Generator lines(std::string text, std::uint64_t count) {
  std::vector<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const char c : std::string(text)) {
      seen.push_back(static_cast<unsigned char>(c) * (i + 1));
      co_yield seen.back() + seen.size();
    }
    text += std::to_string(i);
  }
}

class Coroutines final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (running_.size() < 4 && random.below(2) == 0)
      running_.push_back(lines(std::string(1 + value % 9, 'p'), 1 + value % 4));
    if (running_.empty()) return 0;
    const std::size_t at = random.below(running_.size());
    const auto got = running_[at].next();
    if (!got || random.below(16) == 0)
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    sum_ = mix(sum_, got.value_or(77));
    return sum_;
  }
  std::uint64_t digest() const override { return mix(sum_, running_.size()); }

  std::vector<Generator> running_;
  std::uint64_t sum_ = 0;
};

/// An exception that is kept over events, thrown again, and caught again.
class Exceptions final : public Habit {
  struct Bulky : std::exception {
    explicit Bulky(std::uint64_t number) : numbers(number % 30, number) {}
    std::vector<std::uint64_t> numbers;
  };

  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (kept_.size() < 5 && random.below(2) == 0) kept_.push_back(make(value));
    if (kept_.empty()) return 1;
    const std::size_t at = random.below(kept_.size());
    const std::uint64_t result = look_at(kept_[at]);
    if (random.below(4) == 0) kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(at));
    return result;
  }

  static std::exception_ptr make(std::uint64_t value) {
    try {
      if (value % 3 == 0) throw Bulky(value);
      if (value % 3 == 1) throw value;
      throw std::runtime_error("kept " + std::to_string(value));
    } catch (...) {
      return std::current_exception();
    }
  }

  static std::uint64_t look_at(const std::exception_ptr& kept) {
    try {
      std::rethrow_exception(kept);
    } catch (Bulky& bulky) {
      bulky.numbers.push_back(1);
      return bulky.numbers.size();
    } catch (const std::exception& exception) {
      return mix(3, exception.what());
    } catch (const std::uint64_t value) {
      return value;
    }
  }

  std::uint64_t digest() const override {
    std::uint64_t digest = 4;
    for (const auto& kept : kept_) digest = mix(digest, look_at(kept));
    return digest;
  }

  std::vector<std::exception_ptr> kept_;
};

class ControlFlow final : public NastyModel {
 public:
  ControlFlow()
      : NastyModel({habit<Closures>("closures"), habit<Coroutines>("coroutines"),
                    habit<Exceptions>("exceptions")}) {}
};

ORRERY_MODEL(ControlFlow, "control_flow", "state in suspended control flow");

}  // namespace
}  // namespace orrery::fuzz
