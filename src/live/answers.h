// SPDX-License-Identifier: Apache-2.0
//
// What the server of a run says to whom. Other users of the machine reach the loopback address,
// too, and so does any page in the user's browser: who does not know the token is told nothing, and
// a request must name this machine as its host, since a name of somebody else's may lead here (DNS
// rebinding). Nothing is changed but by a POST that does not come from another page.
#pragma once

#include <string>
#include <string_view>

#include "live/board.h"
#include "live/facts.h"
#include "live/http_plugin.h"

namespace orrery::live {

class Answers final : public HttpAnswerer {
 public:
  /// `board` and `facts` outlive this.
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
