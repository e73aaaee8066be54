"""What a query reads, as a funnel: all files, those that each rule leaves, and what reading the rest takes."""

from __future__ import annotations

from kubothek.display.drawing import bar, lane, lanes, paragraph, section, strip, table
from kubothek.display.words import UNKNOWN, count_text, files_text, names_text, size_text
from kubothek.model.condition import EVERYTHING
from kubothek.model.display import plural
from kubothek.model.markup import Markup, element
from kubothek.plan.explanation import RULES, Explanation, SourceExplanation

_LEAST = 0.006
_HEADINGS = ("dataset", "part", "files", "read", "size", "rows at most", "requests", "dropped", "joined on")
_PARTS = {"seed": "seed", "inner": "inner join", "left": "left join", "unread": "not read", "scan": "scan"}


def funnel_section(query: Explanation) -> Markup:
    """Draw the plan of a query."""
    asked = query.condition != EVERYTHING
    question = element("code", f"where {query.condition}") if asked else "everything; --where shows another query"
    return section(
        "query",
        "Query",
        paragraph("What is read when the cube is asked for ", question, ".", class_="lead"),
        lanes(*_steps(query)),
        _facts(query),
        table("By dataset", _HEADINGS, ([*_cells(source)] for source in query.sources), (2, 3, 4, 5, 6)),
    )


def _steps(query: Explanation) -> list[Markup]:
    """Return a centred bar for what is left after each rule that drops something."""
    read = [source for source in query.sources if source.role != "unread"]
    total = sum(source.total for source in query.sources)
    unread = total - sum(source.total for source in read)
    dropped = {rule: sum(source.dropped.get(rule, 0) for source in read) for rule in RULES}
    left, steps = total, [_step("all files", files_text(total), total, total, "funnel-all")]
    losses = [("not asked for", unread, "datasets that the answer does not depend on"), *_losses(dropped)]
    for name, lost, meaning in losses:
        if lost:
            left -= lost
            steps.append(_step(name, f"{left:,} left, {lost:,} dropped", left, total, "funnel-rule", meaning))
    size = "" if query.bytes is None else f", {size_text(query.bytes)}"
    return [*steps, _step("read", f"{files_text(query.files)}{size}", query.files, total, "funnel-read")]


def _losses(dropped: dict[str, int]) -> list[tuple[str, int, str]]:
    """Return what each rule drops, with its name and the way in which it knows."""
    words = {rule: text.partition(": ") for rule, text in RULES.items()}
    return [(words[rule][0], count, words[rule][2]) for rule, count in dropped.items()]


def _step(name: str, note: str, files: int, total: int, class_: str, meaning: str | None = None) -> Markup:
    share = files / total if total else 0.0
    width = max(share, _LEAST) if files else 0.0
    title = f"{name}: {note}" if meaning is None else f"{name}: {note}. {meaning}"
    drawn = [bar(0, 1, 0, 1, "track"), bar((1 - width) / 2, width, 0, 1, class_, title)] if width else []
    return lane(name, note, strip(title, drawn, "funnel"))


def _facts(query: Explanation) -> Markup:
    rows = [source.rows for source in query.sources if source.role in ("seed", "scan")]
    facts = [
        ("requests to expect", count_text(query.requests)),
        ("bytes", size_text(query.bytes)),
        ("rows at most", count_text(rows[0]) if rows else UNKNOWN),
        ("units read one by one", f"{query.units:,}"),
    ]
    if query.tasks is not None:
        facts.append(("on Spark", plural(query.tasks, "task")))
    tiles = (element("div", element("dt", name), element("dd", value)) for name, value in facts)
    return element("dl", *tiles, class_="tiles")


def _cells(source: SourceExplanation) -> tuple[str, ...]:
    dropped = ", ".join(
        f"{count:,} {RULES.get(rule, rule).partition(':')[0]}" for rule, count in source.dropped.items() if count
    )
    unread = source.role == "unread"
    return (
        source.name,
        _PARTS[source.role],
        f"{source.total:,}",
        f"{source.files:,}",
        "-" if unread else size_text(source.bytes),
        "-" if unread else count_text(source.rows),
        "-" if unread else count_text(source.requests),
        dropped or "-",
        names_text(source.joined_on),
    )
