"""``hangview completion``: the script that makes a shell complete commands, options and paths."""

from __future__ import annotations

import click

from hangview.cli_errors import Exit
from hangview.cli_output import put

_SHELLS = ("bash", "zsh", "fish")

#: click's own script asks bash for its version by starting a second one, and complains where that is older than 4.4.
_HOW = """\
bash: eval "$(hangview completion bash)" in ~/.bashrc;
zsh: eval "$(hangview completion zsh)" in ~/.zshrc, after compinit;
fish: hangview completion fish > ~/.config/fish/completions/hangview.fish
"""


@click.command(short_help="Print the script for completion in a shell.", epilog=_HOW)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the script that completes commands, options and paths in a shell."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, shell
    put(made(ctx.find_root().command, {}, "hangview", "_HANGVIEW_COMPLETE").source())
    return Exit.NO_HANG
