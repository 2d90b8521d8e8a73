#!/usr/bin/env bash
# Checks the facade with no feature and with each of its features alone; the list comes from Cargo.toml, through cargo.
# Clippy rather than check, so that a warning that only one combination gives is an error too.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

metadata="$(cargo metadata --no-deps --format-version 1)"
features="$(python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
[facade] = [package for package in packages if package["name"] == "sensetree"]
print(*(feature for feature in sorted(facade["features"]) if feature != "default"))
' <<<"$metadata")"
if [[ -z "$features" ]]; then
    echo "check_features: the package sensetree has no features, which cannot be right." >&2
    exit 1
fi

for feature in "" $features; do
    echo "--- features: ${feature:-none}"
    if ! cargo clippy --package sensetree --no-default-features --features "$feature" -- -D warnings; then
        echo "check_features: sensetree does not pass with ${feature:+only the feature }${feature:-no feature}." >&2
        exit 1
    fi
done
