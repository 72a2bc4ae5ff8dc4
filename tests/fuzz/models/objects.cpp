// SPDX-License-Identifier: Apache-2.0
//
// State in graphs of objects: shared and weak pointers with cycles, trees of unique pointers,
// virtual hierarchies, objects that hold other types in turn, and objects that refer to themselves.
#include <any>
#include <array>
#include <map>
#include <new>
#include <optional>
#include <variant>

#include "nasty.h"

namespace orrery::fuzz {
namespace {

/// A ring of shared nodes: cycles that somebody has to break.
class Shared final : public Habit {
  struct Node {
    std::uint64_t value;
    std::shared_ptr<Node> next;
    std::weak_ptr<Node> before;
  };

 public:
  ~Shared() override { break_ring(); }

 private:
  std::uint64_t change(Random& random, std::uint64_t value) override {
    switch (random.below(5)) {
      case 0:
        break_ring();
        break;
      case 1:
        if (const auto before = watched_.lock()) return before->value;
        break;
      case 2:
        if (head_ != nullptr) head_ = head_->next;
        break;
      default:
        add(value);
    }
    if (random.below(3) == 0) watched_ = head_;
    return static_cast<std::uint64_t>(head_.use_count());
  }

  void add(std::uint64_t value) {
    auto node = std::make_shared<Node>(Node{value, nullptr, head_});
    if (head_ == nullptr) {
      node->next = node;
    } else {
      node->next = std::move(head_->next);
      head_->next = node;
    }
    head_ = std::move(node);
  }

  void break_ring() {
    if (head_ == nullptr) return;
    const auto rest = std::move(head_->next);
    head_.reset();
    for (auto node = rest; node != nullptr;) node = std::exchange(node->next, nullptr);
  }

  std::uint64_t digest() const override {
    if (head_ == nullptr) return watched_.expired() ? 1 : 2;
    std::uint64_t digest = 3;
    const Node* node = head_.get();
    do {
      digest = mix(digest, node->value);
      if (const auto before = node->before.lock()) digest = mix(digest, before->value);
      node = node->next.get();
    } while (node != head_.get());
    return digest;
  }

  std::shared_ptr<Node> head_;
  std::weak_ptr<Node> watched_;
};

/// A search tree that grows, rotates at its root and loses whole branches.
class Trees final : public Habit {
  struct Node {
    std::uint64_t key;
    std::unique_ptr<Node> left, right;
  };

  std::uint64_t change(Random& random, std::uint64_t value) override {
    const std::uint64_t key = value % 509;
    if (random.below(16) == 0) {
      auto& branch = random.below(2) == 0 ? root_ : spare_;
      branch.reset();
    } else if (random.below(8) == 0) {
      rotate();
    } else {
      std::unique_ptr<Node>* place = &root_;
      while (*place != nullptr && (*place)->key != key)
        place = key < (*place)->key ? &(*place)->left : &(*place)->right;
      if (*place == nullptr) *place = std::make_unique<Node>(Node{key, nullptr, nullptr});
    }
    if (random.below(32) == 0) root_.swap(spare_);
    return root_ == nullptr ? 0 : root_->key;
  }

  void rotate() {
    if (root_ == nullptr || root_->left == nullptr) return;
    auto left = std::move(root_->left);
    root_->left = std::move(left->right);
    left->right = std::move(root_);
    root_ = std::move(left);
  }

  static std::uint64_t digest(const Node* node) {
    if (node == nullptr) return 11;
    return mix(mix(digest(node->left.get()), node->key), digest(node->right.get()));
  }
  std::uint64_t digest() const override { return mix(digest(root_.get()), digest(spare_.get())); }

  std::unique_ptr<Node> root_, spare_;
};

struct Animal {
  virtual ~Animal() = default;
  virtual std::uint64_t age(std::uint64_t value) = 0;
  virtual std::unique_ptr<Animal> child() const = 0;
};
struct Named {
  virtual ~Named() = default;
  std::string name = "nobody";
};
struct Cat final : Animal {
  std::uint64_t years = 1;
  std::uint64_t age(std::uint64_t value) override { return years += value % 3; }
  std::unique_ptr<Animal> child() const override { return std::make_unique<Cat>(); }
};
/// With two bases and a virtual one, a pointer to a base is not one to the object.
struct Horse final : virtual Named, Animal {
  std::vector<std::uint64_t> races;
  std::uint64_t age(std::uint64_t value) override {
    races.push_back(value);
    name += static_cast<char>('a' + value % 26);
    return races.size() + name.size();
  }
  std::unique_ptr<Animal> child() const override {
    auto foal = std::make_unique<Horse>();
    foal->name = name.substr(name.size() / 2);
    return foal;
  }
};

class Virtual final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (animals_.empty() || random.below(4) == 0) {
      if (random.below(2) == 0)
        animals_.push_back(std::make_unique<Cat>());
      else
        animals_.push_back(std::make_unique<Horse>());
    }
    const std::size_t at = value % animals_.size();
    if (random.below(5) == 0) animals_.push_back(animals_[at]->child());
    const std::uint64_t age = animals_[at]->age(value);
    if (animals_.size() > 12) animals_.erase(animals_.begin() + static_cast<std::ptrdiff_t>(at));
    return age + (dynamic_cast<Named*>(animals_.back().get()) != nullptr ? 1000 : 0);
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = 5;
    for (const auto& animal : animals_) {
      if (const auto* cat = dynamic_cast<const Cat*>(animal.get()))
        digest = mix(digest, cat->years);
      if (const auto* named = dynamic_cast<const Named*>(animal.get()))
        digest = mix(digest, named->name);
    }
    return digest;
  }

