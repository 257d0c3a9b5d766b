# SPDX-License-Identifier: BSD-2-Clause
"""Validate JSON documents: schema.py SCHEMA < DOCUMENT. Members that the schema lacks are errors here,
though readers have to expect new ones."""
import json
import sys

import jsonschema


def close(node):
    """Forbid other members in every object with listed properties."""
    if isinstance(node, dict):
        if "properties" in node:
            node.setdefault("additionalProperties", False)
        for child in node.values():
            close(child)
    elif isinstance(node, list):
        for child in node:
            close(child)


with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
close(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(sys.stdin)))
for error in errors:
    print("/".join(map(str, error.absolute_path)) + ": " + error.message[:500])
sys.exit(1 if errors else 0)
