#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The energy of sensors of the laboratory, from what a run's report says of each host whose instructions
are counted: the instructions that it executed, and for how long its radio card was on and sent.

    orrery run lab --set topology=models/lab/topologies/sensor-radio.toml --out results/sensors
    models/lab/energy.py results/sensors

The figures of the parts are options. Those that are there without options are of a processor STM32L081
(data sheet DS10888: 93 uA/MHz while it computes, 0.86 uA in its mode Stop with clock and memory) and of a
radio ESP8266EX (its data sheet: 56 mA to receive, 140 mA to send, 20 uA off) at 3 V, and of two cells
of 2,500 mAh. An instruction is taken for a cycle. A radio that is on receives while it does not send."""

import argparse
import csv
from pathlib import Path
from typing import NamedTuple

DAY_S = 86_400
KINDS = ("computing", "sending", "receiving", "asleep")


class Parts(NamedTuple):
    """Currents of the parts of a sensor, at one voltage."""
    volts: float = 3
    run_uA_MHz: float = 93
    asleep_uA: float = 0.86
    receive_mA: float = 56
    send_mA: float = 140
    radio_off_uA: float = 20
    battery_mAh: float = 2500

    def instruction_J(self):
        return self.volts * self.run_uA_MHz * 1e-12

    def battery_J(self):
        return self.volts * self.battery_mAh * 3.6


class Work(NamedTuple):
    """What a host did, of `up_s` seconds."""
    instructions: int
    computing_s: float
    up_s: float
    on_s: float  # its radio, while sending too
    sending_s: float

    def energy(self, parts):
        """J, by kind."""
        asleep_uA = (parts.asleep_uA * (self.up_s - self.computing_s)
                     + parts.radio_off_uA * max(self.up_s - self.on_s, 0))
        return {"computing": self.instructions * parts.instruction_J(),
                "sending": parts.volts * parts.send_mA * 1e-3 * self.sending_s,
                "receiving": parts.volts * parts.receive_mA * 1e-3 * max(self.on_s - self.sending_s, 0),
                "asleep": parts.volts * asleep_uA * 1e-6}


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def work_of_hosts(out):
    """{name: Work} of a run's folder of results."""
    names = {row["lp"]: row["name"] for row in rows(out / "orrery_lp_names.csv")}
    sending = {row["node"]: float(row["airtime"]) for row in rows(out / "stations.csv")}
    return {names[row["lp"]]: Work(int(row["instructions"]), float(row["computing"]), float(row["up"]),
                                   float(row["cards_on"]), sending.get(row["lp"], 0))
            for row in rows(out / "computed.csv")}


def days(work, parts):
    """How long the battery lasts if the host goes on like this."""
    return parts.battery_J() / sum(work.energy(parts).values()) * work.up_s / DAY_S


def main():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("out", type=Path, help="folder of a run's results")
    for name, value in Parts()._asdict().items():
        made.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, help="(%(default)s)")
    options = vars(made.parse_args())
    out, parts = options.pop("out"), Parts(**options)
    if not (out / "computed.csv").exists():
        made.error(f"'{out}' has no computed.csv; it is the folder (--out) of a run of the laboratory")
    print(f"{'host':12} {'instructions':>14} {'radio on, s':>12} " +
          " ".join(f"{kind + ', mJ':>14}" for kind in KINDS) + f" {'battery, days':>14}")
    for name, work in work_of_hosts(out).items():
        energy = work.energy(parts)
        print(f"{name:12} {work.instructions:14,} {work.on_s:12.3f} " +
              " ".join(f"{1000 * energy[kind]:14.4f}" for kind in KINDS) + f" {days(work, parts):14.1f}")


if __name__ == "__main__":
    main()