  std::vector<std::unique_ptr<Animal>> animals_;
};

/// Objects whose type changes in place.
class Changing final : public Habit {
  using Text = std::string;
  using Numbers = std::vector<std::uint64_t>;

  std::uint64_t change(Random& random, std::uint64_t value) override {
    switch (random.below(7)) {
      case 0:
        either_ = std::to_string(value) + " and a text that does not fit into the object";
        break;
      case 1:
        either_ = Numbers(value % 20, value);
        break;
      case 2:
        either_ = value;
        break;
      case 3:
        maybe_.reset();
        break;
      case 4:
        maybe_.emplace(value % 7, static_cast<char>('a' + value % 26));
        break;
      case 5:
        anything_ = Numbers{value, value / 2};
        break;
      default:
        if (random.below(2) == 0)
          anything_ = value;
        else
          anything_.reset();
    }
    return either_.index() * 100 + (maybe_ ? maybe_->size() : 50);
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = mix(6, maybe_.value_or("none"));
    if (const auto* text = std::get_if<Text>(&either_)) digest = mix(digest, *text);
    if (const auto* number = std::get_if<std::uint64_t>(&either_)) digest = mix(digest, *number);
    if (const auto* numbers = std::get_if<Numbers>(&either_)) digest = mix(digest, numbers->size());
    if (const auto* number = std::any_cast<std::uint64_t>(&anything_))
      digest = mix(digest, *number);
    if (const auto* numbers = std::any_cast<Numbers>(&anything_))
      digest = mix(digest, numbers->front());
    return digest;
  }

  std::variant<std::uint64_t, Text, Numbers> either_;
  std::optional<std::string> maybe_;
  std::any anything_;
};

/// Objects made in raw bytes of the LP, with pointers to themselves and into each other.
class InPlace final : public Habit {
  struct Knot {
    explicit Knot(std::uint64_t number) : value(number), text(std::to_string(number)) {}
    std::uint64_t value;
    std::string text;
    Knot* self = this;
    Knot* other = nullptr;
  };

 public:
  ~InPlace() override {
    for (std::size_t i = 0; i < kKnots; ++i) destroy(i);
  }

 private:
  static constexpr std::size_t kKnots = 6;

  std::uint64_t change(Random& random, std::uint64_t value) override {
    const std::size_t at = random.below(kKnots), with = random.below(kKnots);
    if (knots_[at] == nullptr) {
      knots_[at] = new (bytes_[at].data()) Knot(value);
    } else if (random.below(3) == 0) {
      destroy(at);
    } else {
      knots_[at]->other = knots_[with];
      std::swap(knots_[at]->text, knots_[at]->self->text);  // with itself
      auto& text = knots_[at]->text;
      text = std::move(text) + "!";
      if (text.size() > 40) text.erase(3);
    }
    return knots_[at] == nullptr ? at : knots_[at]->self->value;
  }

  void destroy(std::size_t at) {
    if (knots_[at] == nullptr) return;
    for (Knot* knot : knots_)
      if (knot != nullptr && knot->other == knots_[at]) knot->other = nullptr;
    knots_[at]->~Knot();
    knots_[at] = nullptr;
  }

  std::uint64_t digest() const override {
    std::uint64_t digest = 8;
    for (const Knot* knot : knots_) {
      if (knot == nullptr) continue;
      digest = mix(mix(digest, knot->value), knot->text);
      if (knot->other != nullptr) digest = mix(digest, knot->other->value);
    }
    return digest;
  }

  alignas(Knot) std::array<std::array<std::byte, sizeof(Knot)>, kKnots> bytes_{};
  std::array<Knot*, kKnots> knots_{};
};

class Objects final : public NastyModel {
 public:
  Objects()
      : NastyModel({habit<Shared>("shared"), habit<Trees>("trees"), habit<Virtual>("virtual"),
                    habit<Changing>("changing"), habit<InPlace>("in_place")}) {}
};

ORRERY_MODEL(Objects, "objects", "state in graphs of objects");

}  // namespace
}  // namespace orrery::fuzz
