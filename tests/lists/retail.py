"""Synthetic customers and sales of TPC-DS, the same each time; whoever buys returns, and only what was bought.

Everything happens three times over, with numbers of their own: how many there are of what there is one of would be noise.
"""

import datetime as dt
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from tests.lists.retail_dimensions import ADDRESSES, FIRST, ITEMS, STORES, day_number, dimensions
from tests.support.records import Cell, Row

CUSTOMERS = 300
_LAST_SALE = (dt.date(2003, 6, 30) - FIRST).days
_MONTHS = (1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 12, 12)
_LIKED = {
    ("M", "Advanced Degree"),
    ("M", "4 yr Degree"),
    ("S", "College"),
    ("W", "2 yr Degree"),
    ("W", "Advanced Degree"),
    ("M", "Unknown"),
    ("D", "2 yr Degree"),
}
"""What the statements ask of those who buy: every other buyer is so."""
_BACK = (dt.date(1998, 11, 15), dt.date(2000, 6, 30), dt.date(2000, 9, 27), dt.date(2000, 11, 17))
"""Days on which more comes back than on others."""
_WAYS = {"ss": 700, "cs": 420, "ws": 350}
"""How many tickets and orders there are of each way to buy, three times."""
_TWINS = (0, 100_000, 200_000)
"""What the numbers of the three differ by."""


@dataclass(frozen=True, slots=True)
class _Buyer:
    number: int
    person: int
    household: int
    address: int


@dataclass(frozen=True, slots=True)
class _Line:
    """What is known of every line of a sale, however it was bought."""

    buyer: _Buyer
    day: dt.date
    item: int
    order: int
    amounts: Mapping[str, Decimal | int]


def retail(seed: int = 22) -> Mapping[str, Sequence[Row]]:
    """Return the rows of all tables."""
    draw = random.Random(seed)  # noqa: S311  (synthetic records)
    public = dimensions(draw)
    people, homes = len(public["customer_demographics"]), len(public["household_demographics"])
    liked = [
        n
        for n, row in enumerate(public["customer_demographics"], 1)
        if (row["cd_marital_status"], row["cd_education_status"]) in _LIKED
    ]
    able = [n for n, row in enumerate(public["household_demographics"], 1) if row["hd_buy_potential"] == "Unknown"]
    buyers = [
        _Buyer(
            n,
            draw.choice((draw.choice(liked), draw.randint(1, people))),
            draw.choice((draw.choice(able), draw.randint(1, homes))),
            draw.randint(1, ADDRESSES),
        )
        for n in range(1, CUSTOMERS + 1)
    ]
    lines = {
        way: [line for n in range(1, tickets + 1) for line in _ticket(n, buyers, draw)]
        for way, tickets in _WAYS.items()
    }
    _again(lines, draw)
    back = {way: [line for line in bought if draw.random() < 0.25] for way, bought in lines.items()}
    sold, returned = _thrice(lines), _thrice(back)
    return {
        **public,
        "customer": [_customer(buyer, draw) for buyer in buyers],
        "store_sales": [_store(line) for line in sold["ss"]],
        "catalog_sales": [_catalog(line, buyers) for line in sold["cs"]],
        "web_sales": [_web(line, buyers) for line in sold["ws"]],
        "store_returns": [_store_return(line) for line in returned["ss"]],
        "catalog_returns": [_catalog_return(line) for line in returned["cs"]],
        "web_returns": [_web_return(line) for line in returned["ws"]],
    }


def _thrice(lines: Mapping[str, Sequence[_Line]]) -> Mapping[str, Sequence[_Line]]:
    return {
        way: [replace(line, order=line.order + more) for line in several for more in _TWINS]
        for way, several in lines.items()
    }


def _drawn(what: str, line: _Line, *, whole: bool = False) -> random.Random:
    """Return what draws the rest of a line, or of the ticket that it belongs to: for its twins the same."""
    return random.Random(f"{what} {line.order % _TWINS[1]} {0 if whole else line.item}")  # noqa: S311  (synthetic records)


def _ticket(number: int, buyers: Sequence[_Buyer], draw: random.Random) -> Iterator[_Line]:
    """Yield the lines of one ticket: a few buy much, most little."""
    buyer = buyers[min(CUSTOMERS - 1, int(draw.random() ** 1.3 * CUSTOMERS))]
    day = dt.date(draw.choice((1998, 1999, 2000, 2000, 2001, 2001, 2002)), draw.choice(_MONTHS), draw.randint(1, 28))
    for item in draw.sample(range(1, ITEMS + 1), draw.choice((1, 2, 3, 5))):
        yield _Line(buyer, day, item, number, _amounts(draw))


def _again(lines: Mapping[str, list[_Line]], draw: random.Random) -> None:
    """Let some buy by catalog, or in the web, what they bought in a store some months before."""
    for number, line in enumerate(draw.sample(lines["ss"], 350)):
        later = min(line.day + dt.timedelta(draw.randint(1, 200)), FIRST + dt.timedelta(_LAST_SALE))
        way = ("cs", "ws")[number % 2]
        lines[way].append(_Line(line.buyer, later, line.item, 10_000 + number, _amounts(draw)))


