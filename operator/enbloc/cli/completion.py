# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shell completion for `kubectl enbloc`.

kubectl runs `kubectl_complete-enbloc` with the words after the plugin's name, the last one
unfinished, and reads one candidate per line; the last line is a colon and a number of cobra's.
Source: kubernetes v1.36 staging/src/k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go; the numbers
are those of ShellCompDirective in completions.go of github.com/spf13/cobra v1.10.
"""

import sys
from collections.abc import Sequence
from typing import Final

from click.shell_completion import ShellComplete

from enbloc.cli.entry import OK, cli
from enbloc.model.text import printable

#: The candidates are complete: the shell need not look for files.
_NO_FILES: Final = 4
#: The shell completes a file name.
_FILES: Final = 0


def complete(arguments: Sequence[str] | None = None) -> int:
    """Print the candidates for the last word.

    Args:
        arguments: words after the plugin's name, the last one unfinished; None = this process'
            own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    *words, unfinished = given or [""]
    found = ShellComplete(cli, {}, "enbloc", "").get_completions(words, unfinished)
    files = any(each.type in ("file", "dir") for each in found)
    for each in found:
        if each.type == "plain":
            help_text = printable(each.help or "")
            print(f"{each.value}\t{help_text}" if help_text else each.value)
    print(f":{_FILES if files else _NO_FILES}")
    return OK
