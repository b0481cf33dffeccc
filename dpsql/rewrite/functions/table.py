"""The table of functions that may stand over private rows: what is not in it is refused."""

from collections.abc import Mapping

from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.intervals import SPANS
from dpsql.rewrite.functions.logical import LOGIC
from dpsql.rewrite.functions.numeric import NUMBERS
from dpsql.rewrite.functions.temporal import TIMES

TABLE: Mapping[str, Function] = {function.op: function for function in (*LOGIC, *NUMBERS, *TIMES, *SPANS)}
