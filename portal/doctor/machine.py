"""Is this machine fit to run the portal: interpreter, packages, tools, disk, permissions, limits?"""

import importlib
import importlib.metadata
import locale
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from portal.doctor.checks import Answer, Context, check, ok, skipped, warn, wrong
from portal.embedded import owner, ports, postgres
from portal.embedded.errors import StartError
from portal.embedded.folders import user_name
from provisioning.jobs import accelerator, containment

PYTHON = (3, 11)
ANSIBLE = ("2.18", "2.19")
BINARY_MODULES = ("psycopg", "cryptography", "nh3", "vl_convert", "yaml")
TOOL_SECONDS = 30
GIB = 1024**3
LEAST_GIB, FEW_GIB = 1, 5
LEAST_FILES, FEW_FILES = 256, 1024
SETUP = "Run `make setup`."


@check("python")
def python_version(context: Context) -> Answer:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < PYTHON:
        return wrong(f"Python {found} is too old", "Install Python 3.11 or newer and run `make setup` again.")
    return ok(f"Python {found}")


@check("packages")
def packages(context: Context) -> Answer:
    pins = context.config.base_dir / "requirements.txt"
    if not pins.is_file():
        return skipped(f"there is no {pins}")
    wanted = pinned(pins.read_text(encoding="utf-8"))
    problems = [problem for name, version in wanted.items() if (problem := _differs(name, version))]
    problems += [problem for name in BINARY_MODULES if (problem := _fails_to_import(name))]
    if problems:
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        return wrong("; ".join(problems[:5]) + more, SETUP)
    return ok(f"{len(wanted)} packages as pinned")


