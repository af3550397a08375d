# SPDX-License-Identifier: Apache-2.0
"""spoil_calibration.py IN OUT KEY VALUE: the calibration with another value, of JSON, for a key."""
import json
import sys

path, to, key, value = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    calibration = json.load(file)
calibration[key] = json.loads(value)
with open(to, "w", encoding="utf-8") as file:
    json.dump(calibration, file)
