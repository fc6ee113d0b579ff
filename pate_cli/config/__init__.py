"""The schema of `conf/`, composition by Hydra, and every check of a value."""

from pate_cli.config.hydra_composition import Composer, compose
from pate_cli.config.run_config import (
    ComputeConfig,
    DatasetConfig,
    MechanismConfig,
    RunConfig,
    SplitConfig,
    StudentConfig,
    TeacherConfig,
    parse,
)

__all__ = ["ComputeConfig", "DatasetConfig", "MechanismConfig", "RunConfig", "SplitConfig", "StudentConfig"]
__all__ += ["Composer", "TeacherConfig", "compose", "parse"]
