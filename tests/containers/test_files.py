"""Dockerfile, docker-compose.yml and .env.example fit each other and the checkout. `make test-containers` runs them."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.compose import GPU, MAIN, REQUIRED, ROOT, RequiredVariable, environment, services
from tests.support.dockerfile import parents, stages

SECRETS = dict.fromkeys(REQUIRED, "a-secret-of-this-test")
OURS = {"migrate", "api", "background", "worker", "calls", "sandbox"}


def settings(path: Path) -> dict[str, str]:
    """The variables of an env file, those in comments, too."""
    return dict(re.findall(r"^#?([A-Z][A-Z0-9_]*)=(.*)$", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", REQUIRED)
def test_a_secret_that_is_missing_stops_the_start(name: str) -> None:
    with pytest.raises(RequiredVariable, match=f"{name}: set it in .env"):
        services({key: value for key, value in SECRETS.items() if key != name})


def test_no_secret_has_a_default() -> None:
    values = [
        value for service in services(SECRETS).values() for value in environment(service, SECRETS).values()
    ]
    assert not [value for value in values if "change-me" in value]
    assert "rf-" not in (ROOT / "docker-compose.yml").read_text()


def test_make_env_writes_every_secret_once(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    script = str(ROOT / "scripts" / "make_env.sh")
    subprocess.run([script, str(file)], check=True, capture_output=True, timeout=30)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
    written = dict(line.split("=", 1) for line in file.read_text().splitlines() if re.match("[A-Z]", line))
    assert set(written) == set(REQUIRED) and len(set(written.values())) == len(REQUIRED)
    assert all(re.fullmatch(r"(rf-)?[0-9a-f]{48}", value) for value in written.values())
    assert written["REINFORGE_API_KEY"].startswith("rf-")
    services(written)
    again = subprocess.run([script, str(file)], capture_output=True, text=True, timeout=30)
    assert again.returncode == 1 and "stays as it is" in again.stderr


def test_every_variable_is_in_the_example_and_only_those() -> None:
    texts = [(ROOT / name).read_text() for name in (MAIN, GPU)]
    passed = {name for text in texts for service in yaml.safe_load(text)["services"].values()
              for name, value in service.get("environment", {}).items() if value is None}  # fmt: skip
    used = (
        set(re.findall(r"\$\{(\w+)", "".join(texts))) | passed | {"COMPOSE_FILE"}
    )  # Compose itself reads the last
    assert used == set(settings(ROOT / ".env.example"))


def test_secrets_are_neither_committed_nor_sent_to_the_builder() -> None:
    git = ["git", "check-ignore", "--quiet", "--no-index"]
    for name in (".env", ".env.old"):
        assert subprocess.run([*git, name], cwd=ROOT).returncode == 0, name
    assert subprocess.run([*git, ".env.example"], cwd=ROOT).returncode == 1
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env", ".env.*", ".venv", ".venv-vllm", ".git", "models", "backup", "dist"} <= set(ignored)


def test_nothing_is_published_but_the_api_on_loopback() -> None:
    published = {name: service["ports"] for name, service in services(SECRETS).items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:8321:8321"]}
    chosen = services(SECRETS | {"REINFORGE_BIND": "0.0.0.0", "REINFORGE_PORT": "80"})["api"]
    assert chosen["ports"] == ["0.0.0.0:80:8321"]
    assert environment(chosen, {})["REINFORGE_URL"] == "http://localhost:80"


def test_links_begin_with_the_public_address() -> None:
    public = "https://reinforge.example.org"
    ours = services(SECRETS | {"REINFORGE_PUBLIC_URL": public})
    assert environment(ours["api"], {})["REINFORGE_URL"] == public
    assert environment(ours["worker"], {})["REINFORGE_URL"] == "http://api:8321"


def test_objects_lie_in_a_shared_volume_or_in_s3() -> None:
    ours = services(SECRETS)
    assert not {"minio"} & set(ours)
    for name in ("api", "background"):
        assert environment(ours[name], {})["STORAGE_URL"] == "file:///var/lib/reinforge/objects"
        assert "objects:/var/lib/reinforge/objects" in ours[name]["volumes"]
        assert "AWS_ACCESS_KEY_ID" not in environment(ours[name], {}), "unset, not empty"
    s3 = SECRETS | {"STORAGE_URL": "s3://bucket/x", "AWS_ACCESS_KEY_ID": "key"}
    passed = environment(services(s3)["api"], s3)
    assert (passed["STORAGE_URL"], passed["AWS_ACCESS_KEY_ID"]) == ("s3://bucket/x", "key")
    assert "AWS_ACCESS_KEY_ID" not in environment(services(s3)["worker"], s3), "workers go through the api"


def test_volumes_belong_to_the_user_of_the_images() -> None:
    """A new volume takes the owner of the image's folder; one that the image lacks would be root's."""
    made = re.search(r"install -d -o reinforge -g reinforge \\\n(.*)", stages()["base"])
    assert made is not None
    folders = set(made[1].split())
    for name in ("api", "background", "worker", "calls"):
        for volume in services(SECRETS)[name]["volumes"]:
            if ":" not in volume:
                assert volume in folders or volume == "/tmp", f"{name} has a volume on {volume}"
                continue
            source, target, *mode = volume.split(":")
            assert target in folders or mode == ["ro"], f"{name} mounts {source} on {target}"


def test_everything_of_ours_has_a_health_check_and_bounded_logs() -> None:
    ours = services(SECRETS)
    assert set(ours) > OURS
    for name, service in ours.items():
        assert service["logging"]["options"]["max-size"], name
        assert name == "migrate" or int(service["healthcheck"]["interval"].rstrip("s")) >= 10, name
    assert ours["sandbox"]["network_mode"] == "none"
    assert "environment" not in ours["sandbox"]


def test_no_process_gains_rights_or_changes_its_image() -> None:
    ours = services(SECRETS)
    for name, service in ours.items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if name != "postgres":  # it starts as root and makes its folder
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name


def test_the_broker_asks_for_a_password() -> None:
    ours = services(SECRETS)
    for name in ("api", "background", "worker", "calls"):
        assert (
            environment(ours[name], {})["REDIS_URL"] == f"redis://:{SECRETS['REDIS_PASSWORD']}@redis:6379/0"
        )
    assert SECRETS["REDIS_PASSWORD"] not in " ".join(ours["redis"]["command"])


def test_base_images_can_be_pinned_by_digest() -> None:
    digest = "docker.io/library/x@sha256:" + "0" * 64
    names = ("PYTHON_IMAGE", "NODE_IMAGE", "POSTGRES_IMAGE", "REDIS_IMAGE")
    ours = services(SECRETS | {name: f"{digest}-{name}" for name in names})
    assert ours["postgres"]["image"] == f"{digest}-POSTGRES_IMAGE"
    assert ours["redis"]["image"] == f"{digest}-REDIS_IMAGE"
    for name in ("api", "worker", "sandbox"):
        assert ours[name]["build"]["args"]["PYTHON_IMAGE"] == f"{digest}-PYTHON_IMAGE"
    text = (ROOT / "Dockerfile").read_text()
    assert set(parents().values()) - set(stages()) == {"${NODE_IMAGE}", "${PYTHON_IMAGE}"}
    used = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", text, re.MULTILINE))
    example = settings(ROOT / ".env.example")
    assert used == {name: example[name] for name in ("NODE_IMAGE", "PYTHON_IMAGE")}


def test_images_install_only_what_has_a_hash() -> None:
    for stage in ("backend", "worker", "sandbox"):
        text = stages()[stage].replace("\\\n", " ")
        for command in re.findall(r"pip install ([^&\n]+)", text):
            hashed = "--require-hashes" in command and "--no-deps" in command
            assert hashed or "--editable ." in command or command.startswith("torch=="), f"{stage}: {command}"


def test_the_images_start_the_same_commands() -> None:
    """The Dockerfile's default commands are those of the compose file, and what it copies exists."""
    ours = services(SECRETS)
    for stage, service in {"backend": "api", "worker": "worker", "sandbox": "sandbox"}.items():
        text = stages()[stage]
        command = json.loads(re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)[-1])
        assert command == ours[service]["command"]
        for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
            for source in copied.split():
                assert (ROOT / source).exists(), f"{stage} copies {source}"


def test_sources_are_copied_after_the_libraries() -> None:
    """Otherwise an edit downloads torch again."""
    for stage in ("backend", "worker", "sandbox"):
        lines = stages()[stage].splitlines()
        installed = max(i for i, line in enumerate(lines) if "--requirement" in line)
        copied = [
            i for i, line in enumerate(lines) if line.startswith("COPY") and "--from=requirements" not in line
        ]
        early = [lines[i] for i in copied if i < installed]
        assert not early, f"{stage}: {early}"
        assert "compileall" in stages()[stage]


def test_the_scripts_are_executable() -> None:
    for name in ("scripts/make_env.sh", "tests/containers/run.sh"):
        assert os.access(ROOT / name, os.X_OK), name
