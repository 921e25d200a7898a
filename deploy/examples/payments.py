"""Makes two months of payments and the chargebacks that came later: `python payments.py [FOLDER]`.

It writes `payments.jsonl` and `chargebacks.csv`, the data for `payments.yaml`. About one payment of twenty is fraud.
Its chargeback comes days or weeks later. Some come twice, some come too late, and some are withdrawn.
"""

import csv
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

PAYMENTS = 3_000
BEGIN, DAYS = datetime(2024, 3, 1, tzinfo=UTC), 60


def main(folder: Path) -> None:
    draw = random.Random(1)
    chargebacks = []
    moments = sorted(draw.uniform(0, DAYS) for _ in range(PAYMENTS))
    with (folder / "payments.jsonl").open("w") as file:
        for number, moment in enumerate(moments):
            at = BEGIN + timedelta(days=moment)
            payment, risk = pay(draw, f"p-{number}", at)
            file.write(json.dumps(payment) + "\n")
            chargebacks += [(when, f"p-{number}", fraud) for when, fraud in complaints(draw, at, risk)]
    with (folder / "chargebacks.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["at", "payment", "fraud"])
        rows.writerows((text(when), number, str(fraud).lower()) for when, number, fraud in sorted(chargebacks))


def pay(draw: random.Random, number: str, at: datetime) -> tuple[dict[str, object], float]:
    """A payment, and how risky it looks to somebody who knows how fraud is made."""
    amount = round(draw.lognormvariate(3.5, 1), 2)
    is_new_card, is_abroad, attempts = draw.random() < 0.1, draw.random() < 0.15, draw.choice([1] * 8 + [2, 3])
    fields = {"amount": amount, "new_card": int(is_new_card), "abroad": int(is_abroad), "attempts": attempts}
    risk = 2.5 * is_new_card + 2 * is_abroad + 1.2 * (attempts - 1) + 0.006 * amount
    return {"id": number, "at": text(at), **fields, "night": int(at.hour < 6)}, risk + 0.8 * (at.hour < 6)


def complaints(draw: random.Random, at: datetime, risk: float) -> list[tuple[datetime, bool]]:
    """The labels of a payment: mostly none; `false` is a chargeback that was withdrawn."""
    when = at + timedelta(days=min(draw.lognormvariate(1.8, 0.7), 50))
    if draw.gauss(risk, 0.7) > 4.2:
        again = [(when + timedelta(days=2), True)] if draw.random() < 0.1 else []
        return [(when, True), *again]
    return [(when, False)] if draw.random() < 0.03 else []


def text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
