"""Actions on one block of the timeline: copy it, view it, use it again.

The timeline names the action and the block; this runs it, or says why it cannot.
"""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from oi_tui.app.engine.core.blocks import Action, Block, CallBlock, CodeBlock, SummaryBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.tool_verbs import CallTool, DraftFunction
from oi_tui.app.engine.core.verbs import Rebuild, Run, SaveRemote
from oi_tui.app.engine.text.browser_page import needs_scripts, page_of
from oi_tui.app.engine.text.markdown import as_markdown
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.whereabouts import describe_moves
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.transcript.stale_runs import chain
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.block_views import BlockView, PictureFile, block_views
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.branching import Branching
from oi_tui.app.screens.browser_ask import BrowserAskScreen, NoBrowser, can_open, open_in_browser, open_page
from oi_tui.app.screens.browser_page import write_page
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.clipboard import copy
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.context_actions import ContextActions
from oi_tui.app.screens.external_editor import EditorFailed, suffix_of, view_in_editor, view_in_pager
from oi_tui.app.screens.frame_desk import KernelFrame
from oi_tui.app.screens.picture_screen import PictureScreen
from oi_tui.app.screens.picture_viewer import NoPictureViewer, open_picture
from oi_tui.app.screens.rebuild import RebuildScreen, describe_chain
from oi_tui.app.screens.run_again import RunAgainScreen
from oi_tui.app.screens.save_as import REMOTE_LIMIT, SaveAsScreen, SaveFailed, read_bounded, save
from oi_tui.app.screens.undo_screen import undo_look
from oi_tui.app.screens.viewer import TableContent, ViewerContent, ViewerScreen
from oi_tui.app.screens.widgets_screen import WidgetsScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.arming import Clock
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.keyrow import key_hint, keymap_of, shown_key
from oi_tui.widgets.timeline.graphics import IN_CELLS
from oi_tui.widgets.timeline.keys import TIMELINE_KEYS
from oi_tui.widgets.timeline.logical import count_hidden, logical_text, output_text, shown_widgets
from oi_tui.widgets.timeline.pixels import PictureSource
from oi_tui.widgets.timeline.view import BlockAction, Timeline
from oi_tui.widgets.viewer.line_index import CannotRead

_STILL = "It was written by the code that ran. The page can load nothing and run nothing."
_PROGRAMS = "It was written by the code that ran, and it needs its own programs. They can load nothing from anywhere."


