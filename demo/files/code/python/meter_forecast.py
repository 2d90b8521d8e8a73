"""Estimate this year's electricity bill from the monthly meter readings.

Reads data/electricity-readings-2025.csv style files: date, day_kwh, night_kwh,
where both columns are the counters' absolute positions.
"""

import csv
from dataclasses import dataclass
from datetime import date
from pathlib import Path

DAY_TARIFF = 0.2146
NIGHT_TARIFF = 0.1696
STANDING_CHARGE_PER_YEAR = 187.20


@dataclass(frozen=True)
class Reading:
    day: date
    peak_kwh: float
    offpeak_kwh: float


def load_readings(path: Path) -> list[Reading]:
    """All readings, oldest first. A row without both counters is skipped."""
    readings = []
    with path.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row["day_kwh"] and row["night_kwh"]:
                readings.append(
                    Reading(
                        date.fromisoformat(row["date"]),
                        float(row["day_kwh"]),
                        float(row["night_kwh"]),
                    )
                )
    return sorted(readings, key=lambda reading: reading.day)


def daily_average(readings: list[Reading]) -> tuple[float, float]:
    """Mean consumption per day between the first and the last reading."""
    first, last = readings[0], readings[-1]
    days = (last.day - first.day).days
    if days <= 0:
        raise ValueError("need two readings on different days")
    return (last.peak_kwh - first.peak_kwh) / days, (last.offpeak_kwh - first.offpeak_kwh) / days


def estimate_annual_cost(readings: list[Reading]) -> float:
    """Straight-line estimate for 365 days, standing charge included."""
    peak, offpeak = daily_average(readings)
    energy = 365 * (peak * DAY_TARIFF + offpeak * NIGHT_TARIFF)
    return round(energy + STANDING_CHARGE_PER_YEAR, 2)


if __name__ == "__main__":
    import sys

    print(f"{estimate_annual_cost(load_readings(Path(sys.argv[1]))):.2f} EUR")
