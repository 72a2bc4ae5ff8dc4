# SPDX-License-Identifier: Apache-2.0
"""The equations that the model follows where all people mix: SEIR with Erlang times as chains of
exponential ones, and doses of a vaccine (README.md, "Against the equations")."""
import numpy as np

STEP_D = 0.01


class Chain:
    """The right-hand side. State: without a dose, dose without effect, protected, recovered, the
    latent stages, the infectious stages."""

    def __init__(self, values):
        self.people = values["people"]
        self.beta = values["beta"] * (1 - values["mild_share"] * (1 - values["mild_infectivity"]))
        self.latent = int(values["latent_shape"])
        shapes = [self.latent, int(values["infectious_shape"])]
        times = [values["latent_time"], values["infectious_time"]]
        self.rates = np.concatenate([np.full(k, k / time) for k, time in zip(shapes, times)])
        self.dose, self.dose_from = values["vaccination_rate"], values["vaccinate_from"]
        self.efficacy = values["vaccine_efficacy"]

    def slope(self, day, state):
        force = self.beta * state[4 + self.latent:].sum() / self.people
        dose = self.dose if day >= self.dose_from else 0.0
        out = self.rates * state[4:]
        change = np.empty_like(state)
        change[0] = -(force + dose) * state[0]
        change[1] = -force * state[1] + (1 - self.efficacy) * dose * state[0]
        change[2] = self.efficacy * dose * state[0]
        change[3] = out[-1]
        change[4:] = np.concatenate([[force * (state[0] + state[1])], out[:-1]]) - out
        return change

    def start(self, infected):
        state = np.zeros(4 + len(self.rates))
        state[0], state[4 + self.latent] = self.people - infected, infected
        return state

    def step(self, day, state):
        """Runge-Kutta of fourth order."""
        h = STEP_D
        a = self.slope(day, state)
        b = self.slope(day + h / 2, state + h / 2 * a)
        c = self.slope(day + h / 2, state + h / 2 * b)
        d = self.slope(day + h, state + h * c)
        return state + h / 6 * (a + 2 * b + 2 * c + d)


def solve(values, days):
    """{stage: people at each of `days`, which rise from 0}. `values`: times in days, rates a day."""
    chain = Chain(values)
    state, at, rows = chain.start(values["infected"]), 0, []
    for day in days:
        for step in range(at, round(day / STEP_D)):
            state = chain.step(step * STEP_D, state)
        at = round(day / STEP_D)
        rows.append(state)
    table = np.array(rows)
    return {"susceptible": table[:, :2].sum(axis=1), "protected": table[:, 2],
            "recovered": table[:, 3], "latent": table[:, 4:4 + chain.latent].sum(axis=1),
            "infectious": table[:, 4 + chain.latent:].sum(axis=1)}
