// SPDX-License-Identifier: Apache-2.0
//
// The answers of a run's live server. Other users of the machine and any page in the user's browser
// can reach the loopback address. So every request must contain the token, and must name this
// machine as its host, since a foreign host name may resolve to this address (DNS rebinding). Only
// a POST that does not come from another page changes anything.
#pragma once

#include <string>
#include <string_view>

#include "live/board.h"
#include "live/facts.h"
#include "live/http_plugin.h"

namespace orrery::live {

class Answers final : public HttpAnswerer {
 public:
  /// `board` and `facts` must outlive this object.
  Answers(Board& board, const Facts& facts, std::string token);

  HttpAnswer answer(const HttpRequest& request) override;

 private:
  Answers(Board& board, const Facts& facts, std::string token, const std::string& nonce);
  bool is_allowed(const HttpRequest& request, std::string_view& rest) const;
  HttpAnswer state(const HttpRequest& request);
  HttpAnswer stop(const HttpRequest& request);

  Board& board_;
  const Facts& facts_;
  const std::string token_;
  const std::string page_, policy_;
};

}  // namespace orrery::live
