"""From when on a question may be answered."""

import pytest

from oi_tui.widgets.arming import ABSENCE, LOOK_INTERVAL, TYPING_GAP, Arming


class Scene:
    """A question, and seconds that pass by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.arming = Arming(lambda: self.now)

    def wait(self, seconds: float) -> None:
        """Looking at it as one does."""
        for _ in range(round(seconds / LOOK_INTERVAL)):
            self.now += LOOK_INTERVAL
            self.arming.look()

    def stand_still(self, seconds: float) -> None:
        """Nobody looks."""
        self.now += seconds


@pytest.fixture
def scene() -> Scene:
    """A question that has just been shown, on a quiet keyboard."""
    scene = Scene()
    scene.arming.show()
    return scene


def test_U2_it_is_armed_a_moment_after_it_was_shown_and_stays_so(scene: Scene) -> None:
    armed = []
    for seconds in (0.4, 0.2):
        scene.wait(seconds)
        armed.append(scene.arming.is_armed)
    assert armed == [False, True]
    scene.arming.touch()
    assert scene.arming.is_armed


@pytest.mark.parametrize(("age", "counts"), [(0.3, True), (1.0, False), (9.0, False)])
def test_U2_a_key_is_judged_by_when_it_came(scene: Scene, age: float, counts: bool) -> None:
    scene.wait(1.0)
    scene.arming.touch(age)
    assert scene.arming.is_armed == counts


def test_U2_a_key_that_came_too_early_puts_the_arming_off_from_when_it_was_obeyed(scene: Scene) -> None:
    scene.wait(2.0)
    scene.arming.touch(1.9)
    scene.wait(0.9)
    assert not scene.arming.is_armed
    scene.wait(0.2)
    assert scene.arming.is_armed


def test_U2_time_in_which_nobody_looked_does_not_arm_it(scene: Scene) -> None:
    scene.wait(0.2)
    scene.stand_still(TYPING_GAP + LOOK_INTERVAL)
    scene.arming.look()
    scene.wait(0.4)
    assert not scene.arming.is_armed
    scene.wait(0.2)
    assert scene.arming.is_armed


def test_U2_what_comes_after_the_program_stood_still_may_have_been_typed_before(scene: Scene) -> None:
    scene.wait(1.0)
    scene.stand_still(ABSENCE - LOOK_INTERVAL)
    scene.arming.look()
    assert scene.arming.is_armed
    scene.stand_still(ABSENCE + LOOK_INTERVAL)
    scene.arming.touch()
    scene.arming.look()
    assert not scene.arming.is_armed


def test_U2_an_answer_that_was_begun_goes_on(scene: Scene) -> None:
    scene.wait(1.0)
    scene.stand_still(60.0)
    scene.arming.look(begun=True)
    assert scene.arming.is_armed
