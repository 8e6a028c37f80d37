"""Commands that are imported when they are called, with options in groups and examples in the help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from treebank.base.arguments import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

GROUP_SETTINGS = {"help_option_names": ["-h", "--help"]}
COMMAND_SETTINGS = {"help_option_names": ["--help"]}  # -h prints the brief help
GENERAL = "General"
BRIEF_HELP_OPTIONS = 8  # options listed after -h, which must fit on half a screen
LONG_CHOICES = re.compile(r"\[\S{20,}\]")  # the choices of an option, such as [table|json|csv|latex]
#: common options, by the name of their value, in the order of the help after -h
EVERYDAY = (
    *("gold", "model", "models", "heads", "max_minutes", "tokenizer", "form", "output", "run", "min_confidence"),
    *("baselines", "conventions", "compare", "sentences", "limit", "against", "min_count", "teachers", "resume"),
)
MAX_NUMBER = 10**9  # of numbers in options: larger ones are too large for some libraries
MIN_GROUPED_OPTIONS = 6  # a help text with fewer options has no groups

#: command name -> ("module:function", help line in the group)
CommandTable = Mapping[str, tuple[str, str]]
#: (command line, its effect)
Example = tuple[str, str]


class Option(click.Option):
    """An option that belongs to a titled group of the help text."""

    def __init__(self, *arguments: Any, group: str = GENERAL, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)  # a limit is named by the error, and help texts are long enough
        return extra


def option(*names: str, group: str = GENERAL, **settings: Any) -> Any:
    """Decorator that adds an option to a command, listed under ``group``."""
    return click.option(*names, cls=Option, group=group, **settings)


def stacked(*decorators: Any) -> Any:
    """Decorator that applies ``decorators`` of options, whose help texts are listed in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def number_option(
    *names: str, low: int = 1, high: int = MAX_NUMBER, metavar: str = "N", default: int | None = None, **settings: Any
) -> Any:
    """Decorator that adds an option for a number from ``low`` to ``high``, whose ``default`` is shown in the help."""
    kind, has_default = click.IntRange(low, high), default is not None
    return option(*names, type=kind, metavar=metavar, default=default, show_default=has_default, **settings)


