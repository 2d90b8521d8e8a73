"""Merge duplicate people in an exported address book (CSV).

Two rows are the same person when their normalised phone numbers match, or when
the e-mail does. Names are only used to choose the longer spelling.
"""

import csv
import re
import sys
from collections import defaultdict


def normalise_phone(raw: str, country_prefix: str = "33") -> str:
    """'03 88 00 11 22' and '+33 3 88 00 11 22' both become '33388001122'."""
    digits = re.sub(r"\D", "", raw)
    if raw.strip().startswith("+"):
        return digits
    if digits.startswith("00"):
        return digits[2:]
    if digits.startswith("0"):
        return country_prefix + digits[1:]
    return digits


class UnionFind:
    """Just enough disjoint sets to group rows."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def find(self, item: int) -> int:
        while self.parent[item] != item:
            self.parent[item] = self.parent[self.parent[item]]
            item = self.parent[item]
        return item

    def union(self, left: int, right: int) -> None:
        self.parent[self.find(left)] = self.find(right)


def group_rows(rows: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Groups of rows that belong to one person."""
    sets = UnionFind(len(rows))
    seen: dict[str, int] = {}
    for index, row in enumerate(rows):
        keys = [normalise_phone(row.get("phone", "")), row.get("email", "").strip().lower()]
        for key in filter(None, keys):
            if key in seen:
                sets.union(index, seen[key])
            else:
                seen[key] = index
    groups = defaultdict(list)
    for index, row in enumerate(rows):
        groups[sets.find(index)].append(row)
    return list(groups.values())


def merge_group(group: list[dict[str, str]]) -> dict[str, str]:
    """One row out of many: for each column the longest value wins."""
    columns = {column for row in group for column in row}
    return {column: max((row.get(column) or "" for row in group), key=len) for column in columns}


def main() -> None:
    reader = csv.DictReader(sys.stdin)
    merged = [merge_group(group) for group in group_rows(list(reader))]
    writer = csv.DictWriter(sys.stdout, fieldnames=reader.fieldnames or [])
    writer.writeheader()
    writer.writerows(merged)


if __name__ == "__main__":
    main()
