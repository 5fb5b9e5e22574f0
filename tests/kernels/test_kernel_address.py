"""What a kernel is chosen by: `cluster`, `cluster:julia-1.10`, `cluster@3f2a`, `ssh://me@host:22`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.kernels.remote.address import KernelAddress, parse_address
from oi_tui.app.engine.kernels.remote.hub import find_hub

WAYS = {
    "cluster": KernelAddress(name="cluster"),
    "cluster:julia-1.10": KernelAddress(name="cluster", kernelspec="julia-1.10"),
    "my-cluster_2@3f2a": KernelAddress(name="my-cluster_2", kernel_id="3f2a"),
    "/home/me@work/a:b": KernelAddress(name="/home/me@work/a:b"),
    "./env": KernelAddress(name="./env"),
    "ssh://host": KernelAddress(host="host"),
    "ssh://me@host.example.org:2222": KernelAddress(user="me", host="host.example.org", port=2222),
    "ssh://me@[fe80::1]:22": KernelAddress(user="me", host="fe80::1", port=22),
    "ssh://Lab/opt/env": KernelAddress(host="Lab", path="/opt/env"),
    "ssh://lab:22/~/env/bin/python": KernelAddress(host="lab", port=22, path="~/env/bin/python"),
}


@pytest.mark.parametrize(("text", "address"), WAYS.items())
def test_a_name_is_read_and_written_as_it_is_typed(text: str, address: KernelAddress) -> None:
    assert parse_address(f" {text} ") == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "cluster@", "cluster:", "cluster@a b", "cluster:a?b", "cluster@a\nb", "cluster@" + "a" * 101,
        "ssh://", "ssh://-oProxyCommand=x", "ssh://-l@host", "ssh://host:99999", "ssh://host/a\nb", "ssh://a b",
        "ssh://-F/x", "ssh://me@host@other", "ssh://host:22:33", "ssh://hö\x00st",
    ],
)  # fmt: skip
def test_what_names_no_kernel_is_said_at_once(text: str) -> None:
    with pytest.raises(SettingsError):
        parse_address(text)


@given(st.text() | st.text(alphabet="ab:@/[]-.0\n ").map(lambda text: f"ssh://{text}") | st.from_regex(r"\w+[:@].*"))
def test_whatever_is_typed_is_an_address_or_an_error_of_ours(text: str) -> None:
    try:
        address = parse_address(text)
    except SettingsError:
        return
    assert parse_address(str(address)) == address
    assert not address.host.startswith("-")
    assert not address.user.startswith("-")


def test_the_address_of_a_server_in_the_place_of_its_name_is_told_how_to_add_it() -> None:
    with pytest.raises(SettingsError) as told:
        parse_address("https://hub.test/?token=s3cret")
    assert "oi-tui kernels add NAME URL" in told.value.hint
    assert "s3cret" not in f"{told.value} {told.value.hint}"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://h.example/", ("https://h.example", "", "")),
        ("https://h.example:8/jupyter/hub/home", ("https://h.example:8/jupyter", "", "")),
        ("https://h.example/user/ann%40x/", ("https://h.example", "ann@x", "")),
        ("https://h.example/p/user/me/gpu/lab/tree/x", ("https://h.example/p", "me", "gpu")),
        ("https://h.example/user/me/lab", ("https://h.example", "me", "")),
    ],
)
def test_an_address_of_a_hub_says_whose_server_it_is(url: str, address: tuple[str, str, str]) -> None:
    assert find_hub(url) == address
