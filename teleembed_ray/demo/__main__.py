"""`python -m teleembed_ray.demo FOLDER`: write the demo corpora."""

import argparse
import sys
from pathlib import Path

from teleembed_ray.demo.corpus import write_corpus
from teleembed_ray.errors import ConfigError


def main(arguments: list[str] | None = None) -> int:
    """Write the corpora and return the exit code: 2 where the folder cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m teleembed_ray.demo", description="Write the demo corpora.")
    parser.add_argument("folder", type=Path, help="a new or empty folder, or one that this command wrote")
    parser.add_argument("--documents", type=int, default=4, help="documents in each of the three corpora (default 4)")
    parser.add_argument("--seed", type=int, default=7, help="another seed, other documents (default 7)")
    options = parser.parse_args(arguments)
    if options.documents < 1:
        parser.error(f"--documents: {options.documents} must be at least 1")
    try:
        write_corpus(options.folder, options.documents, options.seed)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
