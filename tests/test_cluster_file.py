"""cluster.yaml passes what `ray up` checks first, and offers what the stages ask for."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture
def cluster() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    return loaded


def test_the_file_matches_rays_own_schema(cluster: dict[str, Any]) -> None:
    import jsonschema
    import ray.autoscaler

    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    jsonschema.validate(cluster, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**cluster, "max_wrokers": 1}, schema)


def test_ray_accepts_the_prepared_configuration(cluster: dict[str, Any]) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(copy.deepcopy(cluster)))


def test_some_node_type_offers_gpus_and_another_only_cpus(cluster: dict[str, Any]) -> None:
    offered = [node["resources"] for node in cluster["available_node_types"].values()]
    assert any(node.get("GPU", 0) > 0 for node in offered)
    assert any(node.get("CPU", 0) > 0 and "GPU" not in node for node in offered)
