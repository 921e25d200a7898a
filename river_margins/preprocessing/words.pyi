from collections.abc import Iterator, Sequence, Set
from typing import Any, ClassVar

from river import base
from typing_extensions import disjoint_base

from river_margins.preprocessing.rows import FirstStep, RowMaker

WORDS: str

@disjoint_base
class WordCounts(RowMaker):
    def transform_many(self, X: Any) -> Any: ...

@disjoint_base
class WordWeights(WordCounts):
    @property
    def n(self) -> int: ...
    @property
    def dfs(self) -> dict[Any, int]: ...
    def learn_many(self, X: Any) -> None: ...

class BagOfWords(FirstStep, WordCounts, base.MiniBatchTransformer):
    round_cost: ClassVar[str]
    guarantee: ClassVar[str]
    advice: ClassVar[str]
    on: str | None
    strip_accents: bool
    lowercase: bool
    stop_words: set[str] | None
    tokenizer_pattern: str
    ngram_range: tuple[int, int]
    def __init__(
        self,
        on: str | None = None,
        *,
        strip_accents: bool = True,
        lowercase: bool = True,
        stop_words: Sequence[str] | Set[str] | None = None,
        tokenizer_pattern: str = "(?u)\\b\\w[\\w\\-]+\\b",
        ngram_range: tuple[int, int] = (1, 1),
    ) -> None: ...
    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]: ...

class TFIDF(FirstStep, WordWeights, base.MiniBatchTransformer):
    round_cost: ClassVar[str]
    guarantee: ClassVar[str]
    advice: ClassVar[str]
    normalize: bool
    on: str | None
    strip_accents: bool
    lowercase: bool
    stop_words: set[str] | None
    tokenizer_pattern: str
    ngram_range: tuple[int, int]
    def __init__(
        self,
        normalize: bool = True,
        *,
        on: str | None = None,
        strip_accents: bool = True,
        lowercase: bool = True,
        stop_words: Sequence[str] | Set[str] | None = None,
        tokenizer_pattern: str = "(?u)\\b\\w[\\w\\-]+\\b",
        ngram_range: tuple[int, int] = (1, 1),
    ) -> None: ...
    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]: ...