def pinned(text: str) -> dict[str, str]:
    """Name and version of every pin of a requirements file that counts on this machine."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        words = line.removesuffix("\\").strip()
        if not words or words.startswith(("#", "-")):
            continue
        try:
            requirement = Requirement(words)
        except InvalidRequirement:
            continue
        exact = [one.version for one in requirement.specifier if one.operator == "=="]
        if exact and (requirement.marker is None or requirement.marker.evaluate()):
            found[requirement.name] = exact[0]
    return found


def _differs(name: str, version: str) -> str:
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} is not installed"
    return "" if found == version else f"{name} is {found} and should be {version}"


def _fails_to_import(name: str) -> str:
    try:
        importlib.import_module(name)
    except ImportError as problem:
        return f"{name} can't be loaded: {problem}"
    return ""


@check("ansible")
def ansible(context: Context) -> Answer:
    beside = Path(sys.executable).with_name("ansible-playbook")
    found = str(beside) if beside.exists() else shutil.which("ansible-playbook")
    if found is None:
        return wrong("ansible-playbook is missing, so that no node can be provisioned", SETUP)
    said = _output(found, "--version")
    version = re.search(r"core (\d+\.\d+)(\.\d+)?", said)
    if version is None:
        return wrong(f"ansible-playbook does not run: {said.strip()[:300]}", SETUP)
    if version.group(1) not in ANSIBLE:
        return wrong(f"ansible-core {version.group(1)} is not one of {', '.join(ANSIBLE)}", SETUP)
    return ok(f"ansible-{version.group(0)}")


@check("containment")
def contained(context: Context) -> Answer:
    """Can everything that a job starts here be ended at once?"""
    says = f"jobs are held by {containment.describe()}"
    if containment.prefix():
        return ok(says)
    return warn(
        f"{says}, since the kernel gives no pid namespace",
        "What hides its environment would outlive a job. Install util-linux, and allow user namespaces or start as root.",
    )


@check("mitogen")
def mitogen(context: Context) -> Answer:
    if not context.config.job_mitogen:
        return ok("not asked for (PORTAL_JOB_MITOGEN)")
    folder, why_not = accelerator.found()
    if folder is None:
        return warn(
            f"jobs run without it: {why_not}",
            "Run `pip install --require-hashes -r requirements-mitogen.txt`, or set PORTAL_JOB_MITOGEN=0.",
        )
    return ok(f"Mitogen {importlib.metadata.version('mitogen')} runs jobs whose nodes are behind SSH")


@check("ssh")
def ssh(context: Context) -> Answer:
    if shutil.which("ssh") is None:
        return warn(
            "ssh is missing: only simulated nodes can be reached",
            "Install an OpenSSH client (openssh-client).",
        )
    said = _output("ssh", "-V")
    return (
        ok(said.split(",")[0].strip())
        if "SSH" in said
        else wrong(f"ssh does not run: {said[:300]}", "Reinstall it.")
    )


def _output(*words: str) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=TOOL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    return done.stdout + done.stderr


@check("database user")
def database_user(context: Context) -> Answer:
    """PostgreSQL refuses to be root: is there a way around it here?"""
    if context.config.database_url is not None:
        return skipped("PORTAL_DATABASE_URL is set, no PostgreSQL is started here")
    if os.geteuid() != 0:
        return ok(f"the embedded PostgreSQL runs as {user_name(os.geteuid())}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            works = owner.can_use_namespace(Path(folder), postgres.find_binaries())
    except StartError as problem:
        return wrong(str(problem), SETUP)
    if works:
        return ok("you are root: the embedded PostgreSQL runs in a user namespace")
    return warn(
        "you are root and the kernel gives no user namespace",
        f"The embedded PostgreSQL will run as the system user {owner.SYSTEM_USER}, with its data below "
        f"{owner.SYSTEM_ROOT}. To avoid that start as an ordinary user, or set PORTAL_DATABASE_URL.",
    )


@check("var folder")
def var_folder(context: Context) -> Answer:
    var_dir = context.config.var_dir
    if not var_dir.exists():
        return ok(f"{var_dir} will be made at the first start")
    found = var_dir.stat()
    if found.st_uid != os.geteuid():
        return wrong(
            f"{var_dir} belongs to {user_name(found.st_uid)} and you are {user_name(os.geteuid())}",
            f"Start as {user_name(found.st_uid)}, or choose another folder with PORTAL_VAR_DIR.",
        )
    if not os.access(var_dir, os.W_OK | os.X_OK):
        return wrong(f"{var_dir} can't be written", f"Run `chmod u+rwx {var_dir}`.")
    if found.st_mode & 0o077:
        return wrong(
            f"{var_dir} is open to other users (mode {found.st_mode & 0o777:o}); keys and logs lie in it",
            f"Run `chmod 700 {var_dir}`.",
        )
    return ok(f"{var_dir} is yours alone")


@check("disk")
def disk(context: Context) -> Answer:
    place = next(path for path in (context.config.var_dir, *context.config.var_dir.parents) if path.exists())
    free = shutil.disk_usage(place).free / GIB
    says = f"{free:.1f} GiB free for {context.config.var_dir}"
    if free < LEAST_GIB:
        return wrong(says, "Free some space, or move the folder with PORTAL_VAR_DIR.")
    if free < FEW_GIB:
        return warn(says, "Logs of jobs and the database grow: free some space soon.")
    return ok(says)


@check("port")
def port(context: Context) -> Answer:
    wanted, host = context.config.port, context.config.host
    if context.is_up:
        return ok("the portal is running")
    try:
        with ports.listen(host, wanted) as listener:
            return ok(f"port {listener.getsockname()[1]} on {host} is free")
    except StartError as problem:
        return wrong(str(problem), "Stop the other program, or choose with PORTAL_PORT and PORTAL_HOST.")


@check("text encoding")
def encoding(context: Context) -> Answer:
    found = locale.nl_langinfo(locale.CODESET)
    if found.upper().replace("-", "") == "UTF8":
        return ok("UTF-8")
    return warn(
        f"the locale's encoding is {found}, and Ansible runs with UTF-8 only",
        "Set LANG to a UTF-8 locale, for example LANG=C.UTF-8.",
    )


@check("open files")
def open_files(context: Context) -> Answer:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ok("no limit of open files")
    says = f"{soft} files may be open at once"
    mend = "Raise the limit with `ulimit -n 4096` before the start."
    if soft < LEAST_FILES:
        return wrong(says, mend)
    return warn(says, mend) if soft < FEW_FILES else ok(says)
