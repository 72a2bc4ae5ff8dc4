// SPDX-License-Identifier: Apache-2.0
//
// A shop with all that a page can show: values with a histogram, a rate and a series, a level, a
// table of samples and one of happenings, a result that is text, and everywhere texts that HTML
// would take for something else. It fails where it is told to.
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::Keep;
using orrery::Metric;
using orrery::Parameter;

struct Customer {};
struct Look {};

/// What a table in a file, a page and a data frame can mistake for something else.
constexpr std::string_view kClerks[] = {"<b>Ann</b>, \"boss\"", "",           "None", "NA", "1e3",
                                        "two\nlines",           "Zo\xc3\xab", "a,b"};

class Shop final : public orrery::Model {
 public:
  Shop() {
    wait.series(Duration::seconds(2));
    inside.series(Duration::seconds(2));
  }
  Parameter<std::int64_t> shelves{
      *this, "shelves", 4, {.help = "more than 1 & fewer than <many>", .unit = "", .minimum = 2}};
  Parameter<std::string> town{*this, "town", "Sioux", {.help = "the \"place\""}};
  Parameter<double> fail_at{*this, "fail_at", 0, {.help = "a fault there; 0: none", .unit = "s"}};
  Metric wait{*this, "wait", "s", "time in <line> & \"more\"", Keep::histogram | Keep::rate};
  Metric basket{*this, "basket", "", "things in a basket", Keep::histogram};
  Metric inside{*this, "inside", "", "customers inside", Keep::level};
  Metric never{*this, "never", "", "recorded by nobody"};
  orrery::Table looks{
      *this,
      "looks",
      {{"shelf", orrery::ColumnType::integer}, {"things", orrery::ColumnType::integer, "<b>"}},
      "what is on the <shelves>"};
  orrery::Table sales{*this,
                      "sales",
                      {{"price", orrery::ColumnType::real, "EUR"},
                       {"shelf", orrery::ColumnType::integer},
                       {"till", orrery::ColumnType::integer},
                       {"clerk", orrery::ColumnType::text}},
                      ""};

  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(shelves.value()); }
  orrery::Time default_horizon() const override {
    return orrery::Time::zero() + Duration::seconds(60);
  }
  Duration lookahead() const override { return Duration::milliseconds(500); }
  std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId) const override;
  void report(orrery::Report& report, orrery::Time) const override {
    report.value("mean_wait", report.total(wait).mean(), "s", "of all customers");
    report.text("motto", "<script>alert('x')</script>", "should stay a text");
  }
};

class Shelf final : public orrery::LogicalProcess<Shelf, Customer, Look> {
 public:
  explicit Shelf(const Shop& shop) : shop_(shop) {}
  void start(Context& context) override {
    context.level(shop_.inside, 0);
    context.schedule(context.self(), Duration::seconds(1), Customer{});
    context.schedule(context.self(), Duration::seconds(5), Look{});
  }
  void handle(Context& context, const Customer&) {
    if (shop_.fail_at.value() > 0 && context.now().to_seconds() >= shop_.fail_at.value())
      throw std::runtime_error("the till <burns> & \"smokes\"");
    ++served_;
    context.record(shop_.wait, context.random().exponential(Duration::seconds(3)).to_seconds());
    context.record(shop_.basket, static_cast<double>(context.random().below(12)));
    context.level(shop_.inside, static_cast<double>(context.random().below(5)));
    const int till = context.now().to_seconds() < 30 ? 1 : 7;
    context.emit(shop_.sales, context.random().uniform(), context.self(), till,
                 kClerks[(served_ - 1 + context.self()) % std::size(kClerks)]);
    const auto next = (context.self() + 1) % shop_.lp_count();
    context.schedule(
        next,
        Duration::milliseconds(500) + context.random().exponential(Duration::milliseconds(200)),
        Customer{});
  }
  void handle(Context& context, const Look&) {
    context.emit(shop_.looks, context.self(), served_);
    context.schedule(context.self(), Duration::seconds(5), Look{});
  }

 private:
  const Shop& shop_;
  std::uint64_t served_ = 0;
};

std::unique_ptr<orrery::LogicalProcessBase> Shop::create(orrery::LpId) const {
  return std::make_unique<Shelf>(*this);
}

}  // namespace

ORRERY_MODEL(Shop, "shop", "a shop <for> tests & \"pages\"");
