"""What the sandbox refused of the network: counted by host, bounded, and told in plain words."""

from oi_tui.app.engine.log.audit.refusals import MOST_NAMED_HOSTS, Refusals
from oi_tui.app.engine.sandbox.hosts import AllowList, Refusal, parse_authority


def refused(*hosts: str, why: str = "not on the list") -> Refusals:
    made = Refusals()
    for host in hosts:
        made.add(Refusal(host, why))  # type: ignore[arg-type]  # one of the three
    return made


def test_each_host_is_told_once_with_how_often_and_how_to_allow_it() -> None:
    made = refused(*["example.org:443"] * 3, "b.example:8443")
    assert made.counts == {"example.org:443": 3, "b.example:8443": 1}
    title, hint, details = made.describe()
    assert title == "The sandbox refused the network: example.org (3 times), b.example:8443."
    assert hint == "To allow it, add “example.org” to sandbox.hosts in config.toml."
    assert details.splitlines() == ["example.org (3 times): not on the list", "b.example:8443: not on the list"]
    late, _, _ = made.describe(late=True)
    assert late.startswith("The sandbox refused the network to what a run left behind: example.org")


def test_what_is_named_as_the_way_out_is_a_rule_that_allows_it() -> None:
    for host in ("example.org:443", "example.org:80", "b.example:8443", "[::1]:9000", "10.0.0.1:443"):
        _, hint, _ = refused(host).describe()
        wanted = parse_authority(host)
        assert wanted is not None
        assert AllowList([hint.partition("“")[2].partition("”")[0]]).admits(wanted)


def test_only_the_first_time_of_a_host_is_news() -> None:
    made = Refusals()
    refusal = Refusal("example.org:443", "not on the list")
    assert [made.add(refusal) for _ in range(3)] == [True, False, False]
    assert made.add(Refusal("example.org:80", "not on the list"))
    assert made.total == 4


def test_a_flood_of_hosts_is_named_up_to_a_number_and_the_rest_is_counted() -> None:
    made = refused(*(f"host{number}.example:443" for number in range(MOST_NAMED_HOSTS + 1000)), "host3.example:443")
    assert len(made.counts) == MOST_NAMED_HOSTS
    assert (made.unnamed, made.total) == (1000, MOST_NAMED_HOSTS + 1001)
    title, _, details = made.describe()
    shown = "host0.example, host1.example, host2.example, host3.example (2 times)"
    assert title == f"The sandbox refused the network: {shown} and 46 or more others."
    assert details.splitlines()[-1] == "1,000 more requests"
    assert len(details.splitlines()) == MOST_NAMED_HOSTS + 1


def test_what_is_no_host_is_shown_on_one_line_in_which_nothing_hides() -> None:
    title, hint, details = refused("evil\n\x1b[2J\u202e#allowed.com:443" + "x" * 500, why="no host").describe()
    assert "evil<U+000A><U+001B>[2J<U+202E>#allowed.com" in title
    assert len(title) < 200
    assert "\n" not in details
    assert hint == ""


def test_a_name_that_leads_into_this_network_has_another_way_out() -> None:
    _, hint, _ = refused("intranet.example:443", why="leads to an address that is not public").describe()
    assert "192.168.1.5:8080" in hint
