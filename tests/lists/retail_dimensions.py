"""Made-up dimensions of TPC-DS, the same each time, with what its statements look for among them."""

import datetime as dt
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product

from tests.support.records import Row

FIRST, LAST = dt.date(1998, 1, 1), dt.date(2003, 12, 31)
ITEMS, ADDRESSES, STORES = 150, 1_200, 8
_JULIAN, _CENTURY = 2_450_815, dt.date(1900, 1, 1)
"""The number of the first day, and the day from which weeks are counted."""
_MEALS = {
    **dict.fromkeys(range(6, 10), "breakfast"),
    **dict.fromkeys(range(11, 14), "lunch"),
    **dict.fromkeys(range(17, 21), "dinner"),
}
_CLASSES = {
    "Books": ("computers", "reference", "self-help"),
    "Children": ("infants", "school-uniforms"),
    "Electronics": ("personal", "portable", "stereo"),
    "Home": ("accessories", "bedding"),
    "Jewelry": ("birdal", "estate"),
    "Men": ("accessories", "pants", "shirts"),
    "Music": ("classical", "pop"),
    "Shoes": ("mens", "kids"),
    "Sports": ("football", "tennis"),
    "Women": ("dresses", "fragrances", "maternity"),
}
_BRANDS = (
    "amalgimporto #1", "edu packscholar #1", "exportiimporto #1", "exportiunivamalg #9", "importoamalg #1",
    "scholaramalgamalg #14", "scholaramalgamalg #7", "scholaramalgamalg #9", "corpbrand #5",
)  # fmt: skip
_COLORS = (
    "blanched brown burlywood burnished cornflower cyan deep floral forest frosted ghost honeydew indian khaki light medium "
    "midnight orange papaya peach powder purple slate snow spring pale"
).split()
_UNITS = "Box Bunch Bundle Cup Dozen Dram Each Gross Lb N/A Ounce Oz Pallet Pound Tbl Ton".split()
_SIZES = ("N/A", "extra large", "medium", "petite", "small")
_MAKERS = (128, 129, 270, 350, 423, 677, 694, 738, 750, 778, 808, 821, 940, 977)
_STATES = "AR CA CO CT GA IA IL IN KY LA MN MS ND NJ NM OH OK OR TN TX VA WA WI".split()
_COUNTIES = (
    "Dona Ana County",
    "Jefferson County",
    "La Porte County",
    "Rush County",
    "Toole County",
    "Williamson County",
)
_ZIPS = ("24128", "76232", "65084", "85669", "86197", "88274", "83405", "86475", "35709", "31904")
_EDUCATION = ("Primary", "Secondary", "College", "2 yr Degree", "4 yr Degree", "Advanced Degree", "Unknown")
_POTENTIAL = (">10000", "0-500", "1001-5000", "501-1000", "5001-10000", "Unknown")


def day_number(day: dt.date) -> int:
    """Return the key of a day."""
    return _JULIAN + (day - FIRST).days


def _days() -> Iterator[Row]:
    for n in range((LAST - FIRST).days + 1):
        day = FIRST + dt.timedelta(n)
        quarter = (day.month + 2) // 3
        yield {
            "d_date_sk": day_number(day),
            "d_date": day,
            "d_month_seq": (day.year - 1900) * 12 + day.month - 1,
            "d_week_seq": (day - _CENTURY).days // 7 + 1,
            "d_year": day.year,
            "d_dow": day.isoweekday() % 7,
            "d_moy": day.month,
            "d_dom": day.day,
            "d_qoy": quarter,
            "d_day_name": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()[day.weekday()],
            "d_quarter_name": f"{day.year}Q{quarter}",
        }


def _times() -> Iterator[Row]:
    for second in range(0, 86_400, 900):
        hour, minute = second // 3600, second // 60 % 60
        meal = _MEALS.get(hour)
        yield {"t_time_sk": second, "t_time": second, "t_hour": hour, "t_minute": minute, "t_meal_time": meal}


