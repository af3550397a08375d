# SPDX-License-Identifier: Apache-2.0
"""A server that answers no more when the times of whole plans are kept: lost_rivals.py COLLAGEC MODEL RULES FOLDER COSTS

COSTS is a file with the costs of the model's candidates. Prints what `collagec` does with them on a server, whose insertions of plans
take longer than a compiler waits."""
import os
import subprocess
import sys

from postgres_cluster import Cluster

collagec, model, rules, folder, costs = sys.argv[1:]

SLOW = """
CREATE FUNCTION collage.wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
CREATE TRIGGER wait BEFORE INSERT ON collage.measurement FOR EACH ROW
WHEN (NEW.candidate LIKE '%// timed beside%') EXECUTE FUNCTION collage.wait();
"""


def run(*arguments):
    done = subprocess.run([collagec, *arguments], capture_output=True, text=True)
    print(done.stdout + done.stderr, end="" if done.returncode == 0 else f"EXIT CODE {done.returncode}\n", flush=True)


with Cluster() as cluster:
    cluster.run("CREATE DATABASE costs")
    address = cluster.address("costs", more="&connect_timeout=1&tcp_user_timeout=1000")
    run("costs", "merge", "--cost-db", address, costs)
    cluster.run(SLOW, "costs")
    run(model, "-r", rules, "--costs=measured", "--disturbed-costs=keep", "--rivals=time", "--cache=", "--cost-db", address, "-o",
        os.path.join(folder, "m.placed.ir"))
