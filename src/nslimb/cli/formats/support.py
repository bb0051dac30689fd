"""Label vectors that occur, as rows of a CSV file."""

from __future__ import annotations

from pathlib import Path

from nslimb.data.columns import readable_csv
from nslimb.errors import DataError
from nslimb.sigma.component import Sigma

PROBABILITY = "probability"


def read_support_file(path: Path, sigma: Sigma) -> dict[tuple[int, ...], float] | list[tuple[int, ...]]:
    """A row for each label vector, its labels by class name or number; perhaps a column ``probability``.

    The first line names the columns. Without probabilities all rows are equally likely.
    """
    index = {name: label for label, name in enumerate(sigma.class_names)}
    index |= {str(label): label for label in range(sigma.num_classes) if str(label) not in index}
    with readable_csv(path) as lines:
        rows = [[text.strip() for text in row] for row in lines if row]
    header = rows[0] if rows else []
    places = [place for place, name in enumerate(header) if name != PROBABILITY]
    if len(places) != sigma.arity or len(rows) < 2:
        expected = f"{sigma.arity} columns of labels (and perhaps one called {PROBABILITY}), and at least one row"
        raise DataError(f"{path}: expected a first line that names {expected}; got {', '.join(header) or 'nothing'}")
    vectors, weights = [], []
    for number, row in enumerate(rows[1:], start=1):
        try:
            vectors.append(tuple(index[row[place]] for place in places))
            weights.append(float(row[header.index(PROBABILITY)]) if PROBABILITY in header else 1.0)
        except (KeyError, IndexError, ValueError) as error:
            raise DataError(f"{path}: row {number} is no label vector of {sigma!r}: {row}") from error
    if PROBABILITY not in header:
        return vectors
    if len(set(vectors)) < len(vectors):
        raise DataError(f"{path}: expected each label vector once, where probabilities are given")
    return dict(zip(vectors, weights, strict=True))
