// SPDX-License-Identifier: Apache-2.0
//
// A shared object as a model author would write it: nothing of the platform is included, the
// standard library is used freely.
#include "interpose_plugin.h"

#include <any>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <iomanip>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct alignas(64) CacheLine {
  std::uint64_t words[8];
};

struct PluginState {
  std::vector<std::uint64_t> numbers;
  std::map<std::string, std::vector<int>> table;
  std::unordered_map<int, std::string> names;
  std::list<double> list;
  std::deque<std::uint64_t> deque;
  std::function<std::uint64_t(std::uint64_t)> function;
  std::shared_ptr<std::string> shared;
  std::weak_ptr<std::string> weak;
  std::unique_ptr<CacheLine> line;
  std::string text;
  std::any anything;
  std::vector<std::function<int(int)>> steps;
  char* copied = nullptr;
  char* printed = nullptr;
};

namespace {

thread_local std::string per_thread(100, 't');

const std::vector<int>& lookup() {
  static const std::vector<int> table(1000, 7);
  return table;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  return hash;
}

std::uint64_t mix(std::uint64_t hash, const std::string& text) {
  for (const char c : text) {
    hash = mix(hash, static_cast<unsigned char>(c));
  }
  return hash;
}

PluginState* create() {
  return new PluginState;
}

void destroy(PluginState* state) {
  std::free(state->copied);
  std::free(state->printed);
  delete state;
}

void change_containers(PluginState& state, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < seed % 50; ++i) {
    state.numbers.push_back(seed * i);
    state.deque.push_front(i);
    state.list.push_back(static_cast<double>(i) / 3);
  }
  if (state.deque.size() > 60) {
    state.deque.resize(20);
    state.list.clear();
  }
  const std::string key = "key " + std::to_string(seed % 17);
  state.table[key].resize(seed % 300, lookup()[0]);
  state.names[static_cast<int>(seed % 101)] = std::string(seed % 70, 'n');
  state.names.erase(static_cast<int>(seed / 3 % 101));
  state.function = [captured = state.numbers, seed](std::uint64_t x) {
    return x + captured.size() + seed;
  };
  if (seed % 3 == 0) {
    state.shared = std::make_shared<std::string>(key + key + key + key);
    state.weak = state.shared;
  }
  state.line = std::make_unique<CacheLine>(CacheLine{{seed}});
}

void change_text(PluginState& state, std::uint64_t seed) {
  std::ostringstream out;
  out << std::setw(20) << std::hex << seed << ' ' << std::setprecision(17)
      << static_cast<double>(seed) / 7;
  const std::regex pattern("([0-9a-f]+) +([0-9.e+]+)");
  std::smatch parts;
  const std::string text = out.str();
  if (std::regex_search(text, parts, pattern)) {
    state.text = parts[2].str() + parts[1].str();
  }
  std::free(state.copied);
  state.copied = strdup(text.c_str());
  state.copied = static_cast<char*>(std::realloc(state.copied, 200 + seed % 200));
}

// What allocates behind the scenes: asprintf, strndup, locale facets, any, polymorphic memory
// resources, exceptions that cross several frames.
void change_more(PluginState& state, std::uint64_t seed) {
  std::free(state.printed);
  if (asprintf(&state.printed, "%020llu|%s", static_cast<unsigned long long>(seed),
               state.text.c_str()) < 0) {
    state.printed = nullptr;
  }
  char* const part = strndup(state.printed, 30);
  state.anything = std::string(part);
  std::free(part);
  std::stringstream stream;
  stream.imbue(std::locale::classic());
  stream << std::put_time(std::localtime(reinterpret_cast<const std::time_t*>(&seed)), "%F") << ' '
         << std::to_string(0.25 * static_cast<double>(seed));
  state.names[200] = stream.str();
  std::pmr::monotonic_buffer_resource buffer;
  std::pmr::vector<std::pmr::string> strings(&buffer);
  for (std::uint64_t i = 0; i < seed % 20; ++i) {
    strings.emplace_back("a string that is too long to lie in place");
  }
  state.names[201] = std::to_string(strings.size());
  try {
    state.table.at("no such key");
  } catch (const std::out_of_range& error) {
    try {
      std::throw_with_nested(std::runtime_error(state.text));
    } catch (const std::exception& nested) {
      state.names[202] = nested.what() + std::string(error.what());
    }
  }
  state.steps.emplace_back([text = state.names[202], seed](int x) {
    return x + static_cast<int>(text.size() + seed % 7);
  });
}

void sort_numbers(PluginState& state) {
  std::qsort(state.numbers.data(), state.numbers.size(), sizeof(std::uint64_t),
             [](const void* left, const void* right) {
               const auto a = *static_cast<const std::uint64_t*>(left);
               const auto b = *static_cast<const std::uint64_t*>(right);
               return a < b ? -1 : static_cast<int>(a > b);
             });
}

void handle(PluginState* state, std::uint64_t seed) {
  change_containers(*state, seed);
  change_text(*state, seed);
  change_more(*state, seed);
  sort_numbers(*state);
}

std::uint64_t digest(const PluginState* state) {
  std::uint64_t hash = 1;
  for (const std::uint64_t number : state->numbers) {
    hash = mix(hash, number);
  }
  for (const auto& [key, values] : state->table) {
    hash = mix(mix(hash, key), values.size());
  }
  for (int i = 0; i < 203; ++i) {
    const auto found = state->names.find(i);
    hash = mix(hash, found == state->names.end() ? 1000 : found->second.size());
  }
  for (const std::uint64_t number : state->deque) {
    hash = mix(hash, number);
  }
  hash = mix(mix(hash, state->list.size()), state->text);
  hash = mix(hash, state->function ? state->function(1) : 0);
  hash = mix(hash, state->weak.expired() ? "gone" : *state->weak.lock());
  hash = mix(hash, state->line ? state->line->words[0] : 0);
  for (const auto& step : state->steps) {
    hash = mix(hash, static_cast<std::uint64_t>(step(3)));
  }
  if (const auto* text = std::any_cast<std::string>(&state->anything)) {
    hash = mix(hash, *text);
  }
  hash = mix(hash, std::string(state->printed != nullptr ? state->printed : ""));
  return mix(hash, std::string(state->copied != nullptr ? state->copied : ""));
}

std::uint64_t read_line(std::FILE* file) {
  char* line = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&line, &capacity, file);
  std::free(line);
  return static_cast<std::uint64_t>(length);
}

void throw_and_catch() {
  try {
    throw std::runtime_error("a message too long for the small-string buffer of std::string");
  } catch (const std::exception&) {
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Plugin* get_plugin() {
  static constexpr Plugin plugin{
      create,
      destroy,
      handle,
      digest,
      read_line,
      []() -> const void* { return lookup().data(); },
      []() -> const void* { return per_thread.data(); },
      throw_and_catch,
  };
  return &plugin;
}
