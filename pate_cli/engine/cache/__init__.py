"""What the teachers of a repeat leave, kept for the next run that would train the same ones.

ENTRIES ARE PRIVATE. A `KeptVotes` holds the exact votes of the teachers, which were computed from
private records without any noise. It stays in memory for the jobs of one command; with
`cache=true` it is also written to a directory that only its owner can enter. No release
(`release=true`) reads or writes one, and nothing that is handed on may be made from one except
through a mechanism.

An entry is found by its content key: a digest of the records, the split, the learner and the
versions of this package and its libraries; and used only where the code that was loaded when it was
made is the same still (`loaded_code`). Mechanism and eps are not part of it. Importing this package
is cheap.
"""

from pate_cli.engine.cache.loaded import LoadedCode, edited, has_source, loaded_code
from pate_cli.engine.cache.memory import Memory
from pate_cli.engine.cache.place import Place, find_place, size_limit
from pate_cli.engine.cache.store import Store
from pate_cli.engine.cache.versions import code_version, library_versions
from pate_cli.teachers.kept import KeptVotes

__all__ = [
    "KeptVotes",
    "LoadedCode",
    "Memory",
    "Place",
    "Store",
    "code_version",
    "edited",
    "find_place",
    "has_source",
    "library_versions",
    "loaded_code",
    "size_limit",
]
