"""One tag, branch or commit of a git repository -> a folder with its files, without the history.

    URL at release_23_11  ->  <folder>/srsRAN_4G-release_23_11/

The tree is checked out beside its place and moved there by one rename. Nothing of the repository runs: no hooks, no
submodules unless asked for, no helper programs, no questions on the terminal. `.git` is removed: the manifest holds the
commit and a digest, and a token that the URL carries is not left on the disk.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.fetch import manifest as manifests
from teleembed_ray.fetch.manifest import TreeRecord
from teleembed_ray.progress import Progress

TIMEOUT_S = 3600.0
LOOK_TIMEOUT_S = 120.0
SCHEMES = ("https", "http", "ssh", "git", "file")
COMMIT_CHARS = 10

_SCP_STYLE = re.compile(r"[\w.-]+@[\w.-]+:[^:].*")
_BAD_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SETTINGS = (
    "protocol.ext.allow=never",
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "advice.detachedHead=false",
    # A transfer that crawls is given up by git itself.
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
)


@dataclass(frozen=True)
class Target:
    """What a name means at the server: a tag, a branch or a commit, and the commit it stands for."""

    kind: str
    commit: str
    refspec: str


@dataclass(frozen=True)
class Fetched:
    """The outcome: where the tree lies, what it is, and whether it was there already."""

    path: str
    record: TreeRecord
    was_there: bool


def checked_url(url: str) -> str:
    """Return the URL that git is given; raises ConfigError for one that could be an option or a command."""
    if url.startswith("-") or "::" in url or not url.isprintable() or not url.strip():
        raise ConfigError(f"{url!r}: is no repository address: give one such as https://host/owner/name.git")
    if "://" in url:
        scheme = url.partition("://")[0].lower()
        if scheme not in SCHEMES:
            raise ConfigError(f"{url}: {scheme}:// is not taken: use one of {', '.join(SCHEMES)}")
        return url
    if Path(url).is_dir():
        return str(Path(url).absolute())
    if _SCP_STYLE.fullmatch(url):
        return url
    raise ConfigError(f"{url}: is neither a repository address nor a folder here")


def checked_ref(ref: str) -> str:
    """Return a tag, branch or commit name; raises ConfigError for what git could not have as a name."""
    if not ref or ref.startswith(("-", "/", ".")) or ref.endswith(("/", ".", ".lock")) or _BAD_IN_REF.search(ref):
        raise ConfigError(f"--ref {ref!r}: is no name of a tag, branch or commit")
    return ref


def public_url(url: str) -> str:
    """Return a URL without the user and password that it may carry, fit for a manifest."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def repository_name(url: str) -> str:
    """Return the last piece of a URL as a folder name."""
    last = re.split(r"[/:]", public_url(url).rstrip("/"))[-1].removesuffix(".git")
    return _UNSAFE.sub("-", last).lstrip(".-") or "repository"


class Git:
    """The git executable, kept from asking, from running anything, and from waiting for ever."""

    def __init__(self, url: str, timeout_s: float) -> None:
        executable = shutil.which("git")
        if executable is None:
            raise ConfigError("git: is not installed here: install it (apt install git), or unpack the code by hand")
        self._executable = executable
        self._url = url
        self._timeout_s = timeout_s

    @staticmethod
    def _environment(protocols: str) -> Mapping[str, str]:
        defaults = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
        # A repository that we happen to stand in must not take part.
        inherited = {
            key: value for key, value in os.environ.items() if key not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
        }
        fixed = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_ALLOW_PROTOCOL": protocols,
            "LC_ALL": "C",
        }
        return {**defaults, **inherited, **fixed}

    def __call__(self, *arguments: str, cwd: Path | None = None, protocols: str = ":".join(SCHEMES)) -> str:
        """Run git and return what it prints; raises ArtifactError with its own last words."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        try:
            done = subprocess.run(  # noqa: S603 (arguments are a list, and those from outside are checked)
                [self._executable, *settings, *arguments],
                cwd=cwd,
                env=self._environment(protocols),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self._timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ArtifactError(
                f"{public_url(self._url)}: git took more than {self._timeout_s:.0f} s: run the command again later"
            ) from None
        if done.returncode != 0:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            words = next(
                (line for line in lines if line.startswith(("fatal:", "error:"))), (lines or ["no reason"])[-1]
            )
            words = words.replace(self._url, public_url(self._url))
            raise ArtifactError(f"{public_url(self._url)}: git {arguments[0]} failed: {words}")
        return done.stdout


def resolve(git: Git, url: str, ref: str) -> Target:
    """Return what `ref` means at the server, a tag before a branch; raises ArtifactError where it means nothing."""
    tag, peeled, branch = f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}"
    found: dict[str, str] = {}
    for line in git("ls-remote", "--", url).splitlines():
        commit, _, name = line.partition("\t")
        found[name] = commit
    if tag in found:
        # An annotated tag is an object of its own; the peeled line names its commit.
        return Target("tag", found.get(peeled, found[tag]), tag)
    if branch in found:
        return Target("branch", found[branch], branch)
    if _COMMIT.fullmatch(ref):
        return Target("commit", ref, ref)
    tags = [name.removeprefix("refs/tags/") for name in found if name.startswith("refs/tags/") and "^" not in name]
    there = f"its latest tags: {', '.join(tags[-5:])}" if tags else "it has no tags: name a branch"
    short = " (a commit needs all its 40 digits)" if re.fullmatch(r"[0-9a-f]{7,39}", ref) else ""
    raise ArtifactError(f"{public_url(url)}: has no tag or branch {ref}{short}; {there}")


def _files_and_links(folder: Path) -> Iterator[Path]:
    """Yield every file and link below a folder in a fixed order, links not followed."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        yield from sorted(Path(parent) / name for name in (*names, *links))


