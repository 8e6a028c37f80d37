"""The ``synparse`` command: its subcommands, and one line on standard error for each error.

Exit codes: 0 success, 1 error that the user can fix, 2 usage error, 129 terminal closed, 130 interrupted, 141 reader of
the output closed, 143 terminated. An exception other than ``SynparseError`` or a file error is a bug and keeps its
traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import click

from cli.command import GROUP_SETTINGS, LazyGroup
from cli.output import wrapped
from cli.process import TerminatedError, ending_cleanly, replace_closed_streams
from treebank.base import VERSION
from treebank.base.errors import SynparseError, UsageError, out_of_memory
from treebank.base.tables import printable

COMMANDS = {
    "train": ("cli.commands.train:train", "Train a model on plain text."),
    "combine": ("cli.commands.combine:combine", "Combine several models into an ensemble."),
    "parse": ("cli.commands.parse:parse", "Parse text: one sentence per line in, one tree per line out."),
    "extract": ("cli.commands.extract:extract", "Write distances, head probabilities or vectors of each sentence."),
    "decode": ("cli.commands.decode:decode", "Decode the output of extract into trees or heads."),
    "draw": ("cli.commands.draw:draw", "Draw trees and heads (terminal, SVG, PDF, PNG, HTML, LaTeX)."),
    "generate": ("cli.commands.generate:generate", "Draw sentences and trees from a grammar."),
    "convert": ("cli.commands.convert:convert", "Convert treebanks between formats."),
    "eval": ("cli.commands.eval:evaluate", "Score trees or heads against a treebank."),
    "search": ("cli.commands.search:search", "Search trees and heads for a pattern."),
    "phrases": ("cli.commands.phrases:phrases", "List phrases or arcs with their frequencies."),
    "browse": ("cli.commands.browse:browse", "Write an HTML page in which a corpus can be searched."),
    "sample": ("cli.commands.sample:sample", "Write a page to correct random trees, as gold for eval."),
    "perplexity": ("cli.commands.perplexity:perplexity", "Compute perplexity of a text, or of each sentence or word."),
    "pairs": ("cli.commands.pairs:pairs", "Score models on minimal pairs of sentences."),
    "analyze": ("cli.commands.analyze:analyze", "Analyze models: agreement, sharpness, gaps, channels, grammars."),
    "report": ("cli.commands.report:report", "Write an HTML page with scores, curves and trees."),
    "info": ("cli.commands.info:info", "Show a trained model, or versions, devices and settings."),
    "cite": ("cli.commands.cite:cite", "Print BibTeX entries for models, treebanks and conventions."),
    "data": ("cli.commands.data:data", "List treebanks, or prepare a large corpus on disk."),
    "task": ("cli.commands.task:task", "Train and evaluate models on tasks other than parsing."),
}
SECTIONS = {
    "Learn": ("train", "combine"),
    "Parse": ("parse", "extract", "decode", "draw", "generate", "convert"),
    "Evaluate": ("eval", "sample", "perplexity", "pairs", "analyze", "report"),
    "Work with a corpus": ("search", "phrases", "browse"),
    "Models and data": ("info", "cite", "data"),
    "Tasks": ("task",),
}

COMPLETION = "_SYNPARSE_COMPLETE"  # environment variable by which a shell requests completions

MAX_MESSAGE_LENGTH = 2000  # characters
WITHOUT_TORCH = (
    "torch is not installed, and training and most models need it; install it with: pip install torch; "
    "the built-in models english and english-heads work without it"
)

# errors of files and disks; any other OSError that names no file is a bug
FILE_ERRORS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ELOOP),
    errno.ENOMEM,
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENXIO, errno.ENODEV, errno.EMFILE, errno.EBADF),
    *(errno.ENFILE, errno.ESTALE),
}


@click.group(cls=LazyGroup, context_settings=GROUP_SETTINGS, table=COMMANDS, sections=SECTIONS)
@click.version_option(VERSION, prog_name="synparse")
def synparse() -> None:
    """Learn to parse from plain text.

    \b
    First steps, in a folder with a text that has one sentence per line:
      synparse draw input.txt               draw trees of the built-in model
      synparse train                        train on the generated sample
      synparse parse input.txt > trees.txt  write one tree per line
      synparse eval --gold sample           score the model
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, print its output and errors, and return the exit code."""
    replace_closed_streams()
    if arguments is None and (instruction := os.environ.get(COMPLETION)):
        return _complete(instruction)
    with ending_cleanly():
        return _run_reporting_errors(list(sys.argv[1:] if arguments is None else arguments))


def _complete(instruction: str) -> int:
    """Print the completion script of a shell, or completions, and return the exit code."""
    from click.shell_completion import shell_complete

    is_complete = instruction.endswith("_source") or {"COMP_WORDS", "COMP_CWORD"} <= os.environ.keys()
    if is_complete and not shell_complete(synparse, {}, "synparse", COMPLETION, instruction):
        return 0
    return _end(f"{COMPLETION}={instruction}: give bash_source, zsh_source or fish_source", 2)


def _run_reporting_errors(arguments: list[str]) -> int:
    """Exit code of one command line. An error is printed in one line."""
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
    except UsageError as error:
        return _end(str(error), 2, error)
    except SynparseError as error:
        return _end(str(error), 1, error)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("torch"):
            raise
        return _end(WITHOUT_TORCH, 1, error)
    except BrokenPipeError:  # the reader, such as `head`, has stopped reading
        return _end("", 141)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return _end("memory ran out; leave very long sentences out, or take a smaller model or batch", 1, error)
    except OSError as error:
        if error.errno is None or (error.filename is None and error.errno not in FILE_ERRORS):
            raise
        if isinstance(error, FileNotFoundError) and not _has_folder():
            return _end("the current folder was deleted; change to another one", 1, error)
        name = error.filename if error.filename is not None else "the output"
        return _end(f"{name}: {error.strerror or error}", 1, error)


def _has_folder() -> bool:
    """Whether the current folder exists."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def _call(command: click.Command, arguments: list[str]) -> int:
    """Exit code of ``command``. Unlike click's ``main``, this function raises errors."""
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)  # file names need not be UTF-8
    try:
        with command.make_context("synparse", arguments) as context:
            command.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0


def _end(message: str, code: int, error: BaseException | None = None) -> int:
    """Flush standard output, print ``message`` with the notes of ``error`` on standard error, and return ``code``."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # prevents a second error when the interpreter exits
    if message:
        line = printable("; ".join([message, *getattr(error, "__notes__", ())]))
        if len(line) > MAX_MESSAGE_LENGTH:  # the message quotes very long input
            line = f"{line[: MAX_MESSAGE_LENGTH // 2]} … {line[-MAX_MESSAGE_LENGTH // 3 :]}"
        print(wrapped(f"synparse: {line}", sys.stderr), file=sys.stderr)
    return code
