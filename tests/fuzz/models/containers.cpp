// SPDX-License-Identifier: Apache-2.0
//
// State in the containers of the standard library, every one of which allocates, shares nodes,
// rehashes or moves its elements in its own way.
#include <array>
#include <bitset>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "nasty.h"

namespace orrery::fuzz {
namespace {

template <class Range>
std::uint64_t digest_of(const Range& range) {
  std::uint64_t digest = 7;
  for (const auto& value : range) digest = mix(digest, value);
  return digest;
}

class Vectors final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    switch (random.below(6)) {
      case 0:
        values_.insert(values_.begin() + static_cast<std::ptrdiff_t>(values_.size() / 2), value);
        break;
      case 1:
        values_.resize(random.below(64), value);
        break;
      case 2:
        values_.shrink_to_fit();
        break;
      case 3:
        std::swap(values_, spare_);
        break;
      case 4:
        spare_ = values_;
        break;
      default:
        values_.push_back(value);
    }
    return values_.empty() ? spare_.size() : values_.back();
  }
  std::uint64_t digest() const override { return mix(digest_of(values_), digest_of(spare_)); }

  std::vector<std::uint64_t> values_, spare_;
};

class Deques final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    const std::uint64_t kind = random.below(5);
    if (kind < 2) values_.push_back(value);
    if (kind == 2) values_.push_front(value);
    if (kind == 3 && !values_.empty()) values_.pop_front();
    if (kind == 4) values_.resize(values_.size() / 2);
    return values_.empty() ? 1 : values_.front();
  }
  std::uint64_t digest() const override { return digest_of(values_); }

  std::deque<std::uint64_t> values_;
};

class Lists final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    switch (random.below(7)) {
      case 0:
        values_.splice(values_.begin(), spare_);
        break;
      case 1:
        values_.sort();
        break;
      case 2:
        values_.remove_if([&](std::uint64_t one) { return one % 3 == value % 3; });
        break;
      case 3:
        single_.push_front(value);
        break;
      case 4:
        if (!single_.empty()) single_.pop_front();
        single_.reverse();
        break;
      case 5:
        spare_.push_front(value);
        break;
      default:
        values_.push_back(value);
    }
    return values_.empty() ? 1 : values_.back();
  }
  std::uint64_t digest() const override {
    return mix(mix(digest_of(values_), digest_of(spare_)), digest_of(single_));
  }

  std::list<std::uint64_t> values_, spare_;
  std::forward_list<std::uint64_t> single_;
};

class Trees final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    switch (random.below(6)) {
      case 0:
        names_[value % 23] += static_cast<char>('a' + value % 26);
        break;
      case 1:
        names_.erase(value % 23);
        break;
      case 2:
        if (auto node = names_.extract(value % 23)) {
          node.key() = 100 + value % 7;
          names_.insert(std::move(node));
        }
        break;
      case 3:
        several_.emplace(value % 5, value);
        break;
      case 4:
        several_.erase(value % 5);
        break;
      default:
        if (!set_.insert(value % 61).second) set_.erase(value % 61);
    }
    return set_.size() + names_.size() * 100 + several_.size() * 10'000;
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = digest_of(set_);
    for (const auto& [number, name] : names_) digest = mix(mix(digest, number), name);
    for (const auto& [number, value] : several_) digest = mix(mix(digest, number), value);
    return digest;
  }

  std::map<std::uint64_t, std::string> names_;
  std::multimap<std::uint64_t, std::uint64_t> several_;
  std::set<std::uint64_t> set_;
};

/// Keys are strings and numbers, so that the order of iteration depends on what was done alone.
class Hashes final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    const std::string key = "key " + std::to_string(value % 97);
    switch (random.below(6)) {
      case 0:
        counts_.erase(key);
        break;
      case 1:
        counts_.rehash(random.below(200));
        break;
      case 2:
        if (!words_.insert(key).second) words_.erase(key);
        break;
      case 3:
        several_.emplace(value % 4, value);
        if (several_.size() > 40) several_.clear();
        break;
      default:
        counts_[key] += value;
    }
    return counts_.bucket_count() + words_.size();
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = 3;
    for (const auto& [key, count] : counts_) digest = mix(mix(digest, key), count);
    for (const std::string& word : words_) digest = mix(digest, word);
    for (const auto& [key, value] : several_) digest = mix(mix(digest, key), value);
    return digest;
  }

  std::unordered_map<std::string, std::uint64_t> counts_;
  std::unordered_set<std::string> words_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> several_;
};

class Queues final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    const std::uint64_t kind = random.below(4);
    if (kind == 0 && !queue_.empty()) queue_.pop();
    if (kind == 1 && !fifo_.empty()) fifo_.pop();
    if (kind == 2) fifo_.push(value);
    if (kind >= 2) queue_.emplace(value % 100, value);
    bits_.flip(value % bits_.size());
    bits_ ^= bits_ << (value % 3 + 1);
    return mix(queue_.empty() ? 0 : queue_.top().second, bits_.count());
  }
  std::uint64_t digest() const override {
    auto copy = queue_;
    std::uint64_t digest = mix(bits_.count(), fifo_.empty() ? 5 : fifo_.back());
    for (; !copy.empty(); copy.pop()) digest = mix(digest, copy.top().second);
    return digest;
  }

  std::priority_queue<std::pair<std::uint64_t, std::uint64_t>> queue_;
  std::queue<std::uint64_t> fifo_;
  std::bitset<193> bits_;
};

/// Short strings lie in the object, long ones do not; views refer to the LP's own strings.
class Strings final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    std::string& text = texts_[value % texts_.size()];
    switch (random.below(5)) {
      case 0:
        text.clear();
        text.shrink_to_fit();
        break;
      case 1:
        text.insert(text.size() / 2, std::to_string(value));
        break;
      case 2:
        std::swap(text, texts_[0]);
        break;
      case 3:
        text.resize(random.below(100), 'z');
        break;
      default:
        text.append(random.below(30), static_cast<char>('a' + value % 26));
    }
    for (std::size_t i = 0; i < texts_.size(); ++i)
      views_[i] = std::string_view(texts_[i]).substr(texts_[i].size() / 3);
    return views_[value % views_.size()].size();
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = 2;
    for (const std::string_view view : views_) digest = mix(digest, view);
    for (const std::string& text : texts_) digest = mix(digest, text);
    return digest;
  }

  std::array<std::string, 5> texts_;
  std::array<std::string_view, 5> views_;
};

class Containers final : public NastyModel {
 public:
  Containers()
      : NastyModel({habit<Vectors>("vectors"), habit<Deques>("deques"), habit<Lists>("lists"),
                    habit<Trees>("trees"), habit<Hashes>("hashes"), habit<Queues>("queues"),
                    habit<Strings>("strings")}) {}
};

ORRERY_MODEL(Containers, "containers", "state in the containers of the standard library");

}  // namespace
}  // namespace orrery::fuzz
