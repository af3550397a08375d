# SPDX-License-Identifier: Apache-2.0
"""Marks all costs of a database as disturbed: mark.py FILE [PICOSECONDS]. The reference kernel then takes that long, or nobody knows."""
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
database.execute("UPDATE measurement SET disturbance = 'a test said so'")
if len(sys.argv) > 2:
    assert database.execute("UPDATE reference SET reference_ps = ?", (int(sys.argv[2]),)).rowcount == 1
else:
    database.execute("DELETE FROM reference")
database.commit()
