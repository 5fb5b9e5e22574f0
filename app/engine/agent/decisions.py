"""Who decides about proposed code and calls: a rule, the approval mode, an earlier "always", or the person.

Nothing here runs anything.
"""

from collections.abc import Callable, Sequence

import msgspec

from oi_tui.app.engine.agent.approval_state import ApprovalState
from oi_tui.app.engine.agent.decision_events import decision_event, request_event
from oi_tui.app.engine.agent.grants import GrantCase, Grants
from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.agent.halt import TurnStopped
from oi_tui.app.engine.agent.known_folders import KnownFolders
from oi_tui.app.engine.agent.open_question import NoAnswer, OpenQuestion
from oi_tui.app.engine.agent.own_files import OwnFiles
from oi_tui.app.engine.agent.previews import Previews
from oi_tui.app.engine.agent.refusing import Settled, deny, refuse_all, refuse_unanswered, refuse_unasked
from oi_tui.app.engine.agent.rule_places import resolve_rules
from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.agent.stricter_ruling import stricter_ruling
from oi_tui.app.engine.agent.written_look import ELSEWHERE, NO_KEEPER, RunKeeper
from oi_tui.app.engine.core.blocks import Action, ActionBlock, Block, CallBlock, CodeBlock, UserBlock
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.outcomes import Decider
from oi_tui.app.engine.core.values import ApprovalMode, Confinement, Language
from oi_tui.app.engine.core.verbs import Decide, Revise
from oi_tui.app.engine.hooks.values import Judgement
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.losses import NO_LOOK, Loss, WorkLook, made_paths
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rule_text import parse_short
from oi_tui.app.engine.policy.rules import Effect as RuleVerdict
from oi_tui.app.engine.policy.taint import Taint, is_foreign
from oi_tui.app.engine.text.attached import attached_file


