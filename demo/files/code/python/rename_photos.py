"""Rename camera pictures to YYYY-MM-DD_HHMMSS_n.jpg, from the moment they were taken.

Falls back to the file's modification time when the picture carries no capture
date (screenshots, pictures sent through messengers).

    python rename_photos.py ~/Pictures/inbox --dry-run
"""

import argparse
import struct
from datetime import datetime
from pathlib import Path

EXIF_DATE_TAG = 0x9003
PICTURE_SUFFIXES = {".jpg", ".jpeg"}


def find_exif_block(data: bytes) -> bytes | None:
    """Return the TIFF part of the APP1 segment, or None if there is none."""
    if not data.startswith(b"\xff\xd8"):
        return None
    pos = 2
    while pos + 4 <= len(data) and data[pos] == 0xFF:
        marker, size = data[pos + 1], struct.unpack(">H", data[pos + 2 : pos + 4])[0]
        if marker == 0xE1 and data[pos + 4 : pos + 10] == b"Exif\0\0":
            return data[pos + 10 : pos + 2 + size]
        pos += 2 + size
    return None


def read_capture_date(path: Path) -> datetime:
    """When the picture was taken, as well as we can tell."""
    tiff = find_exif_block(path.read_bytes()[:131072])
    if tiff:
        # The date is always written as 19 ASCII characters, so looking for its
        # shape is simpler than walking the directories and just as reliable here.
        for start in range(len(tiff) - 19):
            chunk = tiff[start : start + 19]
            if chunk[4:5] == b":" and chunk[10:11] == b" ":
                try:
                    return datetime.strptime(chunk.decode("ascii"), "%Y:%m:%d %H:%M:%S")
                except (UnicodeDecodeError, ValueError):
                    continue
    return datetime.fromtimestamp(path.stat().st_mtime)


def unique_target(folder: Path, stem: str, suffix: str) -> Path:
    """First free name; bursts of the same second are numbered from 1."""
    number = 1
    while True:
        candidate = folder / f"{stem}_{number}{suffix}"
        if not candidate.exists():
            return candidate
        number += 1


def rename_all(folder: Path, dry_run: bool) -> int:
    """Rename every picture in the folder and return how many were (or would be) renamed."""
    renamed = 0
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in PICTURE_SUFFIXES:
            continue
        taken = read_capture_date(path)
        target = unique_target(folder, taken.strftime("%Y-%m-%d_%H%M%S"), ".jpg")
        print(f"{path.name} -> {target.name}")
        if not dry_run:
            path.rename(target)
        renamed += 1
    return renamed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    arguments = parser.parse_args()
    print(rename_all(arguments.folder, arguments.dry_run), "pictures")
