"""Every statistic by its name; one without a line here does not type-check."""

from functools import cache
from typing import assert_never

from dpsql.privacy.features.counts import RowCount, Sum
from dpsql.privacy.features.lines import Determination, Intercept, Slope
from dpsql.privacy.features.means import Mean
from dpsql.privacy.features.pairs import Correlation, Covariance
from dpsql.privacy.features.readout import FIRST, SECOND
from dpsql.privacy.features.regression import SumOfProducts, SumOfSquares
from dpsql.privacy.features.spreads import Variance
from dpsql.privacy.features.statistic import Statistic
from dpsql.rewrite.syntax.named.aggregate_names import StatisticName


@cache
def statistic(name: StatisticName) -> Statistic:
    """Return the record of a statistic."""
    match name:
        case "count" | "regr_count":
            return RowCount()
        case "sum":
            return Sum()
        case "avg" | "regr_avgy":
            return Mean(FIRST)
        case "var_pop":
            return Variance(sample=False)
        case "var_samp":
            return Variance(sample=True)
        case "stddev_pop":
            return Variance(sample=False, root=True)
        case "stddev_samp":
            return Variance(sample=True, root=True)
        case "covar_pop":
            return Covariance(sample=False)
        case "covar_samp":
            return Covariance(sample=True)
        case "corr":
            return Correlation()
        case "regr_avgx":
            return Mean(SECOND)
        case "regr_sxx":
            return SumOfSquares(SECOND)
        case "regr_syy":
            return SumOfSquares(FIRST)
        case "regr_sxy":
            return SumOfProducts()
        case "regr_slope":
            return Slope()
        case "regr_intercept":
            return Intercept()
        case "regr_r2":
            return Determination()
        case _:
            assert_never(name)