def _items(draw: random.Random) -> Iterator[Row]:
    for n in range(1, ITEMS + 1):
        category = draw.choice(sorted(_CLASSES))
        class_ = draw.choice(_CLASSES[category])
        maker, brand = draw.choice(_MAKERS), draw.randrange(len(_BRANDS))
        price = Decimal(draw.choice((99, 120, 149, 5250, 6200, 6450, 6580, 6820, 7150, 7750, 8850))) / 100
        yield {
            "i_item_sk": n,
            "i_item_id": f"AAAAAAAA{n - n % 2:08d}",
            "i_item_desc": draw.choice(("Good things", "Old words", "Small wishes", "Long days")) + f" {n % 40}",
            "i_current_price": price,
            "i_wholesale_cost": (price * 7 / 10).quantize(Decimal("0.01")),
            "i_brand_id": 1_001_001 + brand,
            "i_brand": _BRANDS[brand],
            "i_class_id": 1 + _CLASSES[category].index(class_),
            "i_class": class_,
            "i_category_id": 1 + sorted(_CLASSES).index(category),
            "i_category": category,
            "i_manufact_id": maker,
            "i_manufact": f"maker{maker % 7}",
            "i_size": draw.choice(_SIZES),
            "i_color": draw.choice(_COLORS),
            "i_units": draw.choice(_UNITS),
            "i_manager_id": draw.choice((1, 1, 8, 8, 28, 28, 50)),
            "i_product_name": f"product {n}",
        }


def _addresses(draw: random.Random) -> Iterator[Row]:
    for n in range(1, ADDRESSES + 1):
        state = draw.choice((*_STATES, *("IN", "KY", "OH", "TN", "TN", "TX") * 8))
        yield {
            "ca_address_sk": n,
            "ca_street_number": str(n * 7 % 1000),
            "ca_street_name": draw.choice(("Oak", "Elm Street", "Lake", "Hill")),
            "ca_street_type": draw.choice(("Ave", "Blvd", "Ct.")),
            "ca_suite_number": f"Suite {n % 30}",
            "ca_city": draw.choice(("Edgewood", "Fairview", "Midway", "Oakland")),
            "ca_county": "Williamson County" if state == "TN" else draw.choice(_COUNTIES),
            "ca_state": state,
            "ca_zip": draw.choice(_ZIPS),
            "ca_country": "United States",
            "ca_gmt_offset": Decimal(draw.choice((-5, -7))),
            "ca_location_type": draw.choice(("apartment", "condo", "single family")),
        }


