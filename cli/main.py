"""``synparse``: commands that are loaded when they are called, and errors told in one line.

Exit codes: 0 done, 1 something the user can act on, 2 wrong usage, 129 the terminal went away, 130 interrupted, 141 the
reader of our output went away, 143 terminated. Whatever is not a ``SynparseError`` or trouble with a file is a bug and
keeps its traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from cli.signals import TerminatedError, ending_cleanly
from cli.streams import stand_in
from treebank.base.errors import SynparseError, UnknownNameError, out_of_memory, printable
from treebank.base.registry import nearest
from treebank.base.version import VERSION

# name -> where the command is, and what `synparse --help` says about it
COMMANDS = {
    "train": ("cli.commands.train:train", "Train a model on plain text."),
    "transfer": ("cli.commands.transfer:transfer", "Learn a new task of Craft with options that are there already."),
    "prepare": ("cli.commands.prepare:prepare", "Write a text as a corpus on disk, larger than memory, for train."),
    "parse": ("cli.commands.parse:parse", "Parse text: one sentence a line in, one tree a line out."),
    "combine": ("cli.commands.combine:combine", "Let several models vote: an ensemble is a run like any other."),
    "eval": ("cli.commands.eval:evaluate", "Score models and trees against a treebank, or models on a text."),
    "score": ("cli.commands.score:score", "Write how probable each sentence is to a model, and each word."),
    "embed": ("cli.commands.embed:embed", "Write a vector of each sentence."),
    "extract": ("cli.commands.extract:extract", "Write the distances that a model gives to each sentence."),
    "decode": ("cli.commands.decode:decode", "Turn distances from extract into trees; needs no model."),
    "draw": ("cli.commands.draw:draw", "Draw trees and heads: SVG, PDF, PNG, HTML, LaTeX, terminal."),
    "report": ("cli.commands.report:report", "Write a page that shows what models have learned."),
    "convert": ("cli.commands.convert:convert", "Turn treebanks into trees, spans, heads, distances or text."),
    "classes": ("cli.commands.classes:classes", "Put the words of a text into classes."),
    "analyze": ("cli.commands.analyze.group:analyze", "Look into a model: which channel goes with which relation."),
    "pack": ("cli.commands.pack:pack", "Pack a model into one file, which -m takes as it takes a folder."),
    "cite": ("cli.commands.cite:cite", "Print BibTeX for the tool, a model, a treebank, a way of counting."),
    "info": ("cli.commands.info:info", "Show what a model folder holds, or versions, devices and data."),
}

COMPLETION = "_SYNPARSE_COMPLETE"  # what shells set when they ask for completions

LONGEST_MESSAGE = 2000  # characters

# what may go wrong with a user's files and disks; any other OSError is a bug
FILE_TROUBLE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ELOOP),
    errno.ENOMEM,
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENXIO, errno.ENODEV, errno.EMFILE, errno.EBADF),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when called; their help lines come from the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f"no command {args[0]!r}; {nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="synparse")
def synparse() -> None:
    """Learn to parse from plain text.

    \b
    To begin with, in a folder with a text, one sentence a line:
      synparse draw input.txt               its trees, by the built-in model
      synparse train                        a model of the built-in sample
      synparse parse input.txt > trees.txt  one tree a line
      synparse eval --gold sample           how good the trees are
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code of one call, everything printed."""
    stand_in()
    if arguments is None and (instruction := os.environ.get(COMPLETION)):
        from click.shell_completion import shell_complete

        return shell_complete(synparse, {}, "synparse", COMPLETION, instruction)
    with ending_cleanly():
        return _told(list(sys.argv[1:] if arguments is None else arguments))


def _told(arguments: list[str]) -> int:
    """The exit code of one call, and one line for what went wrong."""
    try:
        code = _call(synparse, arguments)
        sys.stdout.flush()
        return code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except TerminatedError as error:
        return _end("terminated", error.code, error)
    except (KeyboardInterrupt, click.Abort) as error:
        return _end("interrupted", 130, error)
    except UnknownNameError as error:
        return _end(str(error), 2, error)
    except SynparseError as error:
        return _end(str(error), 1, error)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        return _end("", 141)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return _end("memory ran out; leave very long sentences out, or take a smaller model or batch", 1, error)
    except OSError as error:
        if error.errno not in FILE_TROUBLE:
            raise
        return _end(_file_trouble(error), 1, error)


def _call(command: click.Command, arguments: list[str]) -> int:
    """What ``command`` exits with. Unlike click's own main, this leaves errors to ``run``."""
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)  # names of files need not be UTF-8
    try:
        with command.make_context("synparse", arguments) as context:
            command.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0


def _file_trouble(error: OSError) -> str:
    """Which file, and what is wrong with it."""
    place = error.filename if error.filename is not None else "the output"
    return f"{place}: {error.strerror or error}"


def _end(message: str, code: int, error: BaseException | None = None) -> int:
    """``code``, after one line on stderr with the notes of ``error``.

    What stdout still holds goes out if it can, and never raises again.
    """
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter would complain again when it ends
    if message:
        line = printable("; ".join([message, *getattr(error, "__notes__", ())]))
        if len(line) > LONGEST_MESSAGE:  # it repeats something endless that was given
            line = f"{line[: LONGEST_MESSAGE // 2]} … {line[-LONGEST_MESSAGE // 3 :]}"
        print("synparse: " + line, file=sys.stderr)
    return code
