"""What the whole test tree shares: one local Ray, and where the real documents lie."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

REAL_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    import ray
    import ray.data

    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=512 << 20,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = None
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def real_data() -> Path:
    if not REAL_DATA.is_dir():
        pytest.skip("the real documents (../shared/data) are not on this machine")
    return REAL_DATA
