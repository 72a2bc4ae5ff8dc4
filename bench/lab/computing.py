# SPDX-License-Identifier: Apache-2.0
"""A web server whose processor executes a given number of instructions a second. Each answer costs it
the same work: nginx compresses a page anew for each request. Four clients ask at random times (Poisson),
whatever the answers do. So the server is a queue with one server and equal services, M/D/1, and the work
of one answer says how many it can give: there the response times have their knee.

The clients' processors are infinitely fast (User Mode Linux), so all waiting is the server's."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

from harness import Failed, panels, save_picture
from hosts import BUSYBOX, HERE, Run, need, need_qemu

MHZ, DELAY_MS, CLIENTS = 200, 1, 4
BEGIN_S = 15  # the server has booted
PAGE_BYTES = 12_000
# (requests a second, seconds of them, seconds for the last answers); the first of one client, far apart.
ALONE = (5, 10, 1)
LOADS = ((10, 20, 1), (25, 20, 1), (50, 20, 1), (75, 20, 1), (90, 20, 2), (100, 20, 2), (110, 20, 4),
         (120, 20, 4), (130, 10, 6), (150, 10, 8), (200, 5, 10))
CONFIGURATION = """
daemon off; master_process off; pid /run/nginx.pid; error_log /out/errors;
events { worker_connections 4096; }
http {
  access_log off; sendfile off; output_buffers 1 64k;
  gzip on; gzip_types *; gzip_comp_level 1; gzip_buffers 16 8k;
  server { listen 80 backlog=4096; root /www; }
}
"""


def root_of_server(place):
    """The small root, with nginx of this machine and its libraries."""
    need_qemu()
    need("nginx-light", "nginx")
    root, nginx = place.folder / "server", shutil.which("nginx")
    if root.exists():
        return root
    shutil.copytree(BUSYBOX, root, symlinks=True)
    shown = subprocess.run(["ldd", nginx], capture_output=True, text=True, check=True).stdout
    for file in [nginx, *re.findall(r"(/\S+) \(0x", shown)]:
        to = root / file[1:]
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
    for folder in ("www", "var/lib/nginx", "var/log/nginx"):
        (root / folder).mkdir(parents=True)
    words = random.Random(1)
    page = " ".join(f"{words.randrange(10**6):06}" for _ in range(PAGE_BYTES // 7 + 1))[:PAGE_BYTES]
    (root / "www/page").write_text(page)
    for path in (root, *root.rglob("*")):  # the server tells the page's date
        os.utime(path, (0, 0), follow_symlinks=False)
    return root


def phases_of(client):
    """A client's own share of the loads."""
    alone = (ALONE[0], *ALONE[1:]) if client == 1 else (1e-9, *ALONE[1:])
    return " ".join(f"{rate} {seconds} {pause}" for rate, seconds, pause in
                    (alone, *((rate / CLIENTS, seconds, pause) for rate, seconds, pause in LOADS)))


def link_of(host, number):
    """To the switch."""
    return f"""[[link]]
between = ["{host}", "s"]
addresses = ["10.0.0.{number}/24", ""]
delay = "{DELAY_MS / 2}ms"
rate = "1 Gbit/s"
capture = false
"""


def web(place):
    """(The topology, when it ends in seconds)."""
    place.write("nginx.conf", CONFIGURATION)
    program = place.folder / "requests"
    subprocess.run(["gcc", "-O2", "-o", program, HERE / "requests.c", "-lm"], check=True)
    end = BEGIN_S + sum(seconds + pause for _, seconds, pause in (ALONE, *LOADS)) + 1
    clients = "".join(f"""
[[host]]
name = "c{i}"
ipv6 = false
memory = 64
files = {{ "/root/requests" = "{program}" }}
[[host.program]]
at = "{BEGIN_S}s"
command = "/root/requests 10.0.0.1 {i} {phases_of(i)} >/out/answers"
{link_of(f"c{i}", i + 1)}""" for i in range(1, CLIENTS + 1))
    return place.write("web.toml", f"""
[[host]]
name = "server"
machine = "qemu"
arch = "x86_64"
speed = "{MHZ} MHz"
root = "{root_of_server(place)}"
ipv6 = false
files = {{ "/etc/nginx/nginx.conf" = "nginx.conf" }}
[[host.program]]
command = "nginx -c /etc/nginx/nginx.conf"
[[switch]]
name = "s"
{link_of("server", 1)}{clients}"""), end


