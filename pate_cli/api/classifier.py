"""A classifier with scikit-learn's conventions.

>>> import numpy as np
>>> from pate_cli import PateClassifier
>>> rng = np.random.default_rng(0)
>>> y = rng.integers(2, size=4000)
>>> X = rng.normal(size=(4000, 5)) + y[:, None]
>>> model = PateClassifier(eps=1.0, delta=1e-5, random_state=0).fit(X[:3500], y[:3500], X[3500:3600])
>>> bool(model.score(X[3600:], y[3600:]) > 0.8)
True
>>> model.privacy_.eps, model.privacy_.delta, model.privacy_.exact
(1.0, 1e-05, False)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_random_state,
    column_or_1d,
    validate_data,
)

from pate_cli import pipeline
from pate_cli.config import DatasetConfig, RunConfig, compose, parse
from pate_cli.datasets import frames
from pate_cli.datasets.schema import read_schema
from pate_cli.datasets.three_files import GENERATED
from pate_cli.errors import InputError
from pate_cli.matrices import within_bounds
from pate_cli.release import ExactNoise
from pate_cli.students import asked, by_class, make_student
from pate_cli.types import Dataset, IntArray, Part

__all__ = ["PateClassifier", "Privacy"]

_UNUSED = {
    "dataset": "records are given to fit, persons as groups=, and columns by schema=",
    "seed": "it is random_state=",
    "repeats": "fit learns once; cross_val_score measures",
    "compute": "fit works in one process",
}
_UNUSED |= dict.fromkeys(("release", "ledger", "purpose", "name", "tags"), "it is of pate run")
_UNUSED |= dict.fromkeys(("evaluate", "threshold"), "the card of `pate run release=true` has its table")
"""Keys of a run that `fit` would ignore."""


@dataclass(frozen=True)
class Privacy:
    """Privacy loss of the training of a classifier.

    Attributes
    ----------
    eps, delta : float
        The guarantee of one call of `fit`; calls on the same records add up, and no ledger counts them.
    how : str
        How it is proved.
    neighbours : str
        Difference between neighbouring data sets.
    exact : bool
        Whether noise came from exact samplers and the system's entropy, and not from a seed, which is for
        experiments, not for publication.
    """

    eps: float
    delta: float
    how: str
    neighbours: str
    exact: bool


def _has_probabilities(model: PateClassifier) -> bool:
    """Whether the student of a model, fitted or not, predicts probabilities."""
    fitted = getattr(model, "student_", None)
    if fitted is not None and len(getattr(fitted, "classes_", ())) != 1:
        return hasattr(fitted, "predict_proba")
    student = model._config().student
    return hasattr(make_student(student.estimator, student.params, seed=0, n_classes=2), "predict_proba")


class PateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from private records, with the help of public points without labels.

    The model is differentially private: neighbours are two sets of private records of one size in which one
    record (or all records of one group) is replaced by any other. Taken as public: `X_public`, the
    parameters, the number of records, the columns and types of X and y, and the set of labels.

    Parameters
    ----------
    mechanism : str
        As in ``pate run mechanism=NAME``. The default, `best`, has the best accuracy where it may learn from
        the records themselves; ``pate run`` has `gaussian`, votes of teachers of any kind.
    eps : float
        Privacy budget of `fit`, > 0.
    delta : float, optional
        In (0, 1); default 1 / (number of private records, or groups).
    teacher, student : str or scikit-learn classifier
        As in ``teacher=NAME``, an import path, or a classifier (also a pipeline that ends in one), which is
        copied. Not used by mechanisms that learn from the records themselves, as `best`.
    n_teachers : int, optional
        Default: by a rule of public numbers (``teacher.count=auto``).
    settings : mapping of str to value, optional
        Further keys of a run, as ``{"mechanism.cutoff": 5}``.
    public_share : float, optional
        Share in (0, 1) of the records that `fit` may make public where it is given no `X_public`: their
        features are open then.
    schema : path, optional
        YAML file that declares the columns of a DataFrame, as ``dataset.schema`` does. It is public: not made
        of X.
    classes : sequence, optional
        All labels; default: those in y, which then are public, or bought where the schema has
        ``classes: private``.
    random_state : int, RandomState or None
        None: exact noise and fresh entropy of the system, as in a release; needs the extra `release`. Else
        seeded floating-point noise, for experiments.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    privacy_ : Privacy
    eps_ex_post_ : float
        From the answers, so data-dependent: a report, not a guarantee.
    student_ : fitted scikit-learn classifier
        Predicts codes 0 .. C-1.
    n_features_in_ : int

    References
    ----------
    .. [1] N. Papernot et al. Semi-supervised knowledge transfer for deep learning from private training
       data. ICLR 2017.
    .. [2] R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018.
    """

    def __init__(
        self,
        mechanism: str = "best",
        eps: float = 1.0,
        delta: float | None = None,
        *,
        teacher: Any = "logistic",
        student: Any = "kernel",
        n_teachers: int | None = None,
        settings: Mapping[str, Any] | None = None,
        public_share: float | None = None,
        schema: str | Path | None = None,
        classes: Sequence[Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.mechanism = mechanism
        self.eps = eps
        self.delta = delta
        self.teacher = teacher
        self.student = student
        self.n_teachers = n_teachers
        self.settings = settings
        self.public_share = public_share
        self.schema = schema
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_public: Any = None, *, groups: Any = None) -> PateClassifier:
        """Learn.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features of the private records, finite numbers. PRIVATE. Scale and encode by transformers fitted
            on public points: a scaler fitted on X is part of no guarantee. A DataFrame with texts is encoded
            as a table of the command line is: categories, bounds and scales are those of the public points.
        y : array-like of shape (n,)
            Labels. PRIVATE.
        X_public : array-like or sparse matrix of shape (m, d), or str, optional
            Public points, without labels; needed unless `public_share` is given. "ranges" and "marginals"
            make them of the `schema`, as ``dataset.public`` does.
        groups : array-like of shape (n,), optional
            Whose each record is; all records of one are protected together. Needs `best` or a mechanism
            on votes.

        Raises
        ------
        ValueError
            If something cannot be used, or the mechanism cannot work with these numbers; before training.
        """
        generated = isinstance(X_public, str)
        # public points say it where there are some: one record with a text does not
        shown = X_public if hasattr(X_public, "dtypes") else X
        self._is_table = self.schema is not None or frames.has_texts(shown)
        if generated and (X_public not in GENERATED or self.schema is None):
            accepted = f"public points, or {' or '.join(GENERATED)} with a schema"
            raise ValueError(f"X_public: got {X_public!r}; accepted: {accepted}")
        if self._is_table:
            self._checked(X, reset=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        if groups is not None and np.shape(groups) != (len(y),):
            raise ValueError(
                f"groups: got shape {np.shape(groups)}; accepted: ({len(y)},), one for each record"
            )
        exact = self.random_state is None
        seed = None if exact else int(check_random_state(self.random_state).randint(2**31))
        streams = pipeline.Streams.fresh() if seed is None else pipeline.Streams.of(seed, 0)
        with _value_errors():
            declared = None if self.schema is None else read_schema(self.schema)
            bought = generated and self.classes is None and declared is not None and declared.classes_bought
            labels, codes = self._codes(y, bought=bought)
            persons = None if groups is None else frames.persons(groups, warn=not exact)
        if X_public is None:
            X, codes, X_public, persons = self._shared(X, codes, persons, streams.split)
        elif not generated:
            X_public = self._checked(X_public)
        if not generated and hasattr(X_public, "tocsr") != hasattr(X, "tocsr"):  # both sparse, or both dense
            X_public = X_public.toarray() if hasattr(X_public, "tocsr") else type(X)(X_public)
        with _value_errors():
            encoder, public = None, Part(X_public, None)
            if self._is_table:
                encoder = frames.encoder_of(X_public, self.schema)
                X = frames.records(X, encoder, "X")
                public = frames.public_part(X_public, X, encoder, bought=bought)
            names = tuple(map(frames.text_of if bought else str, labels.tolist()))
            dataset = Dataset(
                name="python",
                X=X,
                y=codes,
                classes=() if bought else names,
                labels=names if bought else (),
                checksum="",
                source="Python",
                encoder=encoder,
                public=public,
                persons=persons,
                person_column=None if persons is None else "group",
            )
            ready = pipeline.prepare(self._config(), dataset, exact=exact)
            if exact:
                ExactNoise()  # an error names the package to install, before any record is read
            noise = ExactNoise if exact else None
            published = pipeline.release(ready, streams, noise, lambda loss: None)  # no ledger
        if published.student is None:
            raise ValueError(f"nothing was learnt, and the budget is spent: {published.problem}")
        loss = ready.whole.guarantee
        if bought:  # in the type that these alone have; texts of objects
            chosen = [names.index(name) for name in published.run.dataset.classes]
            labels = frames.labels_alone(labels[chosen].tolist())
        self.classes_ = labels  # not before: of those that are not bought nothing is kept
        self.student_ = published.student
        self._encoder = published.encoder
        self.privacy_ = Privacy(loss.eps, loss.delta, loss.how, ready.protects, exact)
        self.eps_ex_post_ = published.ex_post.eps
        return self

    def predict(self, X: Any) -> Any:
        """Predict the label of each record: X of shape (n, d), labels of shape (n,)."""
        points = self._points(X)
        return self.classes_[np.asarray(asked(self.student_, "predict", points)).astype(np.int64)]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each label, shape (n, C); rows add up to 1."""
        points, C = self._points(X), len(self.classes_)
        if not hasattr(self.student_, "predict_proba"):  # a constant: all labels were the same
            return np.eye(C)[np.asarray(asked(self.student_, "predict", points)).astype(np.int64)]
        return by_class(self.student_, "predict_proba", points, C)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True  # noise may be larger than the signal
        return tags

    def _codes(self, y: Any, *, bought: bool) -> tuple[Any, IntArray]:
        """The labels there are, and the number of each record's; each is judged by itself, where it can."""
        if bought:  # no label is refused, nor does one decide in which type others leave
            texts = np.array(list(map(frames.text_of, y.tolist())))
            names, firsts, codes = np.unique(texts, return_index=True, return_inverse=True)
            return names if y.dtype.kind == "O" else y[firsts], codes.astype(np.int64)
        if self.classes is None:
            check_classification_targets(y)
            names, codes = _distinct("y", y)
            frames.refuse_alike(names, codes)
        else:
            listed = list(self.classes) if isinstance(self.classes, Iterable) else [self.classes]
            names = _distinct("classes", np.asarray(listed))[0]
            if len(names) < 2:
                raise ValueError(f"classes: got {self.classes!r}; accepted: at least 2 labels")
            at = {name: code for code, name in enumerate(names.tolist())}
            codes = np.array([at.get(y, -1) if isinstance(y, Hashable) else -1 for y in y.tolist()])
            if (codes < 0).any():
                raise ValueError("y: a label that is not among `classes`")
        if len(names) < 2:
            raise ValueError(f"y: one class, {names.tolist()[0]!r}; accepted: labels of at least 2 classes")
        return names, codes.astype(np.int64)

    def _shared(
        self, X: Any, codes: IntArray, persons: IntArray | None, rng: np.random.Generator
    ) -> tuple[Any, IntArray, Any, IntArray | None]:
        """Take public points from the private records: all of a group, or single records."""
        share = self.public_share
        if share is None:
            raise ValueError(
                "X_public: missing; or public_share=0.02, which makes the features of that share of X public"
            )
        if not (isinstance(share, float | np.floating) and 0 < share < 1):
            raise ValueError(f"public_share: got {share!r}; accepted: a number in (0, 1)")
        owner = np.arange(len(codes)) if persons is None else persons
        n = int(owner.max()) + 1
        chosen = rng.permutation(n)[: math.ceil(share * n)]
        theirs = np.isin(owner, chosen)
        rows = X.iloc if hasattr(X, "iloc") else X
        left = None if persons is None else np.unique(persons[~theirs], return_inverse=True)[1]
        if theirs.all():
            raise ValueError(f"X: {len(codes)} sample(s) are too few to share with public_share={share}")
        return rows[~theirs], codes[~theirs], rows[theirs], left

    def _config(self) -> RunConfig:
        """Configuration of the run that these parameters describe."""
        learners = {"teacher": self.teacher, "student": self.student}
        overrides = ["dataset=npz", "dataset.path=none", f"mechanism={self.mechanism}"]
        for key, value in learners.items():
            if isinstance(value, str):
                overrides.append(f"{key}.estimator={value}" if "." in value else f"{key}={value}")
        raw = compose(overrides)
        unused = _UNUSED | dict.fromkeys(("eps", "delta", "mechanism.name"), "it is a parameter by itself")
        for key, value in learners.items():
            if not isinstance(value, str):
                unused |= dict.fromkeys((f"{key}.estimator", f"{key}.params"), f"given as {key}=, an object")
        if self.settings is not None and not (
            isinstance(self.settings, Mapping) and all(isinstance(key, str) for key in self.settings)
        ):
            raise InputError(f"settings: got {self.settings!r}; accepted: as {{'teacher.size': 200}}")
        for key in self.settings or {}:
            if why := next((why for of, why in unused.items() if f"{key}.".startswith(f"{of}.")), ""):
                raise InputError(f"settings: {key}: not here; {why}")
        settings = {"eps": self.eps, "delta": self.delta, "teacher.count": self.n_teachers}
        for key, value in (settings | dict(self.settings or {})).items():
            *above, last = key.split(".")
            try:
                reduce(getitem, above, raw)[last] = value
            except (KeyError, TypeError):
                raise InputError(f"settings: {key}: no such key") from None
        config = parse(raw)
        params = {
            key: replace(getattr(config, key), estimator=value, params={})
            for key, value in learners.items()
            if not isinstance(value, str)
        }
        return replace(config, dataset=DatasetConfig("python", {}), release=True, **params)

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """Check features: a DataFrame with texts for its columns, anything else for numbers."""
        if self._is_table:
            if hasattr(X, "iloc") and not len(X):
                raise ValueError("X: 0 records; accepted: 1 or more")
            return validate_data(self, X, skip_check_array=True, reset=reset)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)

    def _points(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._checked(X)
        with _value_errors():
            return within_bounds(frames.new_records(X, self._encoder) if self._is_table else X)


def _distinct(name: str, labels: Any) -> tuple[Any, Any]:
    """Different labels in their order, and the number of each; ValueError where they have none."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(f"{name}: labels of type {', '.join(kinds)}; accepted: of one type") from None


@contextmanager
def _value_errors() -> Iterator[None]:
    """Raise user errors as scikit-learn does."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from None
