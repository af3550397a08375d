# Writes what no measurement is into a database of costs: spoil.py FILE VALUE… sets the costs of its rows, one after the other.
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
keys = database.execute("SELECT environment, candidate FROM measurement ORDER BY candidate").fetchall()
for key, value in zip(keys, sys.argv[2:]):
    cost = int(value) if value.lstrip("-").isdigit() else value
    database.execute("UPDATE measurement SET cost_ps = ? WHERE environment = ? AND candidate = ?", (cost, *key))
database.commit()
