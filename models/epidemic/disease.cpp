// SPDX-License-Identifier: Apache-2.0
#include "disease.h"

namespace epidemic {

using orrery::Duration;
using orrery::Random;
using orrery::Time;

Duration Dwell::draw(Random& random) const {
  const Duration part = Duration::from_ticks(mean.ticks() / shape);
  Duration sum;
  for (std::int64_t i = 0; i < shape; ++i) sum += random.exponential(part);
  return sum;
}

void Disease::infect(Person& person, Time now, Random& random) const {
  person.stage = Stage::latent;
  person.changes = saturated_sum(now, latent.draw(random));
}

void Disease::progress(Person& person, Random& random) const {
  if (person.stage == Stage::latent) {
    person.stage = variant(random);
    person.changes = saturated_sum(person.changes, infectious.draw(random));
  } else {
    person.stage = Stage::recovered;
    person.changes = Time::max();
  }
}

Stage Disease::variant(Random& random) const {
  if (random.bernoulli(mild_share)) return Stage::mild;
  return random.bernoulli(home_share) ? Stage::homebound : Stage::ill;
}

}  // namespace epidemic
