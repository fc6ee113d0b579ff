"""List of trusted types, checked against a skops file before anything it names is imported.

skops restores an object by importing its module and calling its class. It refuses types that it does not
trust; but it trusts all of scikit-learn, some of whose classes follow the indices of a fitted model into
memory unchecked. So the types that `pate` writes are listed, and `checked` knows which of them do so; all
others need `--trust`, and what skops itself does not trust by then it refuses.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

__all__ = ["WRITTEN", "foreign_types"]

# of pate: students by name, models of mechanisms, and their parts
_OURS = (
    "datasets.encoding.DeclaredNumbers",
    "datasets.encoding.Levels",
    "features.classifiers.FeatureClassifier",
    "features.classifiers.MappedClassifier",
    "features.columns.PublicBins",
    "features.columns.PublicColumns",
    "features.kernel.GridFeatures",
    "features.kernel.KernelFeatures",
    "features.kernel.OwnColumns",
    "learners.hypotheses.points.PointClassifier",
    "learners.hypotheses.rectangles.RectangleClassifier",
    "learners.hypotheses.stumps.StumpClassifier",
    "learners.hypotheses.thresholds.ThresholdClassifier",
    "learners.constant.ConstantClassifier",
    "learners.dense.DenseInput",
    "learners.libsvm.LibsvmClassifier",
    "learners.sgd.SgdLogistic",
    "students.calibrated.CalibratedStudent",
    "students.kernel.KernelStudent",
    "students.voting.Voting",
)
# of sklearn: parts of ours, the encoder of tables, and common classifiers for `student.estimator`
_SKLEARN = (
    "compose._column_transformer.ColumnTransformer",
    "discriminant_analysis.LinearDiscriminantAnalysis",
    "discriminant_analysis.QuadraticDiscriminantAnalysis",
    "ensemble._bagging.BaggingClassifier",
    "ensemble._forest.ExtraTreesClassifier",
    "ensemble._forest.RandomForestClassifier",
    "ensemble._weight_boosting.AdaBoostClassifier",
    "linear_model._logistic.LogisticRegression",
    "linear_model._perceptron.Perceptron",
    "linear_model._ridge.RidgeClassifier",
    "linear_model._stochastic_gradient.SGDClassifier",
    "metrics._dist_metrics.EuclideanDistance64",
    "naive_bayes.BernoulliNB",
    "naive_bayes.GaussianNB",
    "neighbors._ball_tree.BallTree",
    "neighbors._classification.KNeighborsClassifier",
    "neighbors._kd_tree.KDTree",
    "neighbors._nearest_centroid.NearestCentroid",
    "neighbors._unsupervised.NearestNeighbors",
    "neural_network._multilayer_perceptron.MLPClassifier",
    "neural_network._stochastic_optimizers.AdamOptimizer",
    "neural_network._stochastic_optimizers.SGDOptimizer",
    "preprocessing._data.StandardScaler",
    "preprocessing._encoders.OneHotEncoder",
    "preprocessing._label.LabelBinarizer",
    "svm._classes.LinearSVC",
    "svm._classes.SVC",
    "tree._classes.DecisionTreeClassifier",
    "tree._classes.ExtraTreeClassifier",
)
_SCALARS = ("bool", "bool_", "float32", "float64", "int32", "int64", "str_")


def _names(package: str, names: Sequence[str]) -> frozenset[str]:
    return frozenset(f"{package}.{name}" for name in names)


# each type by the one loader of skops that may restore it: some call the class with arguments from the file
_BY_LOADER = {
    "DictNode": _names("builtins", ("dict",)),
    "JsonNode": _names("builtins", ("str",)),
    "ListNode": _names("builtins", ("list",)),
    "LossNode": _names("sklearn._loss._loss", ("CyHalfBinomialLoss",))
    | _names("sklearn.linear_model._sgd_fast", ("Hinge", "ModifiedHuber", "SquaredHinge")),
    "NdArrayNode": _names("numpy", ("ndarray", *_SCALARS)),
    "ObjectNode": _names("pate_cli", _OURS) | _names("sklearn", _SKLEARN),
    "RandomStateNode": _names("numpy.random.mtrand", ("RandomState",)),
    "SliceNode": _names("builtins", ("slice",)),
    "SparseMatrixNode": _names("scipy.sparse._csr", ("csr_matrix",)),
    "TreeNode": _names("sklearn.tree._tree", ("Tree",)),
    "TupleNode": _names("builtins", ("tuple",)),
    "TypeNode": _names("builtins", ("bool", "float", "int", "str")) | _names("numpy", _SCALARS),
}
WRITTEN = frozenset[str]().union(*_BY_LOADER.values())
"""Qualified names of the types that `pate` writes."""

_SCHEMA = "schema.json"
_MOST_BYTES = 2**31
_MOST_SCHEMA = 2**26
"""Its objects take some twenty times as much."""


def foreign_types(data: bytes, trust: Sequence[str] = ()) -> list[str]:
    """Qualified names in a skops file that are neither of `WRITTEN`, by their usual loader, nor in `trust`.

    Sorted; nothing is imported or made. ValueError, or an error of the readers, if the file is not an archive
    as skops writes it for `pate`.
    """
    foreign: set[str] = set()
    owners: dict[str, Any] = {}

    def note(node: dict[str, Any]) -> dict[str, Any]:
        """Note the type and the member of the archive that an object of the schema names, if any."""
        if node.keys() & {"__class__", "__module__", "__loader__"}:
            name = f"{node.get('__module__')}.{node['__class__']}"
            written = name in _BY_LOADER.get(str(node.get("__loader__")), ())
            foreign.update(() if written or name in trust else (name,))
        id, file = node.get("__id__"), node.get("file")
        if isinstance(file, str) and owners.setdefault(file, id) != id:
            raise ValueError("a member that belongs to two objects")
        return node

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_sizes(archive, len(data))
        json.loads(archive.read(_SCHEMA), object_hook=note)
    return sorted(foreign)


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that holds more than its size, or whose members together unpack to too much."""
    members = archive.infolist()
    if len(set(archive.namelist())) < len(members):
        raise ValueError("a member occurs twice")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("a compressed member")  # its stated size may be a lie
    if sum(member.file_size for member in members) > size:
        raise ValueError("members that overlap")
    if archive.getinfo(_SCHEMA).file_size > _MOST_SCHEMA:
        raise ValueError(f"a schema of more than {_MOST_SCHEMA:,} bytes")
    unpacked = 0
    for member in members:
        content = io.BytesIO(archive.read(member))
        unpacked += member.file_size
        if zipfile.is_zipfile(content):  # numpy's .npz, which is compressed
            with zipfile.ZipFile(content) as inner:
                unpacked += sum(info.file_size for info in inner.infolist())
        if unpacked > _MOST_BYTES:
            raise ValueError(f"members that unpack to more than {_MOST_BYTES:,} bytes")
