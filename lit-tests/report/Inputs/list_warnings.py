"""Prints the kinds of warnings of each function of a report's lines."""

import json
import sys

for text in sys.stdin:
    line = json.loads(text)
    print(line["function"], [warning["kind"] for warning in line.get("warnings", [])])
