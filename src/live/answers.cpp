// SPDX-License-Identifier: Apache-2.0
#include "live/answers.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>

#include "live/page.h"
#include "live/server.h"
#include "live/state.h"

namespace orrery::live {
namespace {

constexpr unsigned kOk = 200, kAccepted = 202, kMoved = 308, kForbidden = 403, kMissing = 404,
                   kWrongMethod = 405, kNotNow = 409;

HttpAnswer answer_of(unsigned status, const char* type, std::string body) {
  return {status,
          std::move(body),
          {{"Content-Type", type},
           {"Cache-Control", "no-store"},
           {"Referrer-Policy", "no-referrer"},
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Content-Security-Policy", "default-src 'none'"}}};
}

HttpAnswer sentence(unsigned status, std::string text) {
  return answer_of(status, "text/plain; charset=utf-8", std::move(text) + "\n");
}

/// Compares in constant time, so that the time does not reveal how many characters match.
bool are_equal(std::string_view given, std::string_view wanted) {
  if (given.size() != wanted.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i]);
  return difference == 0;
}

/// "127.0.0.1:4711": with any port, since the port may be forwarded from another machine.
bool is_this_machine(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost";
}

/// True for a POST from another page; browsers send the page in Origin, other programs send none.
bool is_from_elsewhere(const HttpRequest& request) {
  const std::string_view origin = request.header("Origin");
  constexpr std::string_view kScheme = "http://";
  return !origin.empty() &&
         !(origin.starts_with(kScheme) && origin.substr(kScheme.size()) == request.header("Host"));
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Allows the page its own script and style, and requests to this server.
std::string policy_of(const std::string& nonce) {
  return fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
      "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      nonce);
}

}  // namespace

Answers::Answers(Board& board, const Facts& facts, std::string token)
    : Answers(board, facts, std::move(token), make_token()) {}

Answers::Answers(Board& board, const Facts& facts, std::string token, const std::string& nonce)
    : board_(board),
      facts_(facts),
      token_(std::move(token)),
      page_(page_of(facts, nonce)),
      policy_(policy_of(nonce)) {}

/// `rest`: the path behind the token.
bool Answers::is_allowed(const HttpRequest& request, std::string_view& rest) const {
  const std::string_view path = request.path();
  if (!is_this_machine(request.header("Host")) || path.empty()) return false;
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  rest = path.substr(1 + first.size());
  return are_equal(first, token_);
}

HttpAnswer Answers::answer(const HttpRequest& request) {
  std::string_view rest;
  if (!is_allowed(request, rest))
    return sentence(kForbidden,
                    "this is a run's own page: take the address that the run has shown");
  if (rest == "/stop") return stop(request);
  if (request.method() != "GET" && request.method() != "HEAD")
    return sentence(kWrongMethod, "this can be read only");
  if (rest == "/") {
    HttpAnswer page = answer_of(kOk, "text/html; charset=utf-8", page_);
    page.headers.back().second = policy_;
    return page;
  }
  if (rest == "/state.json") return state(request);
  if (!rest.empty()) return sentence(kMissing, "there is nothing of that name");
  HttpAnswer moved = sentence(kMoved, "the address ends in a slash");
  moved.headers.emplace_back("Location", "/" + token_ + "/");
  return moved;
}

HttpAnswer Answers::state(const HttpRequest& request) {
  if (request.argument("wait") == "1") board_.wait_for_news();
  const View view = board_.view();
  // A page in the background only needs the end of the run.
  if (request.argument("hidden") != "1") board_.ask_for_look();
  return answer_of(kOk, "application/json",
                   state_json(facts_, view, number_of(request.argument("look"))));
}

HttpAnswer Answers::stop(const HttpRequest& request) {
  if (request.method() != "POST") return sentence(kWrongMethod, "a run is stopped by a POST");
  if (is_from_elsewhere(request))
    return sentence(kForbidden, "a run is stopped from its own page only");
  if (!board_.stop()) return sentence(kNotNow, "the run is not under way");
  return sentence(kAccepted, "the run stops at its next commit point");
}

}  // namespace orrery::live
