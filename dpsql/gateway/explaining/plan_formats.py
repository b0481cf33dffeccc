"""The plan of a private statement in the formats of EXPLAIN for programs, laid out as PostgreSQL lays out its own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from dpsql.gateway.explaining.plan_values import PlanValues

_INDENT = "  "


def as_json(plan: PlanValues) -> str:
    """Return `[{"Plan": {…}}]`."""
    return json.dumps([{"Plan": plan}], ensure_ascii=False, indent=2)


def as_yaml(plan: PlanValues) -> str:
    """Return `- Plan:` and what is in it, texts in double quotes."""
    return "\n".join(["- Plan: ", *_yaml(plan, 2)])


def as_xml(plan: PlanValues) -> str:
    """Return `<explain><Query><Plan>…`; what is in a list is an `Item`, and blanks in names are hyphens."""
    lines = ['<explain xmlns="http://www.postgresql.org/2009/explain">', f"{_INDENT}<Query>", *_xml("Plan", plan, 2)]
    return "\n".join([*lines, f"{_INDENT}</Query>", "</explain>"])


def _yaml(values: Mapping[str, object], depth: int) -> Iterator[str]:
    for name, value in values.items():
        match value:
            case Mapping():
                yield f"{_INDENT * depth}{name}: "
                yield from _yaml(value, depth + 1)
            case list() | tuple() if value:
                yield f"{_INDENT * depth}{name}: "
                yield from _yaml_items(value, depth + 1)
            case _:
                yield f"{_INDENT * depth}{name}: {json.dumps(value, ensure_ascii=False)}"


def _yaml_items(items: Sequence[object], depth: int) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping):
            first, *others = _yaml(item, depth + 1)
            yield f"{_INDENT * depth}- {first.lstrip()}"
            yield from others
        else:
            yield f"{_INDENT * depth}- {json.dumps(item, ensure_ascii=False)}"


def _xml(name: str, value: object, depth: int) -> Iterator[str]:
    tag, indent = name.replace(" ", "-"), _INDENT * depth
    match value:
        case Mapping():
            inside = [line for key, item in value.items() for line in _xml(key, item, depth + 1)]
        case list() | tuple():
            inside = [line for item in value for line in _xml("Item", item, depth + 1)]
        case _:
            text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
            yield f"{indent}<{tag}>{escape(text, quote=False)}</{tag}>"
            return
    yield from (f"{indent}<{tag}>", *inside, f"{indent}</{tag}>")
