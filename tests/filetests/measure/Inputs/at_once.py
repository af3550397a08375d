# Several processes import and prune one database at the same time: at_once.py COLLAGEC COSTS DATABASE
import sqlite3
import subprocess
import sys

collagec, costs, database = sys.argv[1:]
importing = [collagec, "costs", "import", "--cost-db", database, costs]
subprocess.run(importing, check=True, stdout=subprocess.DEVNULL)
pruning = [collagec, "costs", "prune", "--cost-db", database, "--backend", "host"]
running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in [importing, pruning] * 4]
codes = [process.wait() for process in running]
print(len(codes), "processes,", "all ended well" if not any(codes) else f"exit codes {codes}")
subprocess.run(importing, check=True, stdout=subprocess.DEVNULL)
opened = sqlite3.connect(database)
print(opened.execute("PRAGMA integrity_check").fetchone()[0] + ",",
      opened.execute("SELECT count(*) FROM measurement").fetchone()[0], "rows")
