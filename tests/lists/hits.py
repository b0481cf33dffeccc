"""Synthetic visits of web pages, the same each time: what ClickBench's statements look for is among them."""

import datetime as dt
import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.records import Row

VISITORS, MOST = 400, 100
"""How many visitors there are, and how many hits one has at most."""
_START = dt.datetime(2013, 7, 1)  # noqa: DTZ001  (timestamps without time zone)
_PHRASES = ("", "", "", "weather", "cheap flights", "news", "cats", "how to cook rice", "google maps")
_SITES = ("www.google.com", "news.example.org", "shop.example.com", "google.example.net")
_TITLES = ("", "Google search", "The news of today", "A shop", "Google and others")
_MODELS = ("", "", "iPad", "iPhone", "N95")
_REFERER_HASH, _URL_HASH = 3594120000172545465, 2868770270353813622
"""Those that the benchmark asks for."""


@dataclass(frozen=True, slots=True)
class _Visitor:
    """What all hits of one visitor share."""

    number: int
    region: int
    address: int
    width: int
    phone: int
    model: str


def hits(seed: int = 1) -> list[Row]:
    """Return the hits of all visitors: a few have many, most have few."""
    draw = random.Random(seed)  # noqa: S311  (synthetic records)
    visitors = [_visitor(draw) for _ in range(VISITORS)]
    rows = [row for visitor in visitors for row in _of(visitor, draw)]
    draw.shuffle(rows)
    return [{"watchid": 10**15 + n, **row} for n, row in enumerate(rows)]


def _visitor(draw: random.Random) -> _Visitor:
    model = draw.choice(_MODELS)
    return _Visitor(
        number=draw.getrandbits(60),
        region=draw.choice((1, 2, 3, 225, 229)),
        address=draw.randrange(30),
        width=draw.choice((0, 1024, 1366, 1920)),
        phone=draw.choice((1, 7, 70)) if model else 0,
        model=model,
    )


def _of(visitor: _Visitor, draw: random.Random) -> Iterator[Row]:
    for _ in range(min(MOST, 1 + int(draw.paretovariate(0.9) * 4))):
        site, page = draw.choice(_SITES), draw.choice((1, 1, 1, 2, 2, 3))
        phrase = draw.choice(_PHRASES)
        time = _START + dt.timedelta(seconds=draw.randrange(31 * 86_400))
        yield {
            "userid": visitor.number,
            "counterid": draw.choice((62, 62, 62, 1704509, 38)),
            "regionid": visitor.region,
            "clientip": visitor.address,
            "eventtime": time,
            "eventdate": time.date(),
            "url": f"http://{site}/page/{page}",
            "title": draw.choice(_TITLES),
            "referer": draw.choice(("", f"http://{site}/", f"https://www.example.com/{page}")),
            "searchphrase": phrase,
            "searchengineid": draw.choice((2, 3)) if phrase else 0,
            "advengineid": draw.choice((0, 0, 0, 2, 27)),
            "traficsourceid": draw.choice((-1, 0, 2, 6)),
            "mobilephone": visitor.phone,
            "mobilephonemodel": visitor.model,
            "resolutionwidth": visitor.width,
            "windowclientwidth": visitor.width,
            "windowclientheight": visitor.width // 2,
            "isrefresh": int(draw.random() < 0.1),
            "islink": int(draw.random() < 0.4),
            "isdownload": int(draw.random() < 0.05),
            "dontcounthits": int(draw.random() < 0.1),
            "urlhash": draw.choice((_URL_HASH, 1, 2)),
            "refererhash": draw.choice((_REFERER_HASH, 1)),
        }
