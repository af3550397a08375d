# Marks all rows of a database of costs as disturbed.
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
database.execute("UPDATE measurement SET disturbance = 'a test said so'")
database.commit()
