# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that does what a test says, through its DevTools protocol on two pipes: a
page that goes on asking is never at rest, so it cannot be printed or photographed by options."""

import base64
import json
import os
import signal
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium")


class Browser:
    """One page. A context manager: the browser ends with it."""

    def __init__(self, profile, patience_s):
        self.patience_s, self.number, self.rest = patience_s, 0, b""
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()

        def arrange():
            # The protocol wants 3 and 4, where the ends may lie the other way round.
            commands, answers = os.dup(read_commands), os.dup(write_answers)
            commands, answers = os.dup(commands), os.dup(answers)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=arrange, close_fds=False, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_commands)
        os.close(write_answers)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target,
                                flatten=True)["sessionId"]
        self.troubles = []
        for domain in ["Page", "Runtime", "Log"]:
            self.ask(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # With its helpers, which else write into the profile for a while.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.troubles.append(answer["params"])
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def next_message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.answers, 1 << 16)
            assert piece, "the browser has ended"
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def open(self, address):
        self.ask("Page.navigate", url=address)
        self.wait_for(f"location.href === {json.dumps(address)} && "
                      "document.readyState === 'complete'")

    def value(self, script):
        """Of a JavaScript expression."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, script):
        """Until the expression is true."""
        deadline = time.monotonic() + self.patience_s
        while not self.value(script):
            assert time.monotonic() < deadline, f"it never was so: {script}"
            time.sleep(0.05)

    def show_on(self, width, height, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self):
        """All of the page, as a PNG."""
        taken = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])