def _stores(draw: random.Random) -> Iterator[Row]:
    for n in range(1, STORES + 1):
        yield {
            "s_store_sk": n,
            "s_store_id": f"AAAAAAAA{n - n % 2:08d}",
            "s_store_name": ("ese", "able", "ought", "bar")[n % 4],
            "s_number_employees": draw.randrange(190, 300),
            "s_market_id": draw.choice((8, 8, 2)),
            "s_company_id": 1,
            "s_company_name": "Unknown",
            "s_street_number": str(100 + n),
            "s_street_name": "Spring",
            "s_street_type": "Wy",
            "s_suite_number": f"Suite {n}",
            "s_city": ("Fairview", "Midway")[n % 2],
            "s_county": ("Williamson County", "Franklin Parish", "Bronx County", "Orange County")[n // 2 % 4],
            "s_state": "TN",
            "s_zip": _ZIPS[n % len(_ZIPS)],
            "s_gmt_offset": Decimal(-5),
        }


def _people() -> Iterator[Row]:
    kinds = product("FM", "DMSUW", _EDUCATION, range(20))
    for n, (gender, married, education, more) in enumerate(kinds, 1):
        yield {
            "cd_demo_sk": n,
            "cd_gender": gender,
            "cd_marital_status": married,
            "cd_education_status": education,
            "cd_purchase_estimate": 500 * (1 + more),
            "cd_credit_rating": ("Good", "High Risk", "Low Risk", "Unknown")[n % 4],
            "cd_dep_count": n % 5,
            "cd_dep_employed_count": n % 3,
            "cd_dep_college_count": n % 2,
        }


def _households() -> Iterator[Row]:
    kinds = product(_POTENTIAL, range(10), range(-1, 5), range(1, 21))
    for n, (potential, dependents, vehicles, band) in enumerate(kinds, 1):
        yield {
            "hd_demo_sk": n,
            "hd_income_band_sk": band,
            "hd_buy_potential": potential,
            "hd_dep_count": dependents,
            "hd_vehicle_count": vehicles,
        }


def _stock(draw: random.Random) -> Iterator[Row]:
    weeks = range(0, 730, 7)
    for week, item, house in product(weeks, range(1, 41), (1, 2)):
        quantity = draw.choice((0, 20, 150, 300, 450, 900))
        day = day_number(dt.date(2000, 1, 3) + dt.timedelta(week))
        yield {"inv_date_sk": day, "inv_item_sk": item, "inv_warehouse_sk": house, "inv_quantity_on_hand": quantity}


def dimensions(draw: random.Random) -> Mapping[str, Sequence[Row]]:
    """Return the rows of all public tables."""
    place = {"w_city": "Fairview", "w_county": "Williamson County", "w_state": "TN", "w_country": "United States"}
    return {
        "date_dim": [*_days()],
        "time_dim": [*_times()],
        "item": [*_items(draw)],
        "customer_address": [*_addresses(draw)],
        "store": [*_stores(draw)],
        "customer_demographics": [*_people()],
        "household_demographics": [*_households()],
        "income_band": [
            {"ib_income_band_sk": n, "ib_lower_bound": 10_000 * (n - 1) + (n > 1), "ib_upper_bound": 10_000 * n}
            for n in range(1, 21)
        ],
        "inventory": [*_stock(draw)],
        "call_center": [
            {
                "cc_call_center_sk": n,
                "cc_call_center_id": f"AAAAAAAA{n:08d}",
                "cc_name": ("NY Metro", "Mid Atlantic", "North Midwest")[n % 3],
                "cc_manager": f"Manager {n}",
                "cc_county": "Williamson County",
            }
            for n in range(1, 4)
        ],
        "catalog_page": [{"cp_catalog_page_sk": n, "cp_catalog_page_id": f"AAAAAAAA{n:08d}"} for n in range(1, 21)],
        "promotion": [
            {
                "p_promo_sk": n,
                "p_channel_dmail": "YN"[n % 2],
                "p_channel_email": "NNY"[n % 3],
                "p_channel_tv": "NNNY"[n % 4],
                "p_channel_event": "N",
            }
            for n in range(1, 13)
        ],
        "reason": [{"r_reason_sk": n, "r_reason_desc": f"reason {n}"} for n in range(1, 36)],
        "ship_mode": [
            {
                "sm_ship_mode_sk": n,
                "sm_type": ("EXPRESS", "NEXT DAY", "OVERNIGHT", "REGULAR", "TWO DAY")[n % 5],
                "sm_carrier": ("BARIAN", "DHL", "UPS")[n % 3],
            }
            for n in range(1, 11)
        ],
        "warehouse": [
            {
                "w_warehouse_sk": n,
                "w_warehouse_name": f"House of number {n:04d}",
                "w_warehouse_sq_ft": 1000 * n,
                **place,
            }
            for n in range(1, 4)
        ],
        "web_page": [{"wp_web_page_sk": n, "wp_char_count": 4900 + 60 * n} for n in range(1, 9)],
        "web_site": [
            {
                "web_site_sk": n,
                "web_site_id": f"AAAAAAAA{n:08d}",
                "web_name": f"site_{n // 2}",
                "web_company_name": ("pri", "able")[n % 2],
            }
            for n in range(1, 5)
        ],
    }
