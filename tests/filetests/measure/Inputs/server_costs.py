# SPDX-License-Identifier: Apache-2.0
"""Costs on a PostgreSQL server, from end to end: server_costs.py COLLAGEC MODEL RULES FOLDER

Prints what `collagec` does, a heading before each part."""
import os
import subprocess
import sys

from postgres_cluster import Cluster

collagec, model, rules, folder = sys.argv[1:]
everything = ""


def path(name):
    return os.path.join(folder, name)


def run(*arguments, code=0):
    global everything
    done = subprocess.run([collagec, *arguments], capture_output=True, text=True)
    printed = done.stdout + done.stderr
    everything += printed
    print(printed, end="" if done.returncode == code else f"EXIT CODE {done.returncode}\n", flush=True)


def compile_model(database, *more):
    run(model, "-r", rules, "--costs=measured", "--measure=all", "--cache=", "--cost-db", database, "-o", path("m.placed.ir"), *more)


def costs(command, database, *more, code=0):
    run("costs", command, "--cost-db", database, *more, code=code)


def part(name):
    print("==", name, flush=True)


with Cluster() as cluster:
    cluster.run("CREATE DATABASE costs")
    server = cluster.address("costs")
    part("compile twice")
    compile_model(server, "--save-placement", path("first.placement"))
    compile_model(server, "--save-placement", path("second.placement"))
    part("list, show")
    costs("list", server)
    costs("show", server, "")
    costs("show", server, "xyz", code=1)
    part("from the server to files and back")
    costs("export", server, path("a.csv"))
    costs("merge", path("b.sqlite"), server)
    costs("merge", server, path("b.sqlite"))
    costs("export", path("b.sqlite"), path("b.csv"))
    print("equal" if open(path("a.csv")).read() == open(path("b.csv")).read() else "different")
    part("prune, import")
    costs("prune", server, "--backend", "host", "--dry-run")
    costs("prune", server, "--backend", "host")
    costs("import", server, path("a.csv"))
    part("at once")
    commands = [[collagec, "costs", "import", "--cost-db", server, path("a.csv")],
                [collagec, "costs", "prune", "--cost-db", server, "--backend", "host"]] * 4
    codes = [process.wait() for process in [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]]
    print("all ended well" if not any(codes) else f"exit codes {codes}")
    costs("merge", server, path("b.sqlite"))
    print(cluster.run("SELECT count(*) FROM collage.measurement", "costs").strip(), "rows")
    part("read only")
    cluster.run("CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA collage TO guest; "
                "GRANT SELECT ON ALL TABLES IN SCHEMA collage TO guest", "costs")
    compile_model(cluster.address("costs", "guest"))
    costs("prune", cluster.address("costs", "guest"), "--backend", "host", code=1)
    costs("prune", server, "--backend", "host")
    compile_model(cluster.address("costs", "guest"))
    part("not there")
    costs("list", cluster.address("absent"), code=1)
    compile_model(cluster.address("absent"))
    compile_model(cluster.address("absent"), "--cost-db-lost", path("instead.sqlite"))
    costs("list", path("instead.sqlite"))
    compile_model(cluster.address("absent"), "--cost-db-lost", "estimate")
print("the password was printed" if "secret" in everything else "no password was printed")
