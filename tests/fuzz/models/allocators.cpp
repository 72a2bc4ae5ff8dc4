// SPDX-License-Identifier: Apache-2.0
//
// Memory that comes by other ways than plain new: C's functions, over-aligned and huge blocks, and
// the memory resources of the standard library, which keep books of their own about it.
#include <array>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory_resource>

#include "nasty.h"

namespace orrery::fuzz {
namespace {

class FromC final : public Habit {
 public:
  ~FromC() override {
    std::free(text_);
    for (Block& block : blocks_) std::free(block.bytes);
  }

 private:
  struct Block {
    unsigned char* bytes = nullptr;
    std::size_t size = 0;
  };

  std::uint64_t change(Random& random, std::uint64_t value) override {
    Block& block = blocks_[value % blocks_.size()];
    const std::size_t size = 1 + random.below(3000);
    switch (random.below(5)) {
      case 0:
        replace(block, std::calloc(size, 1), size);
        break;
      case 1:
        replace(block, std::malloc(size), size);
        break;
      case 2:
        replace(block, std::aligned_alloc(64, (size + 63) / 64 * 64), size);
        break;
      case 3:
        std::free(text_);
        text_ = strdup(std::to_string(value).c_str());
        break;
      default:
        resize(block, size, value);
    }
    if (block.size > 0) block.bytes[value % block.size] = static_cast<unsigned char>(value);
    return block.size;
  }

  static void replace(Block& block, void* bytes, std::size_t size) {
    if (bytes == nullptr) throw std::bad_alloc();
    std::memset(bytes, 17, size);
    std::free(block.bytes);
    block = {static_cast<unsigned char*>(bytes), size};
  }

  static void resize(Block& block, std::size_t size, std::uint64_t value) {
    void* bytes = std::realloc(block.bytes, size);
    if (bytes == nullptr) throw std::bad_alloc();
    block.bytes = static_cast<unsigned char*>(bytes);
    if (size > block.size)
      std::memset(block.bytes + block.size, static_cast<int>(value % 256), size - block.size);
    block.size = size;
  }

  std::uint64_t digest() const override {
    std::uint64_t digest = text_ == nullptr ? 1 : mix(1, std::string_view(text_));
    for (const Block& block : blocks_)
      digest =
          mix(digest, std::string_view(reinterpret_cast<const char*>(block.bytes), block.size));
    return digest;
  }

  std::array<Block, 5> blocks_;
  char* text_ = nullptr;
};

/// What must lie on a boundary says so if it does not.
template <std::size_t Alignment>
struct alignas(Alignment) Aligned {
  std::array<std::uint64_t, Alignment / 8> words{};
  std::uint64_t offset() const { return reinterpret_cast<std::uintptr_t>(this) % Alignment; }
};

class OverAligned final : public Habit {
  template <std::size_t Alignment>
  using List = std::list<std::unique_ptr<Aligned<Alignment>>>;

  std::uint64_t change(Random& random, std::uint64_t value) override {
    const std::uint64_t kind = random.below(8);
    if (kind < 4) return change(small_, value, 9);
    return change(large_, value, 2);
  }

  template <std::size_t Alignment>
  static std::uint64_t change(List<Alignment>& list, std::uint64_t value, std::size_t most) {
    if (list.size() >= most) list.pop_front();
    list.push_back(std::make_unique<Aligned<Alignment>>());
    auto& words = list.back()->words;
    words[value % words.size()] = value;
    if (list.back()->offset() != 0) throw std::logic_error("memory is not aligned");
    return list.size();
  }

  template <std::size_t Alignment>
  static std::uint64_t digest(const List<Alignment>& list) {
    std::uint64_t digest = 9;
    for (const auto& one : list)
      for (const std::uint64_t word : one->words) digest = mix(digest, word);
    return digest;
  }
  std::uint64_t digest() const override { return mix(digest(small_), digest(large_)); }

  List<64> small_;
  List<4096> large_;
};

/// A mebibyte at a time, of which an event touches a few pages; seldom another one.
class Huge final : public Habit {
  static constexpr std::size_t kWords = (std::size_t{1} << 20) / 8;

  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (random.below(32) == 0) words_.reset();
    if (words_ == nullptr) {
      words_ = std::make_unique<std::uint64_t[]>(kWords);
      touched_.clear();
    }
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = random.below(kWords);
      words_[at] += value;
      touched_.push_back(at);
    }
    return words_[touched_[value % touched_.size()]];
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = touched_.size();
    for (const std::size_t at : touched_) digest = mix(digest, words_[at]);
    return digest;
  }

  std::unique_ptr<std::uint64_t[]> words_;
  std::vector<std::size_t> touched_;
};

/// Containers on a resource of the LP, which at times is thrown away as a whole.
template <class Resource>
class OnResource final : public Habit {
  struct Place {
    Resource resource;
    std::pmr::vector<std::pmr::string> texts{&resource};
    std::pmr::map<std::uint64_t, std::pmr::list<std::uint64_t>> lists{&resource};
  };

  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (place_ == nullptr || random.below(64) == 0) place_ = std::make_unique<Place>();
    Place& place = *place_;
    switch (random.below(4)) {
      case 0:
        place.texts.emplace_back(value % 100, static_cast<char>('a' + value % 26));
        break;
      case 1:
        if (!place.texts.empty()) place.texts.erase(place.texts.begin());
        break;
      case 2:
        place.lists.erase(value % 11);
        break;
      default:
        place.lists[value % 11].push_back(value);
    }
    return place.texts.size() * 100 + place.lists.size();
  }
  std::uint64_t digest() const override {
    if (place_ == nullptr) return 0;
    std::uint64_t digest = 1;
    for (const auto& text : place_->texts) digest = mix(digest, std::string_view(text));
    for (const auto& [key, list] : place_->lists)
      for (const std::uint64_t value : list) digest = mix(mix(digest, key), value);
    return digest;
  }

  std::unique_ptr<Place> place_;
};

/// A monotonic resource whose first bytes lie in the LP itself.
class Buffer final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return inner_.allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    inner_.deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::array<std::byte, 512> first_{};
  std::pmr::monotonic_buffer_resource inner_{first_.data(), first_.size()};
};

class Allocators final : public NastyModel {
 public:
  Allocators()
      : NastyModel({habit<FromC>("from_c"), habit<OverAligned>("aligned"), habit<Huge>("huge"),
                    habit<OnResource<std::pmr::monotonic_buffer_resource>>("monotonic"),
                    habit<OnResource<std::pmr::unsynchronized_pool_resource>>("pool"),
                    habit<OnResource<Buffer>>("buffer")}) {}
};

ORRERY_MODEL(Allocators, "allocators", "memory that comes by other ways than plain new");

}  // namespace
}  // namespace orrery::fuzz
