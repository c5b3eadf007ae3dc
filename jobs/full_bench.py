"""The whole benchmark, from documents to the page, as one Ray job.

    ray job submit --working-dir . -- python jobs/full_bench.py --config configs/demo.yaml

Run directly, the same file starts Ray on this machine. Stages are selected as with `teleembed run`.
"""

import sys

from teleembed_ray.cli import main

main(["run", *sys.argv[1:]])
