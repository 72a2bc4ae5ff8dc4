// SPDX-License-Identifier: Apache-2.0
//
// Who is told what by the server of a run, and what a browser is told beside it.
#include "live/answers.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "live/server.h"

namespace orrery::live {
namespace {

struct Fields {
  std::string method, path;
  std::map<std::string, std::string> headers{{"Host", "127.0.0.1:4711"}};
  std::map<std::string, std::string> arguments{};
};

class Request final : public HttpRequest {
 public:
  explicit Request(Fields fields) : fields_(std::move(fields)) {}
  std::string_view method() const override { return fields_.method; }
  std::string_view path() const override { return fields_.path; }
  std::string_view header(const char* name) const override { return of(fields_.headers, name); }
  std::string_view argument(const char* name) const override { return of(fields_.arguments, name); }

 private:
  static std::string_view of(const std::map<std::string, std::string>& texts, const char* name) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string_view() : std::string_view(found->second);
  }
  const Fields fields_;
};

class AnswersTest : public ::testing::Test {
 protected:
  static Facts facts() {
    Facts facts;
    facts.run.report = {{"model", {{"name", "odd </script><script>alert(1)</script>"}, {"lps", 3}}},
                        {"parameters", page::Json::object()},
                        {"options", {{"seed", 1}}}};
    facts.engine = "sequential";
    facts.horizon = "1 s";
    facts.lp_names = {"hub </div><script>", "", "\"leaf\""};
    return facts;
  }
  HttpAnswer get(const std::string& path) { return answers_.answer(Request({"GET", path})); }
  HttpAnswer ask(Fields fields) { return answers_.answer(Request(std::move(fields))); }
  static std::string header(const HttpAnswer& answer, const std::string& name) {
    for (const auto& [key, value] : answer.headers)
      if (name == key) return value;
    return "";
  }

  const std::string token_ = make_token();
  const Facts facts_ = facts();
  RunControl control_;
  Board board_{control_, 1};
  Answers answers_{board_, facts_, token_};
};

TEST_F(AnswersTest, TokensAreLongAndDiffer) {
  EXPECT_EQ(token_.size(), 32u);
  EXPECT_EQ(token_.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token_, make_token());
}

TEST_F(AnswersTest, NothingIsToldWithoutTheToken) {
  std::string near = token_;
  near.back() = near.back() == '0' ? '1' : '0';
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/state.json"), "/" + near + "/",
        "/" + near + "/state.json", "/" + token_ + "0/", "/" + token_.substr(1) + "/",
        "//" + token_ + "/", "/favicon.ico?" + token_}) {
    EXPECT_EQ(get(path).status, 403u) << path;
    EXPECT_EQ(ask({"POST", path}).status, 403u) << path;
  }
  EXPECT_EQ(get("/" + token_ + "/").status, 200u);
  EXPECT_EQ(get("/" + token_ + "/state.json").status, 200u);
  EXPECT_EQ(get("/" + token_ + "/other").status, 404u);
  const HttpAnswer moved = get("/" + token_);
  EXPECT_EQ(moved.status, 308u);
  EXPECT_EQ(header(moved, "Location"), "/" + token_ + "/");
}

TEST_F(AnswersTest, OnlyThisMachineIsAHost) {
  const auto status_at = [&](std::map<std::string, std::string> headers) {
    return ask({"GET", "/" + token_ + "/", std::move(headers)}).status;
  };
  EXPECT_EQ(status_at({{"Host", "localhost:9"}}), 200u);
  EXPECT_EQ(status_at({{"Host", "127.0.0.1"}}), 200u);
  for (const char* host :
       {"", "evil.example", "evil.example:4711", "127.0.0.1.evil.example", "127.0.0.10:4711"})
    EXPECT_EQ(status_at({{"Host", host}}), 403u) << host;
  EXPECT_EQ(status_at({}), 403u);
}

TEST_F(AnswersTest, RunsAreStoppedByTheirOwnPages) {
  const std::string path = "/" + token_ + "/stop";
  const auto status_from = [&](const char* origin) {
    return ask({"POST", path, {{"Host", "127.0.0.1:4711"}, {"Origin", origin}}}).status;
  };
  EXPECT_EQ(get(path).status, 405u);
  EXPECT_EQ(status_from("http://evil.example"), 403u);
  EXPECT_EQ(status_from("http://127.0.0.1:8080"), 403u);
  EXPECT_EQ(status_from("null"), 403u);
  // There is no run yet that could be stopped.
  EXPECT_EQ(status_from("http://127.0.0.1:4711"), 409u);
  EXPECT_EQ(ask({"POST", path}).status, 409u);
  EXPECT_EQ(ask({"POST", "/" + token_ + "/state.json"}).status, 405u);
  EXPECT_FALSE(control_.stop_requested);
}

TEST_F(AnswersTest, PagesRunTheirOwnScriptAlone) {
  const HttpAnswer page = get("/" + token_ + "/");
  const std::string policy = header(page, "Content-Security-Policy");
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe-inline"), std::string::npos);
  const std::string begin = "script-src 'nonce-";
  const std::string nonce = policy.substr(policy.find(begin) + begin.size(), 32);
  EXPECT_NE(page.body.find("<script nonce=\"" + nonce + "\">"), std::string::npos);
  EXPECT_EQ(page.body.find("<script>"), std::string::npos);
  EXPECT_NE(page.body.find("odd &lt;/script&gt;"), std::string::npos);
  EXPECT_NE(page.body.find("hub &lt;/div&gt;&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(page.body.find(token_), std::string::npos);
  EXPECT_EQ(header(page, "Cache-Control"), "no-store");
  EXPECT_EQ(header(page, "Referrer-Policy"), "no-referrer");
  EXPECT_EQ(header(get("/" + token_ + "/state.json"), "Content-Security-Policy"),
            "default-src 'none'");
}

TEST_F(AnswersTest, ReadersAreToldOfTheEnd) {
  const std::string path = "/" + token_ + "/state.json";
  const auto state = [&] { return Json::parse(get(path).body); };
  EXPECT_EQ(state()["phase"], "starting");
  EXPECT_TRUE(state()["look"].is_null());
  board_.end({.end = "fault",
              .sentence = "LP 3 <b> failed",
              .reached = "2 s",
              .fingerprint = "0x12",
              .metrics = Json::object()},
             {{.wall_seconds = 2, .simulated_seconds = 1, .committed = 30, .executed = 40}});
  // What waits is answered at once.
  const HttpAnswer last = ask({"GET", path, {{"Host", "localhost"}}, {{"wait", "1"}}});
  const Json ended = Json::parse(last.body);
  EXPECT_EQ(ended["phase"], "ended");
  EXPECT_EQ(ended["end"], "fault");
  EXPECT_EQ(ended["sentence"], "LP 3 <b> failed");
  EXPECT_EQ(ended["committed"], 30);
  EXPECT_EQ(ended["efficiency"], 0.75);
  const std::string shown = ended["show"]["state"];
  EXPECT_NE(shown.find("LP 3 &lt;b&gt; failed"), std::string::npos);
  board_.dismiss();
}

}  // namespace
}  // namespace orrery::live
