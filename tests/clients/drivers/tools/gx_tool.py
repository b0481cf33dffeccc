"""Great Expectations: a table asset, expectations of tables and of columns, each by itself, and a query asset."""

# mypy: ignore-errors

import great_expectations as gx
from told import tried, url

expect = gx.expectations
context = gx.get_context(mode="ephemeral")
source = context.data_sources.add_postgres("taxi", connection_string=url())


def batch(asset: object) -> object:
    return asset.add_batch_definition_whole_table("all").get_batch()


validated: dict[str, object] = {}


def made(name: str, make: object) -> None:
    def work() -> object:
        validated[name] = make()
        return sorted(map(str, validated[name].columns()))

    tried("batches", name, work)


BY = "SELECT payment_type, count(*) AS n, avg(fare) AS fare FROM trips GROUP BY payment_type"
made("table", lambda: batch(source.add_table_asset("trips", table_name="trips", schema_name="public")))
made("query", lambda: batch(source.add_query_asset("paid", query=BY)))

ZONES = [1, 2, 3, 4, 5]
COLUMNS = [
    "trip_id", "driver_id", "passenger_id", "pickup_ts", "pickup_zone", "payment_type", "passenger_count", "trip_distance",
    "fare", "tip", "total",
]  # fmt: skip
EXPECTED = {
    "table": [
        expect.ExpectTableRowCountToBeBetween(min_value=2990, max_value=3010),
        expect.ExpectTableRowCountToEqual(value=3000),
        expect.ExpectTableColumnCountToEqual(value=11),
        expect.ExpectTableColumnsToMatchOrderedList(column_list=COLUMNS),
        expect.ExpectTableColumnsToMatchSet(column_set=COLUMNS),
        expect.ExpectColumnToExist(column="fare"),
        expect.ExpectColumnValuesToBeOfType(column="fare", type_="DOUBLE_PRECISION"),
        expect.ExpectColumnValuesToNotBeNull(column="fare"),
        expect.ExpectColumnValuesToNotBeNull(column="payment_type"),
        expect.ExpectColumnValuesToBeNull(column="payment_type", mostly=0.3),
        expect.ExpectColumnValuesToBeBetween(column="fare", min_value=0, max_value=150),
        expect.ExpectColumnValuesToBeBetween(column="fare", min_value=0, max_value=20),
        expect.ExpectColumnValuesToBeInSet(column="payment_type", value_set=["cash", "credit card"]),
        expect.ExpectColumnValuesToNotBeInSet(column="payment_type", value_set=["barter"]),
        expect.ExpectColumnDistinctValuesToBeInSet(column="pickup_zone", value_set=ZONES),
        expect.ExpectColumnDistinctValuesToEqualSet(column="pickup_zone", value_set=ZONES),
        expect.ExpectColumnDistinctValuesToContainSet(column="payment_type", value_set=["cash"]),
        expect.ExpectColumnUniqueValueCountToBeBetween(column="pickup_zone", min_value=5, max_value=5),
        expect.ExpectColumnMeanToBeBetween(column="fare", min_value=20, max_value=30),
        expect.ExpectColumnMinToBeBetween(column="fare", min_value=0, max_value=10),
        expect.ExpectColumnMaxToBeBetween(column="fare", min_value=45, max_value=60),
        expect.ExpectColumnSumToBeBetween(column="tip", min_value=8_000, max_value=10_000),
        expect.ExpectColumnStdevToBeBetween(column="fare", min_value=10, max_value=20),
        expect.ExpectColumnMedianToBeBetween(column="fare", min_value=20, max_value=35),
        expect.ExpectColumnValuesToBeUnique(column="trip_id"),
        expect.ExpectColumnValuesToBeUnique(column="payment_type"),
        expect.ExpectColumnPairValuesAToBeGreaterThanB(column_A="total", column_B="fare", or_equal=True),
        expect.ExpectColumnValueLengthsToBeBetween(column="payment_type", min_value=4, max_value=11),
        expect.ExpectColumnValuesToMatchRegex(column="payment_type", regex="^c"),
        expect.UnexpectedRowsExpectation(unexpected_rows_query="SELECT * FROM {batch} WHERE fare > 140"),
    ],
    "query": [
        expect.ExpectTableRowCountToEqual(value=3),
        expect.ExpectColumnValuesToBeUnique(column="payment_type"),
        expect.ExpectColumnValuesToBeBetween(column="n", min_value=900, max_value=1100),
    ],
}


def checked(where: str, expectation: object) -> object:
    result = validated[where].validate(expectation, result_format="BOOLEAN_ONLY")
    raised = [
        exception["exception_message"]
        for exception in _exceptions(result.exception_info)
        if exception.get("raised_exception")
    ]
    if raised:
        raise RuntimeError(raised[0])
    return result.success


def _exceptions(told: dict) -> list:
    return (
        [told]
        if "raised_exception" in told
        else [exception for exception in told.values() if isinstance(exception, dict)]
    )


for where, expectations in EXPECTED.items():
    for at, expectation in enumerate(expectations):
        kwargs = {
            key: value
            for key, value in expectation.configuration.kwargs.items()
            if key in ("column", "value", "column_A")
        }
        name = f"{expectation.expectation_type}({', '.join(map(str, kwargs.values()))}) {at}"
        tried(f"expectations of a {where}", name, lambda w=where, e=expectation: checked(w, e))


def _suite() -> object:
    suite = context.suites.add(gx.ExpectationSuite(name="all"))
    for expectation in EXPECTED["table"][:10]:
        suite.add_expectation(expectation)
    result = validated["table"].validate(suite, result_format="BOOLEAN_ONLY")
    return sum(each.success for each in result.results)


tried("suite", "ten at once", _suite)
