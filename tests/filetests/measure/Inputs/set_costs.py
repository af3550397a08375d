# SPDX-License-Identifier: Apache-2.0
"""What a database of costs says of each backend: set_costs.py FILE SPREAD_US BACKEND=COST_US..."""
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
for setting in sys.argv[3:]:
    backend, cost = setting.split("=")
    changed = database.execute(
        "UPDATE measurement SET cost_ps = ?, spread_ps = ? WHERE candidate LIKE ?",
        (int(cost) * 1000000, int(sys.argv[2]) * 1000000, f"%@p0 on {backend}(%"))
    assert changed.rowcount > 0, backend
database.commit()
