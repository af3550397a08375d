# SPDX-License-Identifier: Apache-2.0
"""Two compilers on one database of costs, of which one, or a measuring process, is killed at random:

    kill_compilers.py COLLAGEC MODEL RULES FOLDER

Afterwards the database is sound, all of its rows count, nothing waits for a lock or goes on measuring, and two compilations in a
row give one plan. COLLAGE_KILLS sets how often that is tried, COLLAGE_KILLS_SEED which moments and victims.
"""
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time

collagec, model, rules, folder = sys.argv[1:]
kills = int(os.environ.get("COLLAGE_KILLS", "4"))
seed = int(os.environ.get("COLLAGE_KILLS_SEED", "1"))
chance = random.Random(seed)
database = os.path.join(folder, "costs.sqlite")
# One lock of measuring for the two of them alone.
lock = os.environ["COLLAGE_MACHINE_LOCK"] = f"collage.test.kills.{os.getpid()}"
PATIENCE = 120  # seconds: whoever takes longer hangs


def command(plan):
    return [collagec, model, "-r", rules, "--costs=measured", "--measure=all", "--cost-db", database, "--cache=",
            "--save-placement", os.path.join(folder, plan), "-o", os.path.join(folder, plan + ".placed.ir")]


def children_of(process):
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def fail(what):
    sys.exit(f"try {number} of seed {seed}: {what}")


def compile_once(plan):
    made = subprocess.run(command(plan), capture_output=True, text=True, timeout=PATIENCE)
    if made.returncode != 0:
        fail(f"exit code {made.returncode}: {made.stderr}")
    return made.stdout


def check_database():
    opened = sqlite3.connect(database, timeout=5)
    sound = opened.execute("PRAGMA integrity_check").fetchone()[0]
    if sound != "ok":
        fail(sound)
    tables = {name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables:  # nothing at all is fine, some tables are not
        if tables != {"environment", "measurement", "reference"}:
            fail(f"tables {sorted(tables)}")
        lost = opened.execute("SELECT count(*) FROM measurement WHERE environment NOT IN (SELECT id FROM environment)").fetchone()[0]
        if lost:
            fail(f"{lost} rows without an environment")
        version = opened.execute("PRAGMA user_version").fetchone()[0]
        if version != 6:  # kTablesVersion
            fail(f"version {version}")
    opened.close()
    if tables:
        listed = subprocess.run([collagec, "costs", "list", "--cost-db", database, "--state", "refused"],
                                capture_output=True, text=True, timeout=PATIENCE)
        if listed.returncode != 0 or not listed.stdout.splitlines()[-1].startswith("0 costs"):
            fail(f"rows that do not count: {listed.stdout} {listed.stderr}")


def check_lock():
    with socket.socket(socket.AF_UNIX) as holder:
        try:
            holder.bind("\0" + lock)
        except OSError:
            fail("the lock is still held")


killed = {"compiler": 0, "measuring process": 0}
for number in range(kills):
    for ending in ("", "-wal", "-shm"):
        if os.path.exists(database + ending):
            os.remove(database + ending)
    running = [subprocess.Popen(command(plan), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for plan in ("one", "two")]
    time.sleep(chance.random() * 1.5)
    victim = chance.choice(running)
    measuring = [child for process in running for child in children_of(process.pid)]
    if measuring and chance.random() < 0.4:
        os.kill(chance.choice(measuring), signal.SIGKILL)
        killed["measuring process"] += 1
        victim = None
    elif victim.poll() is None:
        victim.kill()
        killed["compiler"] += 1
    for process in running:
        try:
            errors = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            fail("a compiler hangs")
        if process is not victim and process.returncode != 0:
            fail(f"the other compiler ended with {process.returncode}: {errors.decode()}")
    end = time.monotonic() + PATIENCE
    while any(is_alive(child) for child in measuring):
        if time.monotonic() > end:
            fail("a measuring process outlives its compiler")
        time.sleep(0.02)
    check_lock()
    check_database()
    compile_once("first")
    again = compile_once("second")
    if "costs       0 measured" not in again:
        fail(f"measured again: {again}")
    plans = [open(os.path.join(folder, plan)).read() for plan in ("first", "second")]
    if plans[0] != plans[1]:
        fail("another plan")
    check_database()
print(f"{kills} times: " + ", ".join(f"{count} x {name}" for name, count in killed.items()), file=sys.stderr)
print("sound after all of them")
