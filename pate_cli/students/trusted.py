"""List of trusted types, checked against the schema of a skops file before anything it names is imported.

skops restores an object by importing its module and calling its class, with arguments from the file. In a
package as large as scikit-learn or numpy that is enough to run a command or to overwrite a file. So the
types that `pate` writes are listed, each with the one loader that may restore it; all others need `--trust`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["WRITTEN", "Refused", "foreign_types"]

# of pate: students by name, models of mechanisms, and their parts
_OURS = (
    "datasets.encoding.DeclaredNumbers",
    "learners.hypotheses.points.PointClassifier",
    "learners.hypotheses.stumps.StumpClassifier",
    "learners.hypotheses.thresholds.ThresholdClassifier",
    "learners.constant.ConstantClassifier",
    "learners.dense.DenseInput",
    "learners.libsvm.LibsvmClassifier",
    "learners.sgd.SgdLogistic",
    "mechanisms.direct.public_features.OwnColumns",
    "mechanisms.direct.public_columns.PublicBins",
    "mechanisms.direct.public_columns.PublicColumns",
    "mechanisms.direct.public_features.PublicFeatures",
    "mechanisms.direct.public_features.PublicKernelClassifier",
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
_BUILTINS = ("bool", "float", "int", "str")


def _names(package: str, names: Sequence[str]) -> frozenset[str]:
    return frozenset(f"{package}.{name}" for name in names)


WRITTEN: dict[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "LossNode": _names("sklearn._loss._loss", ("CyHalfBinomialLoss",))
    | _names("sklearn.linear_model._sgd_fast", ("Hinge", "ModifiedHuber", "SquaredHinge")),
    "NdArrayNode": _names("numpy", ("ndarray", *_SCALARS)),
    "ObjectNode": _names("pate_cli", _OURS) | _names("sklearn", _SKLEARN),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "SparseMatrixNode": frozenset({"scipy.sparse._csr.csr_matrix"}),
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": _names("builtins", _BUILTINS) | _names("numpy", _SCALARS),
}
"""Types that `pate` writes, by the loader of skops that restores them."""

_SCHEMA = "schema.json"
_MOST_BYTES = 2**31
_NODE = ("__class__", "__module__", "__loader__")


class Refused(ValueError):
    """The file is not one that `pate` writes."""


def foreign_types(data: bytes, trust: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Qualified names of the types in a skops file: trusted ones, and others; nothing is imported or made.

    Names in `trust` are accepted besides `WRITTEN`, with any loader. Both lists are sorted, and hold classes,
    functions, and methods as `module.Class.method`. Raises `Refused` if the file is not an archive as skops
    writes it for `pate`: stored members, none twice, none that unpacks to more than there is, a schema of
    whole nodes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_members(archive.infolist(), len(data))
            schema = json.loads(archive.read(_SCHEMA))
            accepted: set[str] = set()
            foreign: set[str] = set()
            owner: dict[str, object] = {}
            first: dict[object, dict[str, Any]] = {}
            ambiguous: set[object] = set()
            parts: list[dict[str, Any]] = []
            for node in _nodes(schema):
                if first.setdefault(node.get("__id__"), node) != node:
                    ambiguous.add(node.get("__id__"))
                for loader, name in _named(node):
                    trusted = name in WRITTEN.get(loader, ()) or name in trust
                    (accepted if trusted else foreign).add(name)
                if "file" in node:
                    _check_file(archive, node, owner)
                if node["__loader__"] == "TreeNode":
                    parts += _check_nodes(archive, node)
            # skops restores the first node of an id: it has to be the one that was checked
            if not ambiguous.isdisjoint(part.get("__id__") for part in parts):
                raise Refused("a part of a decision tree that stands for two things")
    except Refused:
        raise
    except Exception as error:
        # A foreign file may fail anywhere in the reading of archive and schema.
        raise Refused(str(error) or type(error).__name__) from error
    return sorted(accepted), sorted(foreign)


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse an archive that unpacks to more than it is."""
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise Refused("a member occurs twice")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise Refused("a compressed member")  # its stated size may be a lie
    if sum(member.file_size for member in members) > size:
        raise Refused("members that overlap")


def _check_file(archive: zipfile.ZipFile, node: dict[str, Any], owner: dict[str, object]) -> None:
    """Refuse a member read for more than one object, and a sparse matrix that unpacks to too much."""
    name = node["file"]
    if not isinstance(name, str) or owner.setdefault(name, node.get("__id__")) != node.get("__id__"):
        raise Refused("a member that belongs to two objects")
    if node["__loader__"] == "SparseMatrixNode":  # numpy's .npz, which is compressed
        with zipfile.ZipFile(io.BytesIO(archive.read(name))) as inner:
            if sum(member.file_size for member in inner.infolist()) > _MOST_BYTES:
                raise Refused(f"a matrix of more than {_MOST_BYTES} bytes")


def _check_nodes(archive: zipfile.ZipFile, node: dict[str, Any]) -> list[dict[str, Any]]:
    """Refuse a forged decision tree before it is made, when it would be too late; return its parts."""
    import numpy as np

    from pate_cli.students.checked import check_tree

    def value(part: dict[str, Any]) -> Any:
        if part["__loader__"] == "JsonNode":
            return json.loads(part["content"])
        return np.load(io.BytesIO(archive.read(part["file"])), allow_pickle=False)

    made, state = node["__reduce__"]["args"], node["content"]
    if (made["__loader__"], state["__loader__"]) != ("TupleNode", "DictNode"):
        raise Refused("a decision tree of other parts")
    n_features, n_classes, n_outputs = map(value, made["content"])
    fields = {name: value(part) for name, part in state["content"].items()}
    check_tree(n_features, n_classes, n_outputs, fields)
    return [made, state, *made["content"], *state["content"].values()]


def _nodes(schema: object) -> Iterator[dict[str, Any]]:
    """Walk over every node of the schema: more than skops would read, never less."""
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            if any(key in item for key in _NODE):
                if not all(isinstance(item.get(key), str) for key in _NODE):
                    raise Refused("a node without a name")
                yield item
            waiting += item.values()


def _named(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names in a node, each with its loader: of its type, and of a bound method or a function."""
    loader, module, name = node["__loader__"], node["__module__"], node["__class__"]
    if "." in name or not module:  # "a" and "b.C" would be read as "a.b" and "C"
        raise Refused(f"no type {module}.{name}")
    yield loader, f"{module}.{name}"
    if loader == "MethodNode":
        content = node.get("content")
        yield loader, f"{module}.{name}.{content.get('func') if isinstance(content, dict) else None}"
    if loader == "FunctionNode" and "content" in node:  # as skops wrote a function before protocol 1
        content = node["content"]
        if not isinstance(content, dict):
            raise Refused("a function without a name")
        yield loader, f"{content.get('module_path')}.{content.get('function')}"
