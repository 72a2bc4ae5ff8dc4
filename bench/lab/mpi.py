# SPDX-License-Identifier: Apache-2.0
"""CND and VND (orders.py) by real MPI: Open MPI over TCP between hosts.

Hosts have no ssh; remote.c is what mpirun starts its daemons with. Open MPI polls for messages, and a
poll takes as long as its system calls do: with 1 us each, eight ranks that wait for a second poll
four million times, with the 50 us of here a fiftieth of that. A message of 1,000 bytes takes 0.8 ms of a
link's time, so that even so each is seen before the next arrives."""

from hosts import need, star
from orders import ROUNDS, compare, longer_ways, note

RANKS = 8
FIRST_S = 3  # Open MPI starts in less than two
FAIR_FIRST_S, FAIR_SLOWER = 60, 10
UNIT_S = {"cnd": 0.06, "vnd": 0.01 * (2 * RANKS + 4)}  # for ways of 10 ms
PARAMETERS = """plm_rsh_agent = /root/remote
btl = tcp,self
btl_tcp_if_include = eth0
oob_tcp_if_include = eth0
pml = ob1
osc = pt2pt
mpi_yield_when_idle = 1
"""


def start_of(round_, first_s, unit_s):
    """As mpi_orders.c has it."""
    return first_s + unit_s * round_ * (round_ + 1) / 2


def topology(place, kind, *, rounds=ROUNDS, first_s=FIRST_S, slower=1, capture=False):
    """Round r has ways of 10 (r + 1) ms. When the last has ended, all hosts switch themselves off."""
    need("openmpi-bin libopenmpi-dev", "mpicc", "mpirun", "orted")
    place.compile("remote")
    place.compile("mpi_orders", "mpicc")
    place.write("mca-params.conf", PARAMETERS)
    place.write("ranks", "".join(f"10.0.0.{i + 1} slots=1\n" for i in range(RANKS)))
    unit_s = UNIT_S[kind] * slower
    files = ('"/root/remote" = "remote", "/root/mpi_orders" = "mpi_orders", "/root/ranks" = "ranks", '
             '"/root/.openmpi/mca-params.conf" = "mca-params.conf"')
    events = longer_ways(RANKS, {round_: 1000 * start_of(round_, first_s, unit_s) - 5
                                 for round_ in range(1, rounds)})
    text = star(place, RANKS, "/root/remote serve", delay="5ms", rate="10 Mbit/s", files=files,
                memory=128, keys='system_call = "50us"', capture=capture, more=f"""
[[event]]
at = "100ms"
host = "h1"
command = '''
mpirun --allow-run-as-root --hostfile /root/ranks -n {RANKS} \\
  /root/mpi_orders {kind} {first_s} {unit_s} {rounds}
echo "mpirun ended with $?"
for i in $(seq {RANKS} -1 1); do /root/remote 10.0.0.$i /lab/off; done'''
{events}""")
    return place.write(f"mpi-{kind}{rounds}.toml", text)


def one(place, options, table, bars, rows, kind):
    def describe(fair):
        first, slower, rest = (FAIR_FIRST_S, FAIR_SLOWER, 10) if fair else (FIRST_S, 1, 5)
        return (topology(place, kind, first_s=first, slower=slower),
                start_of(ROUNDS, first, UNIT_S[kind] * slower) + rest)

    row = {"part": "mpi", **compare(place, options, kind, RANKS, describe)}
    note(table, bars, rows, f"{kind} by MPI", row)
