"""The records that all systems are asked about keep to what all systems are told of them."""

import numpy as np

from benchmarks.peers.declared import declared
from benchmarks.peers.records import make


def test_records_keep_to_their_declarations() -> None:
    """Within bounds and domains: nobody is favoured by how it treats the rest."""
    for name, columns in make(2000).items():
        for column, values in columns.items():
            said = declared(2000)[name]["columns"].get(column, {})
            if "values" in said:
                assert set(values.tolist()) <= set(said["values"]), (name, column)
            elif said.get("type") == "timestamp":
                low, high = (np.datetime64(bound) for bound in said["bounds"])
                assert ((values >= low) & (values < high)).all()
            elif "bounds" in said:
                assert ((values >= said["bounds"][0]) & (values <= said["bounds"][1])).all(), (name, column)


def test_records_are_the_same_every_time() -> None:
    """From a seed."""
    for first, second in zip(make(500).values(), make(500).values(), strict=True):
        assert all((first[column] == second[column]).all() for column in first)


def test_no_passenger_of_the_checked_records_has_more_rows_than_count() -> None:
    """So that an answer without noise is the exact answer."""
    assert np.unique(make(1000)["taxi"]["passenger_id"], return_counts=True)[1].max() <= 20
