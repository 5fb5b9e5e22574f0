"""`oi-tui trust`: decisions about folders, and changes to them."""

from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.trust.folder_decisions import known_folders
from oi_tui.app.engine.trust.folder_digests import folder_digests
from oi_tui.app.engine.trust.folder_settings import read_folder_settings
from oi_tui.app.terminal.echo import echo


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--look", is_flag=True, help="Read-only: code can read, not write; folder settings are ignored.")
@click.option(
    "--without-sandbox", is_flag=True, help="Trust it, without a sandbox: code there has your full permissions."
)
@click.option("--forget", is_flag=True, help="Forget the decision about it.")
@click.option("--list", "listing", is_flag=True, help="List the decisions, folder by folder.")
def trust(folder: Path | None, look: bool, without_sandbox: bool, forget: bool, listing: bool) -> None:
    """Trust FOLDER (default: this one) and the folders below it: their own rules and settings apply from now on."""
    if look + without_sandbox + forget + listing > 1:
        raise SettingsError("--look, --without-sandbox, --forget and --list exclude each other.")
    folders = known_folders()
    if listing:
        for name, decision in sorted(folders.all().items()):
            what = "trusted" if decision.trusted else "read-only"
            sandbox = {"": "", "danger-full-access": ", no sandbox"}.get(decision.sandbox, f", {decision.sandbox}")
            changed = (
                f", its {' and '.join(news)} changed since" if (news := decision.changed_files(Path(name))) else ""
            )
            echo(f"{visible_text(name).text}  {what}{sandbox}{changed}  {visible_text(decision.decided).text}")
        return
    place = (folder or Path.cwd()).resolve()
    where = visible_text(str(place)).text
    if forget:
        known = folders.forget(place)
        echo(f"{where} is forgotten: oi-tui will ask again." if known else f"There is no decision about {where}.")
        return
    if not folders.can_remember(place):
        raise SettingsError(f"{where} cannot be trusted as a whole: it contains your home folder.")
    seen = folder_digests(place)  # before it is shown, for it may change at any time
    if not look:
        _show_decision(place)
    folders.decide(place, trusted=not look, sandbox="danger-full-access" if without_sandbox else "", seen=seen)
    what = "is read-only" if look else "is trusted, without a sandbox" if without_sandbox else "is trusted"
    echo(f"{where} {what} from now on.")


def _show_decision(place: Path) -> None:
    """SettingsError if it cannot be relied on: it is not trusted then."""
    from oi_tui.app.engine.files.command_folder import find_command_files
    from oi_tui.app.engine.trust.command_files import commands_in_words
    from oi_tui.app.engine.trust.folder_instructions import files_in_words
    from oi_tui.app.engine.trust.instruction_files import find_instruction_files
    from oi_tui.app.engine.trust.rule_files import project_rules
    from oi_tui.app.engine.trust.skill_files import find_folder_skills, skills_in_words

    for rule in project_rules(place, trusted=True):
        echo(f"  {rule.verdict}  {visible_text(rule.text).text}")
    for name, value in read_folder_settings(place).items():
        echo(f"  {name} = {value}")
    for text in files_in_words(find_instruction_files(place)):
        echo(f"  the model reads  {visible_text(text).text}")
    for text in commands_in_words(find_command_files(place)):
        echo(f"  a command  {visible_text(text).text}")
    for text in skills_in_words(find_folder_skills(place)):
        echo(f"  a skill  {visible_text(text).text}")