class Decisions:
    """The decisions of one session."""

    def __init__(
        self,
        mode: ApprovalMode,
        runners: Runners,
        *,
        can_ask: bool,
        policy: Policy | None = None,
        past: Sequence[Block] = (),
        look: WorkLook = NO_LOOK,
    ) -> None:
        """`past` is what the session held when it was opened."""
        self.approval = ApprovalState(mode)
        self.policy = resolve_rules(policy if policy is not None else Policy())
        self._runners = runners
        self._can_ask = can_ask
        self._grants = Grants()
        self.question = OpenQuestion(runners.tools.questions)
        self._changed: set[tuple[Language, int]] = set()
        """Shells in which something ran that gives later words another meaning, by generation."""
        self._rereading: set[tuple[str, int]] = set()
        """Kernels in which later code may be read as something else, by generation: no "always" holds there."""
        self._handed: set[str] = set()
        """What may run others unseen, and was approved by the person."""
        self.files = OwnFiles(look)
        self._look = look
        self.folders = KnownFolders(runners)
        self._taint = Taint()
        self._past = tuple(past)
        """What has not been looked through for it yet."""
        self._previews = Previews()
        self._agreed: dict[str, frozenset[str]] = {}
        """By id of an approved call: the tools that its question named."""
        self.keeper: RunKeeper = NO_KEEPER
        self.objection: Callable[[ActionBlock], Judgement | None] = lambda block: None
        """What plugins have against an action."""

    @property
    def mode(self) -> ApprovalMode:
        """Who decides. Setting it is a new decision of the user: grants for this turn end."""
        return self.approval.mode

    @mode.setter
    def mode(self, mode: ApprovalMode) -> None:
        self.approval.mode = mode
        self._grants.end_turn()

    def end_planning(self) -> bool:
        """Return to the mode before plan mode; False if the settings ask for plan mode."""
        self.mode = self.approval.after_planning
        return not self.is_planning

    @property
    def is_planning(self) -> bool:
        """Whether code waits for a plan that the user accepts."""
        return "plan" in (self.mode, self.policy.mode)

    def begin_turn(self) -> None:
        """Grants for the last turn end."""
        self._grants.end_turn()
        self._agreed.clear()

    def withdraw(self) -> None:
        """Refuse what is waiting, because the turn is being stopped."""
        self._previews.give_up()
        self.question.withdraw()

    def forget(self) -> None:
        """No grant holds any longer, and nothing that was read is remembered."""
        self._grants.forget()
        self._handed.clear()
        self._taint, self._past = Taint(), ()

    def fork(self) -> "Decisions":
        """Decisions for another session in the same kernels: facts about these stay, grants do not."""
        other = Decisions(
            self.mode, self._runners, can_ask=self._can_ask, policy=self.policy, past=self._past, look=self._look
        )
        other.approval, other._changed = self.approval.copy(), set(self._changed)
        other._rereading = set(self._rereading)
        other._taint = self._taint
        other.folders = self.folders.copy()
        return other

    def covers(self, caller: str, block: ActionBlock, ruling: PolicyDecision) -> bool:
        """Whether the yes to a call is one to this call that it makes: its question named the tool, and nothing but the
        mode asks about it. What that one calls in turn must have been named as well."""
        named = self._agreed.get(caller, frozenset())
        if not isinstance(block, CallBlock) or block.tool not in named or self.mode == "never":
            return False
        if ruling.verdict != "allow" and (ruling.verdict != "ask" or ruling.ground != "mode"):
            return False
        self._agreed[block.id] = named
        return True

    def add_rule(self, verdict: RuleVerdict, text: str) -> None:
        """One more rule, as long as the session is open; SettingsError if it is none."""
        rules = parse_short((text,), verdict, "this session")
        self.policy = resolve_rules(msgspec.structs.replace(self.policy, rules=(*self.policy.rules, *rules)))

    def note_run(self, block: ActionBlock, ruling: PolicyDecision | None) -> None:
        """Take note of what is about to run: what it reads, and in a shell, what it may redefine. Without a `ruling`
        the source is read for that."""
        found = ruling if ruling is not None else decide(self._runners.request(block), self.policy)
        self._taint = self._taint.and_of(found.taint)
        if found.rereads:
            self._rereading.add((block.runs_in, self._runners.next_generation(block)))
        if found.lasting and isinstance(block, CodeBlock):
            self._changed.add((block.language, self._runners.next_generation(block)))
        self.folders.note(block, found.reading, self.policy.base)

    async def note_end(self, block: ActionBlock, ruling: PolicyDecision, *, whole: bool) -> None:
        """This has run, to its end where `whole`: what it wrote is the session's own."""
        if self._runners.is_side_by_side(block):
            return
        read = ruling.reading if whole and not self._runners.runs_elsewhere(block) else None
        await self.files.end_run(made_paths(read, block.source, self.policy.base) if read is not None else ())

    def note_prompt(self, files: Sequence[str], origins: Sequence[str]) -> None:
        """The person gave the model these files, and words of these strangers."""
        names = [attached_file(written).name for written in files]  # none: pasted, and anybody may have made it
        if origins or any(not name or is_foreign(name, self.policy.base) for name in names):
            self._taint = self._taint.and_of(Taint(foreign=True))

    def denial_reason(self, ruling: PolicyDecision) -> str:
        """Why code is not run again among others, "" if nothing is against it. That it was chosen answers what the mode
        would ask, not what a rule asks or what the source itself gives reason to ask."""
        if self.mode == "never":
            return "denied by the approval mode “never”"
        if ruling.verdict == "deny":
            return f"denied by {ruling.by}"
        if ruling.verdict == "ask" and ruling.ground not in ("mode", "harm"):
            return f"asked about because of {ruling.by}: run it again by itself with r"
        return ""

    async def settle(
        self,
        block: ActionBlock,
        ruling: PolicyDecision,
        guard: RepeatGuard,
        emit: Emit,
        *,
        asked_by: str = "",
        wish: str = "",
    ) -> PolicyDecision | None:
        """The policy's decision about the action that runs now, None if none runs; `ruling` is the result of `rule`,
        `asked_by` as in `DecisionRequested`, `wish` why the person is asked though nothing else asks. TurnStopped if
        that ends the turn.

        Emits `DecisionMade`, and before it `DecisionRequested` if the user must decide.

        An approval for another kernel than the one that would run it now is requested again. The strictest of the
        rules, the mode, the repeat guard and an earlier "always" wins; "always" answers for the mode, not for a rule
        that asks.
        """
        settled = await self._settle(block, ruling, guard, emit, asked_by, wish)
        emit(settled.made)
        if settled.stop is not None:
            raise settled.stop
        return settled.ruling

    async def _settle(
        self, block: ActionBlock, ruling: PolicyDecision, guard: RepeatGuard, emit: Emit, asked_by: str, wish: str
    ) -> Settled:
        objection, generation = guard.objection(block), self._runners.next_generation(block)
        if self.mode == "never":
            return refuse_all(block)
        if ruling.verdict == "deny":
            return deny(block, ruling, self.mode)
        if not (objection or wish) and ruling.verdict == "allow":
            decider: Decider = ruling.ground if ruling.ground in ("rule", "grant") else "mode"
            reason = f"allowed by {ruling.by}" if ruling.by and decider != "mode" else ""
            return Settled(decision_event(block, "run", decider, reason=reason), ruling=ruling)
        if not self._can_ask:
            return refuse_unasked(block, ruling, objection)
        facts = await self._previews.facts(self._runners.tool(block), block.source)
        if facts.given_up:
            return self._apply_decision(block, Decide(request_id="", verdict="stop"), guard, ruling)
        if facts.refusal:
            return Settled(decision_event(block, "skip", "rule", reason=facts.refusal))
        of_the_mode = ruling.verdict == "allow" or (self.mode == "ask" and ruling.ground == "mode")
        why = objection or (wish if of_the_mode else f"asked because of {ruling.by}")
        labels = ruling.labels
        named = self.folders.written_paths(block, ruling.reading, self.policy.base)
        if self._runners.may_change_files(block):
            labels = (*labels, *await self.keeper.remarks(named))
        elif self._runners.runs_elsewhere(block):
            labels = (*labels, *ELSEWHERE[: len(named)])
        asked = block
        while True:
            scopes, offer = self._grants.scopes(self._case(asked, ruling)), self._offer(asked, ruling)
            request = request_event(asked, why, labels, scopes, offer, asked_by, facts)
            verb = await self.question.ask(msgspec.structs.replace(request, edited=asked is not block), emit)
            if isinstance(verb, NoAnswer):
                return refuse_unanswered(asked, verb)
            if isinstance(verb, Revise):
                asked = msgspec.structs.replace(block, source=verb.source)
                if (ruling := await self.rule(asked)).verdict == "deny":
                    return deny(asked, ruling, self.mode)
                facts = (await self._previews.facts(self._runners.tool(asked), asked.source)).without_refusal()
                labels = ruling.labels
                if not facts.given_up:
                    continue
                verb = Decide(request_id=request.request_id, verdict="stop")
            now = self._runners.next_generation(block)
            if verb.verdict in ("skip", "stop") or generation == now:
                settled = self._apply_decision(asked, verb, guard, ruling)
                return settled if asked is block else settled.of_edited()
            generation, why = now, "its kernel ended while you were asked, and the variables are gone"

    async def rule(self, block: ActionBlock) -> PolicyDecision:
        """The policy's decision about the block's source now, with a check of what would be lost if it ran."""
        made = frozenset[str]() if self._runners.runs_elsewhere(block) else await self.files.made_files()
        ruling = self._judge(block, made=made)
        if ruling.targets and ruling.verdict != "deny" and (losses := await self.files.find_losses(ruling.targets)):
            return self._judge(block, ruling.reading, made, losses)
        return ruling

    def _judge(
        self,
        block: ActionBlock,
        reading: SourceFacts | None = None,
        made: frozenset[str] = frozenset(),
        losses: tuple[Loss, ...] = (),
    ) -> PolicyDecision:
        """The same without a look at the disk; reuses the reading of the source."""
        request = self._request(block, reading, made, losses)
        mode = self.approval.mode_for(request)
        ruling = decide(request, self.policy, mode)
        case = self._case(block, ruling, request)
        ruling = self._grants.apply(case, self.policy, mode)
        return stricter_ruling(ruling, self.objection(block), self.policy, mode)

    def _request(
        self,
        block: ActionBlock,
        reading: SourceFacts | None = None,
        made: frozenset[str] = frozenset(),
        losses: tuple[Loss, ...] = (),
    ) -> PolicyRequest:
        """The action as the policy sees it in this session."""
        request = self._runners.request(block, reading)
        generation = self._runners.next_generation(block)
        return request._replace(
            changed=(request.language, generation) in self._changed,
            taint=self._current_taint(request.confinement),
            made=made,
            folders=self.folders.of(block),
            losses=losses,
            handed=frozenset(self._handed),
        )

    def _case(self, block: ActionBlock, ruling: PolicyDecision, request: PolicyRequest | None = None) -> GrantCase:
        """The action as grants are judged."""
        generation = self._runners.next_generation(block)
        return GrantCase(
            block,
            request if request is not None else self._request(block, ruling.reading),
            ruling,
            generation,
            elsewhere=self._runners.runs_elsewhere(block),
            rereads=(block.runs_in, generation) in self._rereading,
        )

    def _current_taint(self, confinement: Confinement) -> Taint:
        """The past is looked through when it is needed: only where there is a way out."""
        if self._past and not confinement.offline:
            past, self._past = self._past, ()
            for block in past:
                match block:
                    case UserBlock():
                        self.note_prompt(block.files, block.origins)
                    case Action() if block.duration is not None:
                        found = decide(self._runners.request(block), self.policy)
                        self._taint = self._taint.and_of(found.taint)
                    case _:
                        pass
        return self._taint

    def _offer(self, block: ActionBlock, ruling: PolicyDecision) -> str:
        """The access that an installation may be allowed once, in words."""
        home = self._runners.confinement(block).packages
        if home is None or not ruling.offer:
            return ""
        try:
            hosts = self._runners.kernels.pip_installer(ruling.offer).confinement.apart_hosts
        except KernelError:  # it could not be kept
            return ""
        return f"install it from {' and '.join(hosts)} into {home.place}"

    def _apply_decision(self, block: ActionBlock, verb: Decide, guard: RepeatGuard, asked: PolicyDecision) -> Settled:
        """The result of an answer: mode and rules of this moment apply, to edited code too."""
        match verb.verdict:
            case "run" | "always" | "edit":
                source = block.source if verb.source is None else verb.source
                same = source == block.source
                proposed = block if same else msgspec.structs.replace(block, source=source)
                ruling = self._judge(proposed, asked.reading if same else None)
                if self.mode == "never":
                    return refuse_all(block)
                if ruling.verdict == "deny":
                    return deny(block, ruling, self.mode)
                verdict, reason = verb.verdict, ""
                if verdict == "always":
                    try:
                        reason = self._grants.add(self._case(proposed, ruling), verb.scope)
                    except ValueError:  # the sandbox has changed by now; this runs once
                        verdict = "run" if same else "edit"
                if ruling.reading is not None:
                    self._handed.update(one.key for one in ruling.reading.handovers)
                if verb.install and not ruling.offer:
                    return deny(
                        block, ruling._replace(by="a sandbox that is another one than when you were asked"), self.mode
                    )
                guard.allow()
                if (tool := self._runners.tool(block)) is not None:
                    self._agreed[block.id] = frozenset(tool.may_call)
                allowed = decision_event(proposed, verdict, "person", reason=reason, request_id=verb.request_id)
                if verb.install:
                    allowed = msgspec.structs.replace(allowed, install=True)
                    ruling = ruling._replace(installs=True)
                return Settled(allowed, ruling=ruling._replace(time_limit=verb.time_limit))
            case "skip":
                refusal = decision_event(block, "skip", "person", reason=verb.reason, request_id=verb.request_id)
                return Settled(
                    refusal,
                    None
                    if verb.reason
                    else TurnStopped(
                        "refused", f"You refused the {'code' if isinstance(block, CodeBlock) else 'call'}."
                    ),
                )
            case "stop":
                refusal = decision_event(block, "stop", "person", reason=verb.reason, request_id=verb.request_id)
                return Settled(refusal, TurnStopped("stopped", "Stopped by you."))