def _amounts(draw: random.Random) -> Mapping[str, Decimal | int]:
    quantity, cost = draw.choice((draw.randint(1, 100), draw.randint(70, 100))), Decimal(draw.randint(100, 9_900)) / 100
    listed = (cost * draw.randint(100, 200) / 100).quantize(Decimal("0.01"))
    price = (listed * draw.randint(30, 100) / 100).quantize(Decimal("0.01"))
    coupon = (price * quantity * draw.choice((0, 0, 0, 10, 40)) / 100).quantize(Decimal("0.01"))
    paid = price * quantity - coupon
    tax = (paid * draw.randint(0, 9) / 100).quantize(Decimal("0.01"))
    return {
        "quantity": quantity,
        "wholesale_cost": cost,
        "list_price": listed,
        "sales_price": price,
        "ext_discount_amt": (listed - price) * quantity,
        "ext_sales_price": price * quantity,
        "ext_wholesale_cost": cost * quantity,
        "ext_list_price": listed * quantity,
        "ext_tax": tax,
        "coupon_amt": coupon,
        "ext_ship_cost": (listed * quantity * draw.randint(0, 50) / 100).quantize(Decimal("0.01")),
        "net_paid": paid,
        "net_paid_inc_tax": paid + tax,
        "net_profit": paid - cost * quantity,
    }


def _spelled(way: str, line: _Line, names: str) -> Row:
    return {f"{way}_{name}": line.amounts[name] for name in names.split()}


_SOLD = (
    "quantity wholesale_cost list_price sales_price ext_discount_amt ext_sales_price ext_wholesale_cost ext_list_price "
    "coupon_amt net_paid net_profit"
)


def _customer(buyer: _Buyer, draw: random.Random) -> Row:
    since = draw.randint(0, 700)
    return {
        "c_customer_sk": buyer.number,
        "c_customer_id": f"AAAAAAAA{buyer.number:08d}",
        "c_current_cdemo_sk": buyer.person,
        "c_current_hdemo_sk": buyer.household,
        "c_current_addr_sk": buyer.address,
        "c_first_shipto_date_sk": day_number(FIRST + dt.timedelta(since + 30)),
        "c_first_sales_date_sk": day_number(FIRST + dt.timedelta(since)),
        "c_last_review_date_sk": day_number(FIRST + dt.timedelta(since + 900)),
        "c_salutation": draw.choice(("Dr.", "Miss", "Mr.", "Mrs.", "Ms.", "Sir")),
        "c_first_name": draw.choice(("Ada", "Bo", "Cy", "Di")),
        "c_last_name": draw.choice(("Ames", "Bell", "Cole", "Dunn")),
        "c_preferred_cust_flag": draw.choice("NY"),
        "c_birth_day": draw.randint(1, 28),
        "c_birth_month": draw.choice((1, 2, 6, 8, 9, 12)),
        "c_birth_year": draw.randint(1924, 1992),
        "c_birth_country": draw.choice(("CHAD", "FIJI", "PERU", "UNITED STATES")),
        "c_login": "",
        "c_email_address": f"{buyer.number}@example.org",
    }


def _second(draw: random.Random) -> int:
    quarters: tuple[int, ...] = (*range(24, 96), *range(32, 50), *range(80, 84))
    return 900 * draw.choice(quarters)


def _store(line: _Line) -> Row:
    """Return a line of a ticket: one was made out in one shop, at one time, to one household, of one address."""
    ticket = _drawn("ticket", line, whole=True)
    return {
        "ss_sold_date_sk": day_number(line.day),
        "ss_sold_time_sk": _second(ticket),
        "ss_item_sk": line.item,
        "ss_customer_sk": line.buyer.number,
        "ss_cdemo_sk": line.buyer.person,
        "ss_hdemo_sk": line.buyer.household,
        "ss_addr_sk": ticket.choice((None, *[line.buyer.address, ticket.randint(1, ADDRESSES)] * 9)),
        "ss_store_sk": ticket.choice((None, *range(1, STORES + 1), *range(1, STORES + 1))),
        "ss_promo_sk": 1 + line.item % 12,
        "ss_ticket_number": line.order,
        "ss_ext_tax": line.amounts["ext_tax"],
        **_spelled("ss", line, _SOLD),
    }


def _sent_to(line: _Line, buyers: Sequence[_Buyer], draw: random.Random) -> tuple[_Buyer, dt.date]:
    other = line.buyer if draw.random() < 0.8 else draw.choice(buyers)
    return other, line.day + dt.timedelta(draw.randint(2, 120))


