"""Messages of a kernel as they are read: signed, once, and as jupyter_client reads them."""

from typing import Any

import pytest
from jupyter_client import KernelClient
from jupyter_client.session import Session

from oi_tui.app.engine.kernels.channels import Channels

KEY = b"known to both"


def written(content: dict[str, Any], parent: str = "asked", version: str = "5.3") -> list[bytes]:
    """A message of a kernel, in its parts."""
    session = Session(key=KEY)
    message = session.msg("stream", content)
    message["header"]["version"] = version
    message["parent_header"] = {"msg_id": parent} if parent else {}
    parts: list[bytes] = session.serialize(message)
    return parts


@pytest.fixture
async def channels() -> Channels:
    return Channels(KernelClient(session=Session(key=KEY)))


async def read(channels: Channels, parts: list[bytes]) -> dict[str, Any] | None:
    return await channels.read(parts, sum(map(len, parts)))


@pytest.mark.parametrize("version", ["5.0", "5.4", "6.0"])
async def test_a_message_is_what_jupyter_client_reads(channels: Channels, version: str) -> None:
    content = {"name": "stdout", "text": "π " * 3, "figure": 1.5}
    parts = written(content, version=version)
    known = Session(key=KEY).deserialize(parts[1:])
    message = await read(channels, parts)
    assert message is not None
    assert (message["msg_type"], message["content"]) == (known["msg_type"], known["content"]) == ("stream", content)
    assert message["parent_header"]["msg_id"] == known["parent_header"]["msg_id"] == "asked"


async def test_a_message_without_a_parent_is_read_too(channels: Channels) -> None:
    message = await read(channels, written({"execution_state": "starting"}, parent=""))
    assert message is not None
    assert message["parent_header"] == {}


@pytest.mark.parametrize("parent", ["asked", ""])
async def test_a_message_counts_once(channels: Channels, parent: str) -> None:
    parts = written({"text": "1"}, parent)
    assert await read(channels, parts) is not None
    assert await read(channels, parts) is None
    assert channels.desk.nonsense == 1


@pytest.mark.parametrize("place", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("instead", [b"", b"{}", b"\xff", b'{"msg_id":"x","msg_type":"stream","version":"5.3"}'])
async def test_a_message_with_another_part_or_signature_is_dropped(
    channels: Channels, place: int, instead: bytes
) -> None:
    parts = written({"text": "1"})
    parts[place] = b"[]" if parts[place] == instead else instead
    assert await read(channels, parts) is None
    assert channels.desk.nonsense == 1