class BlockActions:
    """Does what is wanted of blocks."""

    def __init__(self, place: Widget, bridge: Bridge, *, editor: str, clock: Clock) -> None:
        self._place = place
        self._bridge = bridge
        self._clock = clock
        self._editor = editor
        self._branching = Branching(place, bridge)
        self.context = ContextActions(place, bridge)
        self.palette: Palette | None = None
        """Colours of what is opened from here."""
        self.graphics = IN_CELLS
        """How it shows pictures."""
        self.frame: KernelFrame | None = None
        """The table that was opened last, if a kernel has it."""
        self.widgets: WidgetsScreen | None = None
        """The widgets that were opened last."""

    async def do(self, wish: BlockAction, block: Block) -> None:
        """Do it, or say why it cannot be done."""
        if not self._is_in_front:
            return  # a key that was pressed twice, before what it brings up was there
        match wish:
            case "pin" | "leave_out":
                self.context.mark(wish, block)
            case "rerun" | "undo" if isinstance(block, SummaryBlock):
                assert self.palette is not None
                await self.context.change_summary(wish, block, self.palette)
            case "copy":
                await self.copy(logical_text(block), hidden=count_hidden(block))
            case "copy_output":
                await self.copy(output_text(block))
            case "copy_markdown":
                await self.copy(as_markdown(block), hidden=count_hidden(block))
            case "undo":
                if (look := undo_look(self._bridge.transcript.blocks, block)) is not None:
                    self._bridge.send(look)
                elif isinstance(block, Action) and block.written is not None and block.written.undone:
                    self._tell("Its changes were undone. /redo makes again what was undone last.")
                else:
                    as_prompt = key_hint(self._place, ("timeline.reuse", "uses its text as a prompt"), owner=Timeline)
                    self._tell(f"This turn changed no file: there is nothing to undo.{as_prompt and f' {as_prompt}.'}")
            case "reuse":
                self._reuse(block)
            case "rerun":
                self._run_again(block)
            case "dependents":
                await self._run_dependents(block)
            case "keep":
                self._bridge.send(DraftFunction(block_id=block.id))
            case "menu":
                await self._choose_action(block)
            case "operate":
                self._operate(block)
            case "view":
                await self._view(block)
            case "zoom":
                self._zoom(block)
            case "save":
                await self._save(block)
            case "edit" | "pager":
                self._elsewhere(wish, block)
            case "open_outside":
                await self._open_outside(block)
            case "browser":
                await self._browse(block)
            case "fork" | "rewind" | "again":
                await self._branching.do(wish, block)

    async def copy(self, text: str, what: str = "", *, hidden: int = 0) -> None:
        """Into the clipboard, and say how much it was, and how many hidden characters are written out in it."""
        if not text:
            self._tell("There is nothing to copy.")
            return
        trouble = await copy(self._place.app, text)
        lines = text.count("\n") + 1
        told = what or f"Copied {quantity(lines, 'line')}."
        self._tell(told + _hidden_note(hidden), warning=hidden > 0)
        if trouble:
            self._tell(f"The desktop's clipboard: {trouble}", warning=True)

    async def open_link(self, href: str) -> None:
        """A link of a model: where it leads is for the person to judge."""
        app = self._place.app
        if not self._is_in_front:
            return
        match await app.push_screen_wait(BrowserAskScreen(href, can_open=can_open())):
            case "open":
                await self._report_no_browser(open_in_browser(href))
            case "copy":
                await self.copy(href, "Link copied.")
            case None:
                pass

    async def _choose_action(self, block: Block) -> None:
        """All that keys do with a block, for the mouse."""
        actions = [one for one in TIMELINE_KEYS if isinstance(one, Binding) and one.action.startswith("ask(")]
        keymap = keymap_of(self._place)
        titles = [f"{shown_key(one, keymap) or '-':<8}{one.description.partition(';')[0]}" for one in actions]
        number = await self._place.app.push_screen_wait(ChooseScreen("This block", titles))
        if number is not None:
            wish: BlockAction = actions[number].action.removeprefix("ask('").removesuffix("')")  # type: ignore[assignment] # as declared
            await self.do(wish, block)

    # -- looking and keeping -------------------------------------------------------------------------------------

    async def _choose_view(self, block: Block, title: str) -> BlockView | None:
        """The form that is meant; the person is asked where there are several beside the source."""
        forms = block_views(block)
        if len(forms) <= 2:
            return forms[0]
        number = await self._place.app.push_screen_wait(ChooseScreen(title, [form.title for form in forms]))
        return None if number is None else forms[number]

    async def _view(self, block: Block) -> None:
        form = await self._choose_view(block, "View")
        if form is None:
            return
        if isinstance(form.content, PictureFile):
            self._show_picture(form.content)
            return
        self.show(form.content, block.runs_in if isinstance(block, Action) else "")

    def show(self, content: ViewerContent, language: str = "") -> None:
        """On the whole screen; the rows of a table come from the kernel of this language, which may have it still."""
        assert self.palette is not None
        if isinstance(content, TableContent) and content.table.ref and language:
            self.frame = KernelFrame(language, self._bridge.send, lambda: not self._bridge.stopped)
            content = content._replace(source=self.frame)
        try:
            screen = ViewerScreen(content, self.palette, _folder_of(self._bridge), editor=self._editor)
        except CannotRead as error:
            self._tell(str(error), warning=True)
            return
        self._place.app.push_screen(screen)

    def _operate(self, block: Block) -> None:
        """Its widgets, by keys."""
        names = shown_widgets(block)
        if not names or not isinstance(block, CodeBlock):
            self._tell("There are no widgets in this block.")
            return
        self.widgets = WidgetsScreen(names, block.language, self._bridge, editor=self._editor)
        self._place.app.push_screen(self.widgets)

    def _zoom(self, block: Block) -> None:
        pictures = [form.content for form in block_views(block) if isinstance(form.content, PictureFile)]
        if pictures:
            self._show_picture(pictures[0])
        else:
            self._tell("There is no picture in this block.")

    async def _open_outside(self, block: Block) -> None:
        """The picture in the program that the desktop has for pictures."""
        picture = next((form.content for form in block_views(block) if isinstance(form.content, PictureFile)), None)
        if picture is None:
            self._tell("There is no picture in this block.")
            return
        try:
            await asyncio.to_thread(open_picture, picture.source or PictureSource(picture.data))
        except NoPictureViewer as error:
            self._tell(str(error), warning=True)

    def _show_picture(self, picture: PictureFile) -> None:
        assert self.palette is not None
        screen = PictureScreen(
            picture.data,
            picture.mime,
            self.graphics,
            self.palette,
            source=picture.source,
            words=picture.words,
            folder=_folder_of(self._bridge),
        )
        self._place.app.push_screen(screen)

    async def _save(self, block: Block) -> None:
        form = await self._choose_view(block, "Save")
        if form is None:
            return
        screen = SaveAsScreen(
            form.name,
            _folder_of(self._bridge),
            what=form.title,
            send=lambda path: self._save_remote(path, form.saved()),
        )
        path = await self._place.app.push_screen_wait(screen)
        if path is None:
            return
        try:
            await asyncio.to_thread(save, path, form.saved())
        except SaveFailed as failed:
            self._tell(str(failed), warning=True)
        else:
            self._tell(f"Saved {safe_text(path.name)}.")

    def _save_remote(self, path: str, data: bytes | Path) -> None:
        """On the server on which code runs: a notice says how that went."""
        try:
            data = read_bounded(data) if isinstance(data, Path) else data
        except OSError as error:
            self._tell(f"It cannot be read: {error.strerror}.", warning=True)
            return
        if len(data) > REMOTE_LIMIT:
            self._tell(f"This has more than {REMOTE_LIMIT:,} bytes: too much for the way to the server.", warning=True)
            return
        self._bridge.send(SaveRemote(path=path, data=data))

    def _elsewhere(self, wish: BlockAction, block: Block) -> None:
        """In the person's own program, which has the terminal for as long."""
        text, suffix = as_markdown(block), ".md"
        if isinstance(block, Action) and not block.outputs:
            text, suffix = logical_text(block), suffix_of(block.written_in)
        try:
            if wish == "pager":
                view_in_pager(self._place.app, text)
            else:
                view_in_editor(self._place.app, text, suffix, self._editor)
        except EditorFailed as failed:
            self._tell(str(failed), warning=True)

    async def _browse(self, block: Block) -> None:
        """HTML in the browser: a page of ours around it lets nothing be loaded, and programs run only after a yes."""
        outputs = (
            [output for output in block.outputs if isinstance(output, RichOutput)] if isinstance(block, Action) else []
        )
        output = next((output for output in reversed(outputs) if page_of(output) is not None), None)
        if output is None:
            self._tell("There is nothing in this block that a browser would show better.")
        elif not can_open():
            self._tell("No browser can be opened from here. s saves it to a file.", warning=True)
        else:
            scripts = needs_scripts(output)
            question = ConfirmScreen(
                "Open this result in the browser?", _PROGRAMS if scripts else _STILL, yes="open", no="back"
            )
            if await self._place.app.push_screen_wait(question):
                page = page_of(output, scripts=scripts)
                assert page is not None
                path = await asyncio.to_thread(write_page, page)
                await self._report_no_browser(open_page(path))

    async def _report_no_browser(self, opening: Awaitable[None]) -> None:
        try:
            await opening
        except NoBrowser as error:
            self._tell(str(error), warning=True)

    @property
    def _is_in_front(self) -> bool:
        return self._place.app.screen is self._place.screen

    # -- code --------------------------------------------------------------------------------------------------

    def _run_again(self, block: Block) -> None:
        """Show it first: one letter, typed for the prompt, must run nothing. A call is shown in a question."""
        if isinstance(block, CallBlock) and block.state not in ("streaming", "cut"):
            self._bridge.send(CallTool(tool=block.tool, source=block.source))
            return
        if not isinstance(block, CodeBlock) or not block.source.strip():
            self._tell("There is no code or call in this block. R asks its prompt again, E changes it.")
            return
        assert self.palette is not None
        screen = RunAgainScreen(block.source, block.language, self.palette)
        self._place.app.push_screen(screen, lambda source: self._run(block.language, source))

    async def _run_dependents(self, block: Block) -> None:
        """Run the block again with what depends on it, after what is stale before it; the person chooses."""
        transcript = self._bridge.transcript
        again = [transcript.block(block_id) for block_id in chain(transcript.blocks, block.id)]
        blocks = [one for one in again if isinstance(one, CodeBlock) and one.language == "python"]
        if not blocks:
            self._tell("No Python code has run in this block.")
            return
        assert self.palette is not None
        lead = describe_chain(transcript, blocks)
        screen = RebuildScreen(blocks, transcript.foreign, self.palette, lead=lead, clock=self._clock)
        if block_ids := await self._place.app.push_screen_wait(screen):
            self._bridge.send(Rebuild(block_ids=block_ids, here=True))
            self._place.query_one(Timeline).action_go("end")  # where they are going to be seen

    def rebuild(self) -> None:
        """Runs of this session once more, to have their variables; the person chooses which."""
        blocks = [
            block
            for block in self._bridge.transcript.blocks
            if isinstance(block, CodeBlock) and block.duration is not None
        ]
        if self._bridge.busy:
            self._tell("Something runs. Interrupt it first: the kernels are made afresh.", warning=True)
        elif not blocks:
            self._tell("No code has run in this session.")
        elif self._is_in_front:
            assert self.palette is not None
            moved = describe_moves(
                (block.place, self._bridge.kernels.places.get(block.language, "")) for block in blocks
            )
            foreign = self._bridge.transcript.foreign
            screen = RebuildScreen(blocks, foreign, self.palette, moved=moved, clock=self._clock)
            self._place.app.push_screen(screen, self._rebuild)

    def _rebuild(self, block_ids: tuple[str, ...] | None) -> None:
        if block_ids:
            self._bridge.send(Rebuild(block_ids=block_ids))

    def _run(self, language: str, source: str | None) -> None:
        if source is not None:
            self._bridge.send(Run(language=language, source=source))
            self._place.query_one(Timeline).action_go("end")  # where it is going to be seen

    def _reuse(self, block: Block) -> None:
        """Into the prompt, below what is being written there; a question about code stays in front of it."""
        area = self._place.screen.query_one(PromptArea)
        area.add(logical_text(block))
        self._place.screen.query_one(Bottom).focus_shown()
        if hidden := count_hidden(block):
            self._tell(f"It is in the prompt.{_hidden_note(hidden)}", warning=True)
        elif not area.is_on_screen:
            self._tell("It is in the prompt, behind this question.")

    def _tell(self, text: str, *, warning: bool = False) -> None:
        self._place.app.notify(text, severity="warning" if warning else "information", timeout=3)


def _hidden_note(hidden: int) -> str:
    """The note about code that is no longer byte for byte the code that runs."""
    if not hidden:
        return ""
    return f" {hidden:,} hidden character{' is' if hidden == 1 else 's are'} written out as <U+…>."


def _folder_of(bridge: Bridge) -> Path:
    return Path(bridge.transcript.cwd or ".")
