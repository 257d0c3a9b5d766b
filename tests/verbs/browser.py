#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Open a page in headless Chromium and act on it, over Chromium's debugging pipe.

usage: browser.py URL ACTION...

  drop=FILE      drop the file onto the page
  until=SCRIPT   wait until the expression is true
  print=SCRIPT   print the expression's value
  mouse=SCRIPT   the expression's value is a list of [event, x, y, clicks]: Moved, Pressed, Released
  width=PIXELS   give the window this width
  shot=FILE      write a picture of the whole page

The status is 1 if an action fails, or if the page has logged an error.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

TOLD_S = 120  # after this time a condition that does not hold is printed


class Browser:
    def __init__(self, profile):
        commands, self.out = os.pipe()
        self.replies, answers = os.pipe()

        def place():  # Chromium reads commands from 3 and writes to 4
            high = [os.dup(commands), os.dup(answers)]
            for fd, target in zip([os.dup2(h, n) for h, n in zip(high, (20, 21))], (3, 4)):
                os.dup2(fd, target)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--remote-debugging-pipe",
             "--window-size=1280,1000", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.errors = []

    def read(self):
        while b"\0" not in self.buffer:
            part = os.read(self.replies, 1 << 16)
            if not part:
                raise EOFError("Chromium has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(event["params"]["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.errors.append(json.dumps(event["params"]["entry"]))

    def call(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self.read()
            if reply.get("id") == self.last_id:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            self.note(reply)

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)
        # The reply comes before the page: until then about:blank is evaluated, or goes away.
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'", gone=RuntimeError)

    def value(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, script, gone=()):
        told = time.monotonic() + TOLD_S
        while True:
            try:
                if self.value(script):
                    return
            except gone:
                pass
            if time.monotonic() > told:
                told += 1000 * TOLD_S
                print(f"not yet: {script}; the page is: {self.value('document.body.innerText')}", file=sys.stderr, flush=True)
            time.sleep(0.1)

    def drop(self, name):
        data = {"items": [], "files": [os.path.abspath(name)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=200, y=200, data=data)

    def mouse(self, script):
        for kind, x, y, clicks in self.value(script):
            self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, button="left", buttons=int(kind != "Released"),
                      clickCount=clicks)

    def width(self, pixels):
        self.call("Emulation.setDeviceMetricsOverride", width=int(pixels), height=800, deviceScaleFactor=1, mobile=False)

    def shot(self, name):
        import base64
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(name, "wb") as f:
            f.write(base64.b64decode(picture))


def act(browser, action):
    what, _, rest = action.partition("=")
    if what == "print":
        print(browser.value(rest))
    else:
        {"drop": browser.drop, "until": browser.until, "shot": browser.shot, "width": browser.width,
         "mouse": browser.mouse}[what](rest)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            browser.open(sys.argv[1])
            for action in sys.argv[2:]:
                act(browser, action)
            browser.value("1")  # what was logged arrives before the reply
        finally:
            browser.process.terminate()
            browser.process.wait()
    for error in browser.errors:
        print(error, file=sys.stderr)
    sys.exit(bool(browser.errors))


main()