class Command(click.Command):
    """A command whose help lists options by group and ends with examples."""

    def __init__(self, *arguments: Any, examples: Sequence[Example] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(examples)
        self.params.append(_brief_help_option())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError for an unknown option or argument, and if a model, an output or a recipe is named twice."""
        args = self._with_values(args)
        try:
            _, extra, order = self.make_parser(ctx).parse_args(args=list(args))
        except click.NoSuchOption as error:
            names = [name for parameter in self.params for name in parameter.opts if name.startswith("--")]
            nearest_option = get_close_matches(error.option_name, names, 1)
            raise click.NoSuchOption(error.option_name, possibilities=nearest_option, ctx=ctx) from None
        if extra and any("-m" in parameter.opts for parameter in self.params):
            raise click.UsageError(f"unexpected argument {extra[0]!r}; name a model with -m", ctx)
        for name in ("model", "output", "run", "recipe"):
            repeated = [parameter for parameter in order if parameter.name == name and not parameter.multiple]
            options = list(dict.fromkeys(parameter.opts[0] for parameter in repeated))
            if len(options) > 1:
                raise click.UsageError(f"{' and '.join(options)} exclude each other", ctx)
            if len(repeated) > 1:
                hint = "; to use several models, combine them: synparse combine" if "-m" in repeated[0].opts else ""
                raise click.UsageError(f"{repeated[0].opts[0]} was given {len(repeated)} times{hint}", ctx)
        return super().parse_args(ctx, args)

    def _with_values(self, args: list[str]) -> list[str]:
        """``args`` with the default value of each option that is followed by none of its choices, such as --heads."""
        values = {
            name: (option.flag_value, option.type.choices)
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag and isinstance(option.type, click.Choice)
            for name in option.opts
            if isinstance(option.flag_value, str)
        }
        complete = []
        for index, arg in enumerate(args):
            value, choices = values.get(arg, ("", ()))
            is_complete = not value or (index + 1 < len(args) and args[index + 1] in choices)
            complete.append(arg if is_complete else f"{arg}={value}")
        return complete

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, records in option_groups(self, ctx):
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.examples:
            return
        with formatter.section("Examples"):
            for typed, effect in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{typed}\n")
                with formatter.indentation():
                    formatter.write_text(effect)

    def brief_help(self, ctx: click.Context) -> str:
        """Usage, examples and the common options."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        with formatter.section("Examples"):
            for typed, _ in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{typed}\n")
        options = {option.name: option for option in self.params if isinstance(option, click.Option)}
        everyday = [options[name] for name in EVERYDAY if name in options][:BRIEF_HELP_OPTIONS]
        records = [record for option in everyday or options.values() if (record := option.get_help_record(ctx))]
        rows = [(LONG_CHOICES.sub("NAME", names), help) for names, help in records[:BRIEF_HELP_OPTIONS]]
        room = formatter.width - formatter.current_indent - max(len(names) for names, _ in rows) - 4
        with formatter.section("Options"):
            formatter.write_dl([(names, help if len(help) <= room else _first_clause(help)) for names, help in rows])
        return f"{formatter.getvalue()}\nAll options: {ctx.command_path} --help"


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called.

    ``table`` gives the module, the function and the help line of each command.
    ``sections`` lists the commands by title, in the order of the help text. Without it there is one section.
    """

    def __init__(
        self, *arguments: Any, table: CommandTable, sections: Mapping[str, Sequence[str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self.table = table
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, name = self.table[cmd_name][0].partition(":")
        return getattr(import_module(module), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.table:
            named = args[1] if args[1:2] and args[1] in self.table else "COMMAND"
            help = f"type {ctx.command_path} {named} --help" if args[0] == "help" else nearest(args[0], self.table)
            raise click.UsageError(f"no command {args[0]!r}; {help}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = [name for names in (self.sections or {}).values() for name in names]
        rest = [name for name in self.table if name not in listed]
        width = max(map(len, self.table))
        for title, names in {**(self.sections or {}), "Commands": rest}.items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([(f"{name:{width}}", self.table[name][1]) for name in names])


def command(name: str | None = None, *, examples: Sequence[Example] = ()) -> Any:
    """Decorator that makes a function a command with ``examples`` in its help."""
    return click.command(name, cls=Command, context_settings=COMMAND_SETTINGS, examples=examples)


def group(table: CommandTable) -> Any:
    """Decorator that makes a function a group of the commands in ``table``."""
    return click.group(cls=LazyGroup, context_settings=GROUP_SETTINGS, table=table)


def _brief_help_option() -> Option:
    """The option ``-h``, which prints the short help."""

    def show(ctx: click.Context, option: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            assert isinstance(ctx.command, Command)
            click.echo(ctx.command.brief_help(ctx))
            ctx.exit()

    settings: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": show}
    return Option(["-h"], help="Show usage, examples and the common options.", **settings)


def _first_clause(help: str) -> str:
    """The beginning of ``help``, up to its first example, alternative or list."""
    clause = re.split(r" \(|  \[|: |; |, such as |, or ", help)[0]
    return f"{clause.rstrip('.')}."


def option_groups(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Titles of a command's option groups with (spelling, help) of each option. The general group is last.

    ``--help`` is left out, because it was given.
    """
    options = [parameter for parameter in command.get_params(ctx) if isinstance(parameter, click.Option)]
    listed = [option for option in options if "--help" not in option.opts]
    records = [(option, record) for option in listed if (record := option.get_help_record(ctx))]
    if len(records) < MIN_GROUPED_OPTIONS:
        yield "Options", [record for _, record in records]
        return
    titles = dict.fromkeys(getattr(option, "group", GENERAL) for option, _ in records)
    for title in sorted(titles, key=GENERAL.__eq__):
        yield title, [record for option, record in records if getattr(option, "group", GENERAL) == title]


def walk_commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all commands below it, each with the words that call it."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for inner in command.list_commands(context):
            subcommand = command.get_command(context, inner)
            assert subcommand is not None, inner
            yield from walk_commands(subcommand, f"{name} {inner}")


def completing(*locations: str) -> Any:
    """Completion of an option by the names in the tables at ``locations`` ("module:table", or a function of names)."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # click loads it only when a shell completes

        names = []
        for location in locations:
            module, _, attribute = location.partition(":")
            table = getattr(import_module(module), attribute)
            names += list(table() if callable(table) else table)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]

    return complete


def complete_model(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Built-in models that begin with ``incomplete``, or else files and folders."""
    from click.shell_completion import CompletionItem

    from induce.storage.builtin import FILES

    names = [CompletionItem(name) for name in FILES if incomplete and name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]
