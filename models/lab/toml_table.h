// SPDX-License-Identifier: Apache-2.0
//
// A table of a TOML file for the reader of topologies: gets each key by its type and within its
// limits. Errors are UsageErrors with file, line and key.
//
// A table with `repeat = N` is read N times, and `{i}` in its texts is replaced by 1 to N ("{i+1}"
// by one more). So one table can describe 64 hosts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace orrery::lab {

/// "10 ms" in nanoseconds; std::nullopt if `text` is no time.
std::optional<std::int64_t> parse_time(std::string_view text);

class TomlTable {
 public:
  /// The file's top-level table. Throws UsageError if the file is no TOML. `path` must outlive it.
  explicit TomlTable(const std::string& path);

  /// Throws UsageError if the table has other keys; for_each also accepts `repeat`.
  void allow(std::initializer_list<std::string_view> keys) const {
    allow(std::span(keys.begin(), keys.size()));
  }
  void allow(std::span<const std::string_view> keys) const;
  bool has(std::string_view key) const { return table_->contains(key); }

  /// Calls `action` for each [[key]], as often as it is repeated.
  template <class Action>
  void for_each(std::string_view key, Action&& action) const {
    const toml::array* const all = tables(key);
    if (all == nullptr) return;
    for (const toml::node& one : *all) {
      TomlTable table(*path_, *one.as_table(), index_);
      const std::int64_t times = table.integer("repeat", 1, 1'000'000, 0);
      if (times == 0) action(table);
      for (table.index_ = 1; times > 0 && *table.index_ <= times; ++*table.index_) action(table);
    }
  }

  std::string text(std::string_view key) const;
  std::string text(std::string_view key, const std::string& otherwise) const;
  std::vector<std::string> texts(std::string_view key) const;
  /// A table whose values are texts; its keys are paths and the like.
  std::map<std::string, std::string> pairs(std::string_view key) const;
  bool yes_or_no(std::string_view key, bool otherwise) const;
  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most,
                       std::int64_t otherwise) const;
  double real(std::string_view key, double least, double most, double otherwise) const;
  /// [1.5, 20]
  std::vector<double> reals(std::string_view key) const;
  /// 0 to 1.
  double probability(std::string_view key, double otherwise) const;
  /// "10 ms", in nanoseconds.
  std::int64_t time(std::string_view key, std::int64_t otherwise) const;
  /// "8 MHz", in hertz.
  std::int64_t frequency(std::string_view key) const;
  /// "-10 ms", in nanoseconds; 0 by default.
  std::int64_t signed_time(std::string_view key) const;
  /// "-20 ppm", in parts of 10^12; 0 by default.
  std::int64_t drift(std::string_view key) const;
  /// "10 Mbit/s".
  std::uint64_t rate(std::string_view key, std::uint64_t otherwise) const;
  /// The index of the value among `words`.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words) const {
    return choice(key, std::span(words.begin(), words.size()));
  }
  std::size_t choice(std::string_view key, std::span<const std::string_view> words) const;
  /// The absolute path of the file or folder `name`, a part of the value of `key`. `name` is
  /// relative to the TOML file. `advice` ends the sentence if there is none.
  std::filesystem::path existing_file(std::string_view key, const std::string& name,
                                      std::string_view advice = {}) const;

  /// The table in braces that is the value of `key`.
  std::optional<TomlTable> table(std::string_view key) const;

  /// The same table, but of a value that is a list of two, only the element `which`.
  TomlTable side(std::size_t which) const {
    TomlTable one = *this;
    one.side_ = which;
    return one;
  }

  [[noreturn]] void fail(const std::string& what) const { fail(*table_, what); }
  /// Fails with the key's line.
  [[noreturn]] void fail_at(std::string_view key, const std::string& what) const;

 private:
  TomlTable(const std::string& path, const toml::table& table, std::optional<std::int64_t> index)
      : path_(&path), table_(&table), index_(index) {}
  [[noreturn]] void fail(const toml::node& at, const std::string& what) const;
  const toml::array* tables(std::string_view key) const;
  const toml::node* find(std::string_view key) const;
  std::string with_index(const std::string& text) const;
  enum class Sign : std::uint8_t { none, any };
  template <class Units>
  std::int64_t quantity(std::string_view key, const Units& units, Sign sign,
                        std::int64_t otherwise) const;

  const std::string* path_;
  std::shared_ptr<const toml::table> file_;  ///< set only in the file's top-level table
  const toml::table* table_;
  std::optional<std::int64_t> index_;
  std::optional<std::size_t> side_;
};

}  // namespace orrery::lab
