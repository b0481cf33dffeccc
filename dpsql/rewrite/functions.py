"""The table of functions that may stand over private rows: what is not in it is refused."""

from collections.abc import Mapping

from dpsql.rewrite.function import Function
from dpsql.rewrite.ops_logic import LOGIC
from dpsql.rewrite.ops_number import NUMBERS
from dpsql.rewrite.ops_span import SPANS
from dpsql.rewrite.ops_time import TIMES

TABLE: Mapping[str, Function] = {function.op: function for function in (*LOGIC, *NUMBERS, *TIMES, *SPANS)}
