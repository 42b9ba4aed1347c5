"""Checks JSON lines of standard input against docs/report.schema.json; prints how many there were."""

import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
count = 0
for count, line in enumerate(sys.stdin, 1):
    validator.validate(json.loads(line))
print(f"{count} valid lines")
