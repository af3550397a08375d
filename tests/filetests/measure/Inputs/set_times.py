# SPDX-License-Identifier: Apache-2.0
"""What a database says of whole plans that have partitions on a backend, and on no other: set_times.py FILE BACKEND=TIME_US..."""
import re
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
plans = database.execute("SELECT candidate FROM measurement WHERE candidate LIKE '%// timed beside %'").fetchall()
for setting in sys.argv[2:]:
    backend, time = setting.split("=")
    matching = [text for (text,) in plans if set(re.findall(r"partition @\S+ on (\w+)\(", text)) == {backend}]
    assert matching, (backend, plans)
    for text in matching:
        database.execute("UPDATE measurement SET cost_ps = ?, spread_ps = 1000 WHERE candidate = ?", (int(time) * 1000000, text))
database.commit()