def tree_digest(folder: Path) -> tuple[int, int, str]:
    """Return the number of files, their bytes, and a digest over paths and contents of a tree.

    A link or a pipe has no content, and so makes the digest another one than that of any fetched tree.
    """
    hasher = hashlib.sha256()
    num_files = num_bytes = 0
    for path in _files_and_links(folder):
        is_regular = path.is_file() and not path.is_symlink()
        num_files += 1
        num_bytes += path.stat().st_size if is_regular else 0
        content = manifests.sha256_of(path) if is_regular else ""
        hasher.update(os.fsencode(path.relative_to(folder)) + b"\0" + content.encode() + b"\0")
    return num_files, num_bytes, hasher.hexdigest()


def _remove_git_folders(tree: Path) -> None:
    """Remove `.git` of the tree, and the `.git` files of submodules."""
    for path in sorted(tree.rglob(".git")):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _remove_links(tree: Path) -> int:
    """Remove symbolic links and return how many there were.

    One that leads inside the tree would make a document twice, one that leads outside would read files of this machine.
    """
    links = [path for path in _files_and_links(tree) if path.is_symlink()]
    for path in links:
        path.unlink()
    return len(links)


def _check_out(git: Git, url: str, target: Target, tree: Path, submodules: bool) -> str:
    """Fetch one commit into a new tree and return its hash."""
    tree.mkdir()
    git("init", "--quiet", "--template=", cwd=tree)
    git("fetch", "--quiet", "--depth", "1", "--no-tags", "--no-recurse-submodules", "--", url, target.refspec, cwd=tree)
    git("checkout", "--quiet", "--detach", "FETCH_HEAD", cwd=tree)
    if submodules:
        # Their addresses come from the repository: none of them may name a folder of this machine.
        git(
            *("submodule", "--quiet", "update", "--init", "--recursive", "--depth", "1"),
            cwd=tree,
            protocols="https:http:ssh:git",
        )
    return git("rev-parse", "HEAD^{commit}", cwd=tree).strip()


def _is_there(folder: Path, name: str, record: TreeRecord | None, target: Target) -> bool:
    """Whether the tree is there as it was fetched; raises ArtifactError where something else stands in its place."""
    tree = folder / name
    if not os.path.lexists(tree):
        return False
    if record is None:
        raise ArtifactError(f"{tree}: is there, and was not fetched: move it away, or name another folder with --into")
    if record.commit != target.commit:
        raise ArtifactError(
            f"{tree}: the {target.kind} {record.ref} named {record.commit[:COMMIT_CHARS]} when this was fetched, and "
            f"names {target.commit[:COMMIT_CHARS]} now: move the folder away to fetch the new one"
        )
    if tree_digest(tree)[2] != record.digest:
        raise ArtifactError(f"{tree}: was changed since it was fetched: move it away to fetch it again")
    return True


def fetch_tree(
    url: str, ref: str, folder: Path, submodules: bool, progress: Progress, timeout_s: float = TIMEOUT_S
) -> Fetched:
    """Bring the tree that `ref` names below a folder, and record it in the folder's manifest.

    A branch moves, so its tree is named after the commit as well and an earlier one stays. Raises ConfigError for an
    address or name that is none, ArtifactError where git fails or something else stands in the tree's place.
    """
    url, ref = checked_url(url), checked_ref(ref)
    target = resolve(Git(url, LOOK_TIMEOUT_S), url, ref)
    suffix = f"-{target.commit[:COMMIT_CHARS]}" if target.kind == "branch" else ""
    name = f"{repository_name(url)}-{_UNSAFE.sub('-', ref)}{suffix}"
    if target.kind == "branch":
        progress.note(f"{ref} is a branch, and moves: {name} stays what it is, a later fetch may bring another tree")
    with manifests.locked(folder):
        manifest = manifests.read_manifest(folder)
        record = manifest.trees.get(name)
        if _is_there(folder, name, record, target) and record:
            return Fetched(name, record, was_there=True)
        progress.note(f"fetching {target.kind} {ref} of {public_url(url)} ({target.commit[:COMMIT_CHARS]})")
        record = _bring(Git(url, timeout_s), url, ref, target, folder / name, submodules, progress)
        # The record first: killed in between, the next run finds a record without its tree and fetches again.
        manifest.trees[name] = record
        manifests.write_manifest(folder, manifest)
        (folder / f".{name}.part").replace(folder / name)
    return Fetched(name, record, was_there=False)


def _bring(
    git: Git, url: str, ref: str, target: Target, tree: Path, submodules: bool, progress: Progress
) -> TreeRecord:
    """Fetch the tree beside its place, clean and digested, and return its record."""
    part = tree.with_name(f".{tree.name}.part")
    # What a killed run left: git cannot go on with half a fetch.
    shutil.rmtree(part, ignore_errors=True)
    try:
        commit = _check_out(git, url, target, part, submodules)
        if commit != target.commit:
            raise ArtifactError(f"{public_url(url)}: {ref} moved while it was fetched: run the command again")
        _remove_git_folders(part)
        if num_links := _remove_links(part):
            progress.note(f"symbolic links removed: {num_links}")
        num_files, num_bytes, digest = tree_digest(part)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return TreeRecord(
        url=public_url(url),
        ref=ref,
        kind=target.kind,
        commit=commit,
        num_files=num_files,
        num_bytes=num_bytes,
        digest=digest,
        fetched=manifests.now(),
    )
