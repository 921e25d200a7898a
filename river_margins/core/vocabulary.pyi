from typing import final

@final
class Vocabulary: ...
