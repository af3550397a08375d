# SPDX-License-Identifier: Apache-2.0
"""Marks all costs of a database as disturbed: mark.py FILE [PICOSECONDS]. The reference kernel then takes that long, or nobody knows.

mark.py FILE twice HOURS: they were disturbed twice, and they are older by so much."""
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
database.execute("UPDATE measurement SET disturbance = 'a test said so', repeated = 0")
if sys.argv[2:3] == ["twice"]:
    database.execute("UPDATE measurement SET repeated = 1, date = date - 3600 * ?", (int(sys.argv[3]),))
    database.execute("DELETE FROM reference")
elif len(sys.argv) > 2:
    assert database.execute("UPDATE reference SET reference_ps = ?", (int(sys.argv[2]),)).rowcount == 1
else:
    database.execute("DELETE FROM reference")
database.commit()
