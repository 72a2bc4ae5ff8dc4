// SPDX-License-Identifier: Apache-2.0
//
// What a comparison says of fingerprints: only runs that were asked the same, and are complete,
// must have the same.
#include <gtest/gtest.h>

#include "page/comparison_page.h"

namespace orrery::page {
namespace {

Json report(const char* fingerprint) {
  Json json = Json::parse(R"({
    "complete": true, "orrery": {"build": "b"}, "model": {"name": "shop"},
    "parameters": {"tills": {"value": 1}}, "inputs": [],
    "options": {"engine": "auto", "seed": 1, "until_ticks": 10}})");
  json["run"]["fingerprint"] = fingerprint;
  return json;
}

TEST(Verdict, OfEqualFingerprints) {
  Json a = report("1"), b = report("1");
  b["options"]["engine"] = "timewarp";
  EXPECT_EQ(verdict_of({&a, &b}), Verdict::equal);
}

TEST(Verdict, OfRunsThatWereAskedTheSame) {
  Json a = report("1"), b = report("2");
  EXPECT_EQ(verdict_of({&a, &b}), Verdict::wrong);
  b["orrery"]["build"] = "c";
  EXPECT_EQ(verdict_of({&a, &b}), Verdict::unclear);
}

TEST(Verdict, OfRunsThatWereAskedOtherThings) {
  const Json a = report("1");
  Json seed = report("2"), parameter = report("2"), horizon = report("2");
  seed["options"]["seed"] = 2;
  parameter["parameters"]["tills"]["value"] = 2;
  horizon["options"]["until_ticks"] = 11;
  for (const Json* b : {&seed, &parameter, &horizon})
    EXPECT_EQ(verdict_of({&a, b}), Verdict::expected);
}

TEST(Verdict, OfRunsThatAreNotComplete) {
  Json a = report("1"), b = report("1");
  b["complete"] = false;
  EXPECT_EQ(verdict_of({&a, &b}), Verdict::incomplete);
}

}  // namespace
}  // namespace orrery::page
