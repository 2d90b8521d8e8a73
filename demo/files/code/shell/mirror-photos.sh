#!/bin/sh
# Copy the pictures from the storage box to the disk in Jonas's desk drawer.
# Keeps what was deleted for 60 days in a dated folder instead of losing it.
# Run by hand on the first Sunday of the month, disk plugged in.

set -eu

SOURCE="${PHOTO_SOURCE:-storage-box:photos/}"
DISK="${PHOTO_DISK:?set PHOTO_DISK to the folder where drawer-4tb is mounted}"
TARGET="$DISK/photos"
TRASH="$DISK/removed/$(date +%Y-%m-%d)"

if ! mountpoint -q "$DISK"; then
    echo "disk drawer-4tb is not plugged in" >&2
    exit 3
fi

free_kb=$(df -k --output=avail "$DISK" | tail -n 1)
if [ "$free_kb" -lt 52428800 ]; then
    echo "less than 50 GB left on drawer-4tb" >&2
    exit 4
fi

rsync --archive --delete --backup --backup-dir="$TRASH" --exclude '.thumbnails/' "$SOURCE" "$TARGET"

find "$DISK/removed" -mindepth 1 -maxdepth 1 -type d -mtime +60 -exec rm -r {} +
echo "done, $(find "$TARGET" -type f | wc -l) files"