def _catalog(line: _Line, buyers: Sequence[_Buyer]) -> Row:
    draw = _drawn("catalog", line)
    other, sent = _sent_to(line, buyers, draw)
    return {
        "cs_sold_date_sk": day_number(line.day),
        "cs_sold_time_sk": _second(draw),
        "cs_ship_date_sk": day_number(sent),
        "cs_bill_customer_sk": line.buyer.number,
        "cs_bill_cdemo_sk": line.buyer.person,
        "cs_bill_hdemo_sk": line.buyer.household,
        "cs_bill_addr_sk": line.buyer.address,
        "cs_ship_customer_sk": other.number,
        "cs_ship_addr_sk": draw.choice((other.address,) * 9 + (None,)),
        "cs_call_center_sk": draw.randint(1, 3),
        "cs_catalog_page_sk": draw.randint(1, 20),
        "cs_ship_mode_sk": draw.randint(1, 10),
        "cs_warehouse_sk": draw.randint(1, 3),
        "cs_item_sk": line.item,
        "cs_promo_sk": 1 + line.item % 12,
        "cs_order_number": line.order,
        **_spelled("cs", line, f"{_SOLD} ext_ship_cost net_paid_inc_tax"),
    }


def _web(line: _Line, buyers: Sequence[_Buyer]) -> Row:
    draw = _drawn("web", line)
    other, sent = _sent_to(line, buyers, draw)
    ship: Cell = draw.choice((other.number,) * 9 + (None,))
    return {
        "ws_sold_date_sk": day_number(line.day),
        "ws_sold_time_sk": _second(draw),
        "ws_ship_date_sk": day_number(sent),
        "ws_item_sk": line.item,
        "ws_bill_customer_sk": line.buyer.number,
        "ws_bill_addr_sk": line.buyer.address,
        "ws_ship_customer_sk": ship,
        "ws_ship_hdemo_sk": other.household,
        "ws_ship_addr_sk": other.address,
        "ws_web_page_sk": draw.randint(1, 8),
        "ws_web_site_sk": draw.randint(1, 4),
        "ws_ship_mode_sk": draw.randint(1, 10),
        "ws_warehouse_sk": draw.randint(1, 3),
        "ws_promo_sk": 1 + line.item % 12,
        "ws_order_number": line.order,
        **_spelled("ws", line, f"{_SOLD} ext_ship_cost"),
    }


def _back(line: _Line, draw: random.Random) -> tuple[int, int, Decimal, Decimal]:
    """Return when a part of a line comes back, how much, for how much, and what is lost by it."""
    days = [line.day + dt.timedelta(draw.randint(3, 150)), *(day for day in _BACK if 0 < (day - line.day).days < 200)]
    day = day_number(draw.choice(days))
    quantity = draw.randint(1, int(line.amounts["quantity"]))
    amount = Decimal(line.amounts["sales_price"]) * quantity
    return day, quantity, amount, (amount * draw.randint(5, 90) / 100).quantize(Decimal("0.01"))


def _store_return(line: _Line) -> Row:
    draw = _drawn("store return", line)
    day, quantity, amount, lost = _back(line, draw)
    return {
        "sr_returned_date_sk": day,
        "sr_item_sk": line.item,
        "sr_customer_sk": line.buyer.number,
        "sr_cdemo_sk": line.buyer.person,
        "sr_store_sk": draw.randint(1, STORES),
        "sr_reason_sk": draw.choice((28, *range(1, 36))),
        "sr_ticket_number": line.order,
        "sr_return_quantity": quantity,
        "sr_return_amt": amount,
        "sr_net_loss": lost,
    }


def _catalog_return(line: _Line) -> Row:
    draw = _drawn("catalog return", line)
    day, quantity, amount, lost = _back(line, draw)
    return {
        "cr_returned_date_sk": day,
        "cr_item_sk": line.item,
        "cr_returning_customer_sk": line.buyer.number,
        "cr_returning_addr_sk": line.buyer.address,
        "cr_call_center_sk": draw.randint(1, 3),
        "cr_catalog_page_sk": draw.randint(1, 20),
        "cr_order_number": line.order,
        "cr_return_quantity": quantity,
        "cr_return_amount": amount,
        "cr_return_amt_inc_tax": (amount * 108 / 100).quantize(Decimal("0.01")),
        "cr_refunded_cash": (amount / 2).quantize(Decimal("0.01")),
        "cr_reversed_charge": (amount / 4).quantize(Decimal("0.01")),
        "cr_store_credit": (amount / 4).quantize(Decimal("0.01")),
        "cr_net_loss": lost,
    }


def _web_return(line: _Line) -> Row:
    draw = _drawn("web return", line)
    day, quantity, amount, lost = _back(line, draw)
    return {
        "wr_returned_date_sk": day,
        "wr_item_sk": line.item,
        "wr_refunded_cdemo_sk": line.buyer.person,
        "wr_refunded_addr_sk": line.buyer.address,
        "wr_returning_customer_sk": line.buyer.number,
        "wr_returning_cdemo_sk": line.buyer.person,
        "wr_returning_addr_sk": line.buyer.address,
        "wr_web_page_sk": draw.randint(1, 8),
        "wr_reason_sk": draw.randint(1, 35),
        "wr_order_number": line.order,
        "wr_return_quantity": quantity,
        "wr_return_amt": amount,
        "wr_fee": Decimal(draw.randint(50, 9_999)) / 100,
        "wr_refunded_cash": (amount / 2).quantize(Decimal("0.01")),
        "wr_net_loss": lost,
    }
