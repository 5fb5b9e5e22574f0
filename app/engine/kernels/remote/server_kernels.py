"""The kernels of a session that are on a server: where they are started, what can be, and which were left alive."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.address import SHORT_ID, SSH, KernelAddress, parse_address
from oi_tui.app.engine.kernels.remote.kernel import RemoteKernel
from oi_tui.app.engine.kernels.remote.living import LivingKernel, LivingKernels
from oi_tui.app.engine.kernels.remote.seat import RemotePlace, Seat, attachment_error, require_python
from oi_tui.app.engine.kernels.remote.server import JupyterServer, ServerAsleep
from oi_tui.app.engine.kernels.remote.servers import KnownServer, KnownServers
from oi_tui.app.engine.kernels.remote.site import open_site

LOOKING = 10.0
"""Seconds that a server has to say what it has."""

MOST_SPECS = 100

_SPEC = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._ -]{1,40}")


class ServerKernels:
    """Makes kernels of one server; without a place there is none."""

    def __init__(self, launch: Launch, servers: KnownServers, living: LivingKernels) -> None:
        self.place: RemotePlace | None = None
        self.specs: dict[str, Language] = {}
        """What the server can start and the language of each, as far as known."""
        self._launch = launch
        self._servers = servers
        self._living = living

    # -- choosing --------------------------------------------------------------------------------------

    def begin(self, asked: str) -> str:
        """Where the settings say, else where this session left a kernel alive; what the person has to know of it.
        SettingsError if that is no server, or a kernel that needs a yes first."""
        if asked:
            address = parse_address(asked)
            self._servers.find(asked if address.host else address.name)
            self.place = place = self._place_of(asked, agreed=self._launch.settings.attach is True)
            assert place is not None
            if address.kernel_id and not place.agreed and not self._is_ours(place):
                raise self._attachment_error(asked, place.server.host)
        elif (place := self._place_left()) is not None:
            self.place = place
        return "" if self.place is None else f"Code runs in {self.place.telling}. No sandbox of ours is there."

    async def choose(self, name: str, *, agreed: bool) -> bool:
        """Use this server, kernelspec or kernel; False if it names no server."""
        address = parse_address(name)
        never = self._launch.settings.attach == "never"
        place = await asyncio.to_thread(self._place_of, name, agreed=agreed and not never)
        if place is None:
            if address.kernelspec or address.kernel_id:
                await asyncio.to_thread(self._servers.find, address.name)
            return False
        specs: dict[str, str] = {}
        if address.kernelspec or address.kernel_id:
            async with open_site(place.server, self._launch) as site:
                specs = await site.kernelspecs()
                place = await self._exact_place(site, address, place, specs)
        self.place = place
        self._note_specs(specs)
        if not specs:
            with suppress(KernelError):  # its kernel reports that when it starts
                await self.look_around()
        return True

    async def _exact_place(
        self, site: JupyterServer, address: KernelAddress, place: RemotePlace, specs: dict[str, str]
    ) -> RemotePlace:
        """The place as the server knows it: an existing kernelspec, or the whole id of a kernel."""
        if address.kernelspec:
            if address.kernelspec not in specs:
                raise SettingsError(f"{site.host} has no kernelspec “{address.kernelspec}”.")
            if specs[address.kernelspec].lower() != "python":  # for fences with its name
                return msgspec.structs.replace(place, kernelspec=place.server.kernel)
            return place
        found = await site.find_running(address.kernel_id)
        if self.place is not None and self.place.name == place.name and found.kernel_id == self._id_in_use:
            raise SettingsError("Code runs in that kernel already.", hint="/restart starts it afresh.")
        require_python(specs.get(found.kernelspec, ""), site.host)
        place = msgspec.structs.replace(place, kernelspec=found.kernelspec, kernel_id=found.kernel_id)
        ours = await asyncio.to_thread(self._is_ours, place)
        if not place.agreed and (found.connections or not ours):
            raise self._attachment_error(str(address), site.host)
        return place

    @property
    def attaches(self) -> bool:
        """Whether Python code runs in a kernel that lived before."""
        return self.place is not None and bool(self.place.kernel_id)

    @property
    def address_in_use(self) -> str:
        """The address by which the Python kernel is chosen, "" if it is not on a server."""
        used = self._id_in_use
        return f"{self.place.name}@{used[:SHORT_ID]}" if self.place is not None and used else ""

    @property
    def _id_in_use(self) -> str:
        place = self.place
        if place is None:
            return ""
        known = (one for one in self._records() if (one.server, one.language) == (place.name, "python"))
        return next((one.kernel_id for one in known if one.kernel_id.startswith(place.kernel_id)), "")

    def leave(self) -> None:
        """Code runs on this machine from now on."""
        self.place, self.specs = None, {}

    async def look_around(self) -> None:
        """Find out what the server can start; KernelError if it does not say so in time. Nothing is started for that: a
        machine over ssh is asked when its kernel is."""
        place = self.place
        if place is None or place.server.url.startswith(SSH):
            return
        await place.server.find_token(self._launch.environ, self._launch.learn_secret)  # a keyring takes its time
        try:
            async with asyncio.timeout(LOOKING), open_site(place.server, self._launch, starts=False) as site:
                self._note_specs(await site.kernelspecs())
        except ServerAsleep:
            return  # it is started with its first kernel
        except TimeoutError:
            raise KernelError(f"{place.server.host} did not say within {LOOKING:.0f} s what it has.") from None

    def _note_specs(self, specs: dict[str, str]) -> None:
        fitting = {
            name: language.lower()
            for name, language in sorted(specs.items())
            if _SPEC.fullmatch(name) and _LANGUAGE.fullmatch(language)
        }
        self.specs = dict(list(fitting.items())[:MOST_SPECS])

    # -- making ----------------------------------------------------------------------------------------

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages there besides Python, by the names of kernelspecs."""
        used = "" if self.place is None else self.place.kernelspec
        return tuple(name for name, language in self.specs.items() if name != used and language != "python")

    def find(self, label: str) -> Language | None:
        """The kernelspec there with this name or language, None if there is none."""
        there = self.languages
        return label if label in there else next((name for name in there if self.specs[name] == label), None)

    def make(self, launch: Launch, language: Language) -> RemoteKernel | None:
        """A kernel there, None if this language is not run there."""
        place = self.place
        if place is None or not (
            language == "python" or language in self.languages or language in self.left_languages()
        ):
            return None
        if language != "python":
            place = msgspec.structs.replace(place, kernelspec=language, kernel_id="")
        return RemoteKernel(launch, Seat(launch, language, place, self._living))

    def left_languages(self) -> tuple[Language, ...]:
        """The languages whose kernel this session left running on this server."""
        place = self.place
        if place is None:
            return ()
        return tuple(dict.fromkeys(one.language for one in self._records() if one.server == place.name))

    def hand_over(self, session_id: str, heir: str) -> None:
        """Another session takes over the kernels of this one."""
        self._living.hand_over(session_id, heir)

    # -- reading ---------------------------------------------------------------------------------------

    def _records(self) -> Iterator[LivingKernel]:
        yield from self._living.of_session(self._launch.session_id())

    def _place_of(self, name: str, *, agreed: bool) -> RemotePlace | None:
        """None if no server has this name."""
        address = parse_address(name)
        server_name = name.strip() if address.host else address.name
        server = self._server_of(server_name)
        if server is None:
            return None
        return RemotePlace(
            name=server_name,
            server=server,
            kernelspec=address.kernelspec or server.kernel,
            kernel_id=address.kernel_id,
            agreed=agreed,
        )

    def _server_of(self, name: str) -> KnownServer | None:
        return self._servers.find(name) if name.startswith(SSH) else self._servers.all().get(name)

    def _place_left(self) -> RemotePlace | None:
        """Where the kernel for Python is that this session left alive, else another one."""
        for left in sorted(self._records(), key=lambda one: one.language != "python"):
            server = self._server_of(left.server)
            if server is not None and server.credential == left.site:
                kernelspec = left.kernelspec if left.language == "python" else server.kernel
                kernel_id = left.kernel_id if left.foreign else ""
                agreed = left.foreign and self._launch.settings.attach != "never"
                return RemotePlace(
                    name=left.server, server=server, kernelspec=kernelspec, kernel_id=kernel_id, agreed=agreed
                )
        return None

    def started_ids(self) -> frozenset[str]:
        """Ids of all kernels that sessions of ours started, on any server."""
        return frozenset(one.kernel_id for one in self._living.all() if not one.foreign)

    def _attachment_error(self, name: str, host: str) -> SettingsError:
        if self._launch.settings.attach == "never":
            title = f"{name} is a kernel that somebody else started on {host}: your settings never attach to one."
            return SettingsError(title, hint='kernel.attach is "never"; oi-tui config show --origin says who set it.')
        return attachment_error(name, host)

    def _is_ours(self, place: RemotePlace) -> bool:
        """Whether a session of ours started the kernel that is named."""
        return any(
            one.site == place.server.credential and one.kernel_id.startswith(place.kernel_id) and not one.foreign
            for one in self._living.all()
        )
