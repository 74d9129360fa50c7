"""The table of the log's keys."""

from __future__ import annotations

from hangview.tui.log.keys import LOG_ACTIONS
from hangview.tui.log.screen import LogScreen


def test_no_key_means_two_things():
    keys = [key for action in LOG_ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys))


def test_every_action_can_be_done():
    for action in LOG_ACTIONS:
        assert hasattr(LogScreen, f"action_{action.run}"), action.id