def answers(run):
    """By phase: [(asked, answered)] in s, in the order in which they were asked."""
    phases = [[] for _ in range(1 + len(LOADS))]
    for client in range(1, CLIENTS + 1):
        for line in run.left(f"c{client}", "answers").splitlines():
            phase, asked, answered, size = map(int, line.split())
            if size < 1000:
                raise Failed(f"an answer of the web server has {size} bytes")
            phases[phase].append((asked / 1e9, answered / 1e9))
    return [sorted(phase) for phase in phases]


def services_in_order(asked, service, rest):
    """Response times if each takes `service` of the server, one after the other, and `rest` beside."""
    free, times = 0, []
    for at in asked:
        free = max(free, at) + service
        times.append(free - at + rest)
    return times


def md1(rate, service, rest):
    """The mean response time of M/D/1 (Pollaczek and Khinchine)."""
    load = rate * service
    return None if load >= 1 else rest + service + load * service / 2 / (1 - load)


def serve(place, options, engine):
    """What the clients saw, by phase, and the fingerprint."""
    topology, end = web(place)
    run = Run(place, topology, options.build, "--until", f"{end}s", *engine)
    found = answers(run)
    fingerprint = run.fingerprint
    run.forget()
    return found, fingerprint


def picture(measured, service, under_load, rest, to):
    """`measured`: by load, (requests a second, mean, 95 % quantile, mean of services in order), in s. A
    service takes `service` if it is alone."""
    figure, axes = panels(1, 2, 6, 4)
    most = max(rate for rate, *_ in LOADS)
    below = [rate for rate, *_ in measured if md1(rate, service, rest)]
    curve = [below[0] + (1 / service - below[0]) * i / 400 for i in range(400)]
    for ax in axes[0]:
        ax.plot(curve, [1000 * md1(rate, service, rest) for rate in curve], color="0.4", lw=1,
                label=f"mean of M/D/1 with {1000 * service:.2f} ms")
        rates = [rate for rate, *_ in measured]
        ax.plot(rates, [1000 * in_order for *_, in_order in measured], "x", color="C3", ms=8,
                label=f"mean if each takes {1000 * under_load:.2f} ms,\nin order (the same requests)")
        ax.plot(rates, [1000 * mean for _, mean, _, _ in measured], "o-", color="C0", mfc="none",
                label="mean, measured")
        ax.plot(rates, [1000 * high for _, _, high, _ in measured], ":", color="C0",
                label="95 % of the answers take less")
        ax.axvline(1 / service, color="0.6", ls="--", lw=0.8,
                   label=f"one answer at a time: {1 / service:.0f} a second")
        ax.set_xlabel("requests a second")
    axes[0][0].set_ylabel("response time, ms")
    axes[0][0].set_xlim(0, 1.1 / service)
    axes[0][0].set_ylim(0, 1000 * (rest + 15 * service))
    axes[0][0].set_title("below the knee")
    axes[0][1].set_yscale("log")
    axes[0][1].set_xlim(0, 1.05 * most)
    axes[0][1].set_title("all loads")
    axes[0][0].legend(loc="upper left", fontsize="small")
    save_picture(figure, to)


def four_hosts(place):
    """Linux hosts that compute, talk, and leave files; the first has two processors."""
    hosts = "".join(f"""
[[host]]
name = "h{i}"
machine = "qemu"
arch = "x86_64"
speed = "500 MHz"
processors = {2 if i == 1 else 1}
root = "{BUSYBOX}"
[[host.program]]
at = "0.2s"
command = '''f() {{ i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; }}; f & f; wait
ping -c 4 -i 0.05 10.0.0.{i % 4 + 1}; head -c 30000 /dev/urandom >/out/random; md5sum /out/random
cat /proc/uptime /proc/interrupts'''
[[link]]
between = ["h{i}", "s"]
addresses = ["10.0.0.{i}/24", ""]
delay = "2ms"
rate = "10 Mbit/s"
""" for i in range(1, 5))
    return place.write("counted-4.toml", f'[[switch]]\nname = "s"\n{hosts}')
