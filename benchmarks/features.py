"""How fast are the transformers that make features, beside River's, in a pipeline with a learner?

    python benchmarks/features.py

Every contender predicts and then learns each example, in shuffled order with the others. A cell is the median CPU time
an example; in brackets the median of the ratios to the first line, and their quartiles. What is printed is also written
to benchmarks/results/features.md.
"""

import platform
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import river
from examples import Rows, dense, pa, two_calls
from river import feature_extraction, linear_model, preprocessing
from timing import ROUNDS, Contender, table

import river_margins as rm

RESULTS = Path(__file__).parent / "results" / "features.md"


def river_pa() -> linear_model.PAClassifier:
    return linear_model.PAClassifier(C=0.1, mode=1)


def sparse(features: int, names: int, examples: int) -> Rows:
    """Ones for a few of many names, others in each example."""
    draw = random.Random(features)
    keys = [f"feature {i}" for i in range(names)]
    return [(dict.fromkeys(draw.sample(keys, features), 1.0), draw.random() < 0.5) for _ in range(examples)]


def products() -> list[str]:
    """Time all products of two features."""
    return table(
        "Products of two features",
        [
            ("20 features, always the same", dense(20, 60)),
            ("20 of 1000 features", sparse(20, 1000, 60)),
        ],
        [
            Contender("River's PolynomialExtender and PAClassifier", two_calls(lambda: rivers_products() | river_pa())),
            Contender("River's PolynomialExtender, our PAClassifier", two_calls(lambda: rivers_products() | pa())),
            Contender("Interactions and PAClassifier", two_calls(lambda: rm.Interactions() | pa())),
        ],
    )


def rivers_products() -> feature_extraction.PolynomialExtender:
    return feature_extraction.PolynomialExtender()


def hashes() -> list[str]:
    """Time the hashing of names."""
    return table(
        "Hashed features",
        [
            ("20 features, always the same", dense(20, 400)),
            ("20 of 1000 features", sparse(20, 1000, 400)),
        ],
        [
            Contender(
                "River's FeatureHasher and PAClassifier",
                two_calls(lambda: preprocessing.FeatureHasher(2**20, seed=1) | river_pa()),
            ),
            Contender(
                "River's FeatureHasher, our PAClassifier",
                two_calls(lambda: preprocessing.FeatureHasher(2**20, seed=1) | pa()),
            ),
            Contender("FeatureHasher and PAClassifier", two_calls(lambda: rm.FeatureHasher(2**20) | pa())),
            Contender("PAClassifier(max_features=2**20)", two_calls(lambda: pa(max_features=2**20))),
        ],
    )


def several_steps() -> list[str]:
    """Time two transformers and a learner."""

    def rivers() -> Any:
        return preprocessing.StandardScaler() | preprocessing.FeatureHasher(2**20, seed=1) | river_pa()

    steps: dict[str, Callable[[], Any]] = {
        "StandardScaler, FeatureHasher and PAClassifier": lambda: rm.StandardScaler() | rm.FeatureHasher(2**20) | pa(),
        "FeatureHasher, StandardScaler and PAClassifier": lambda: rm.FeatureHasher(2**20) | rm.StandardScaler() | pa(),
        "StandardScaler, Interactions and PAClassifier": lambda: rm.StandardScaler() | rm.Interactions() | pa(),
        "Interactions, StandardScaler and PAClassifier": lambda: rm.Interactions() | rm.StandardScaler() | pa(),
    }
    return table(
        "Two transformers and a learner",
        [("9 features", dense(9, 400)), ("20 features", dense(20, 200))],
        [
            Contender("River's StandardScaler, FeatureHasher and PAClassifier", two_calls(rivers)),
            *(Contender(name, two_calls(make)) for name, make in steps.items()),
        ],
    )


def written(words: int, examples: int) -> Rows:
    """Texts of so many words, of which few are frequent and most are rare."""
    draw = random.Random(words)
    letters = "abcdefghijklmnopqrstuvwxyz"
    known = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(8000)]
    rows: Rows = []
    for _ in range(examples):
        chosen = [known[min(7999, int(draw.paretovariate(0.6)) - 1)] for _ in range(words)]
        text = " ".join(word + draw.choice(("", "", "", ",", ".")) for word in chosen).capitalize()
        rows.append(({"body": text}, draw.random() < 0.5))
    return rows


def words() -> list[str]:
    """Time counts and weights of words."""
    streams = [("16 words", written(16, 400)), ("100 words", written(100, 100))]
    return [
        *table(
            "Counts of words",
            streams,
            [
                Contender(
                    "River's BagOfWords and PAClassifier",
                    two_calls(lambda: feature_extraction.BagOfWords(on="body") | river_pa()),
                ),
                Contender(
                    "River's BagOfWords, our PAClassifier",
                    two_calls(lambda: feature_extraction.BagOfWords(on="body") | pa()),
                ),
                Contender("BagOfWords and PAClassifier", two_calls(lambda: rm.BagOfWords(on="body") | pa())),
                Contender(
                    "BagOfWords and PAClassifier(max_features=2**18)",
                    two_calls(lambda: rm.BagOfWords(on="body") | pa(max_features=2**18)),
                ),
            ],
        ),
        *table(
            "Weights of words",
            streams,
            [
                Contender(
                    "River's TFIDF and PAClassifier",
                    two_calls(lambda: feature_extraction.TFIDF(on="body") | river_pa()),
                ),
                Contender(
                    "River's TFIDF, our PAClassifier", two_calls(lambda: feature_extraction.TFIDF(on="body") | pa())
                ),
                Contender("TFIDF and PAClassifier", two_calls(lambda: rm.TFIDF(on="body") | pa())),
            ],
        ),
    ]


def main() -> None:
    report = [
        "# Transformers that make features",
        "",
        f"River {river.__version__}, Python {platform.python_version()}, {platform.machine()}; {ROUNDS} rounds of CPU "
        "time. A cell is the median; in brackets the ratio to the first line of its table, median and quartiles.",
        "",
        *words(),
        *products(),
        *hashes(),
        *several_steps(),
    ]
    RESULTS.write_text("\n".join(report))
    print("\n".join(report))


if __name__ == "__main__":
    main()
