# SPDX-License-Identifier: Apache-2.0
"""A server that is lost in the middle of a compilation: lost_server.py COLLAGEC MODEL RULES FOLDER

The cost program of the rules is replaced by one that ends the server when it is asked the first time, or stops its processes: then no
connection is cut, and nothing answers."""
import os
import subprocess
import sys

from postgres_cluster import Cluster

collagec, model, rules, folder = sys.argv[1:]

PROGRAM = """
import json, os, signal, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if os.path.exists("server"):
        how, process = open("server").read().split()
        os.remove("server")
        os.kill(int(process), signal.SIGQUIT if how == "ends" else signal.SIGSTOP)
        if how == "hangs":
            for child in open(f"/proc/{process}/task/{process}/children").read().split():
                os.kill(int(child), signal.SIGSTOP)
        while how == "ends" and os.path.exists(os.environ["SOCKET"]):
            time.sleep(0.05)
    print(json.dumps({"id": request["id"], "cost": 2 * len(request["operators"]), "unit": "us"}), flush=True)
"""


def path(name):
    return os.path.join(folder, name)


def compile_model(database, plan, *more):
    done = subprocess.run([collagec, model, "-r", rules, "--allow-code", "--costs=measured", "--cache=", "--cost-db", database,
                           "--save-placement", path(plan), "-o", path("m.placed.ir"), *more],
                          capture_output=True, text=True)
    print(done.stdout + done.stderr, end="" if done.returncode == 0 else f"EXIT CODE {done.returncode}\n", flush=True)


with open(path("cost_program.py"), "w") as program:
    program.write(PROGRAM)
with Cluster() as cluster:
    os.environ["SOCKET"] = os.path.join(cluster.folder, ".s.PGSQL.5432")
    cluster.run("CREATE DATABASE costs")
    print("== undisturbed", flush=True)
    compile_model("", "undisturbed.placement")
    for how, more in ("ends", []), ("ends", ["--cost-db-lost", path("instead.sqlite")]), ("hangs", []):
        print(f"== {how}", flush=True)
        if cluster.server is None:
            cluster.start()
        cluster.run("DROP DATABASE costs")
        cluster.run("CREATE DATABASE costs")
        with open(path("server"), "w") as file:
            file.write(f"{how} {cluster.server.pid}")
        compile_model(cluster.address("costs", more="&connect_timeout=1&tcp_user_timeout=1000"), "lost.placement", *more)
        cluster.stop()
        same = open(path("undisturbed.placement")).read() == open(path("lost.placement")).read()
        print("the same plan" if same else "another plan", flush=True)
    subprocess.run([collagec, "costs", "list", "--cost-db", path("instead.sqlite")])
