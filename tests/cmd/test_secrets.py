# SPDX-License-Identifier: MIT
"""Secrets of the command line and the environment: in no recording, report, page or message."""
import base64
import re

import pytest

import gf

# Made up for this test; none of them opens anything.
SIG = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE%3D"
AWS_ID = "AKIAIOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYqqq"
BEARER = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
PASSWORD = "hunter2correcthorse"
HF = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
GITHUB = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
ACCOUNT_KEY = base64.b64encode(bytes(range(100, 164))).decode()
WANDB = "0123456789abcdef0123456789abcdef01234567"
SECRETS = [SIG, AWS_ID, AWS_SECRET, BEARER, PASSWORD, HF, GITHUB, ACCOUNT_KEY, WANDB]

ARGUMENTS = [
    f"https://acct.blob.core.windows.net/c/blob?sv=2022-11-02&se=2030-01-01&sp=r&sig={SIG}",
    f"--sas=?sv=2022-11-02&sig={SIG}",
    f"https://user:{PASSWORD}@host.example/path",
    f"s3://bucket?X-Amz-Credential={AWS_ID}/20240101/us-east-1/s3/aws4_request&X-Amz-Signature={AWS_SECRET}",
    f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}",
    "--aws-secret-access-key", AWS_SECRET,
    "--header", f"Authorization: Bearer {BEARER}",
    "-H", f"authorization:bearer {BEARER}",
    f"--password={PASSWORD}", "--password", PASSWORD, f"--api-key={WANDB}", "--token", HF,
    f"postgres://u:{PASSWORD}@db.example:5432/x",
    f"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey={ACCOUNT_KEY};EndpointSuffix=core.windows.net",
    f"https://{GITHUB}@github.example/x.git", f"hub:{HF}",
]

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": AWS_ID, "AWS_SECRET_ACCESS_KEY": AWS_SECRET, "AZURE_STORAGE_SAS_TOKEN": f"?sv=1&sig={SIG}",
    "AZURE_STORAGE_KEY": ACCOUNT_KEY, "HF_TOKEN": HF, "GITHUB_TOKEN": GITHUB, "WANDB_API_KEY": WANDB,
    "AUTHORIZATION": f"Bearer {BEARER}", "HTTPS_PROXY": f"http://me:{PASSWORD}@proxy.example:3128",
    "NCCL_DEBUG": "WARN", "DATA_URL": f"https://acct.blob.core.windows.net/c?sig={SIG}",
}


def clean(data, where):
    data = data if isinstance(data, bytes) else data.encode()
    for secret in SECRETS:
        for form in (secret, secret.replace("%3D", "=")):
            at = data.find(form.encode())
            assert at < 0, f"{where}: ...{data[max(0, at - 60):at + len(form) + 5]!r}"


@pytest.fixture(scope="module")
def run_with_secrets():
    """One run with secrets everywhere; its folder and what it said."""
    with gf.Folder() as folder:
        origin = f"https://acct.blob.core.windows.net/c?sv=2022-11-02&sig={SIG}"
        job = ["sh", "-c", 'n=$1; shift; while [ $n -gt 0 ]; do shift; n=$((n-1)); done; exec "$@"', "sh",
               str(len(ARGUMENTS)), *ARGUMENTS, *gf.SHORT]
        r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--origin", origin, "--html",
                       folder / "r.html", "--price", "28", "--", *job, env=gf.environment(**ENVIRONMENT))
        assert r.code == 0 and "12 steps" in r.err, r
        yield folder, r


def test_the_recording_holds_none(run_with_secrets):
    folder, _ = run_with_secrets
    for at in folder.iterdir():
        clean(at.read_bytes(), at.name)


def test_the_reports_hold_none(run_with_secrets):
    folder, r = run_with_secrets
    clean(r.raw_err + r.raw_out, "report of run")
    for options in ([], ["--json"], ["--chains"], ["--price", "3"]):
        out = gf.gpufeed("report", folder / "r.gpufeed", *options)
        assert out.code == 0
        clean(out.raw_out + out.raw_err, f"report {options}")


def test_the_rest_of_the_command_line_is_still_shown(run_with_secrets):
    folder, _ = run_with_secrets
    command = gf.evidence(gf.report(folder / "r.gpufeed"), "command")[0]
    assert "acct.blob.core.windows.net" in command and "host.example" in command, command


@pytest.mark.parametrize("argument", ARGUMENTS, ids=lambda a: re.sub(r"\W.*", "", a)[:12] or "option")
def test_messages_hold_none(argument, folder):
    for argv in (["run", "--", argument], ["run", "-o", folder / "x", "--", "/no/such/" + argument], ["report", argument],
                 ["report", "--json", argument], [argument], ["run", "--" + argument.lstrip("-"), "--", "true"],
                 ["record", "-p", argument], ["run", "--price", argument, "--", "true"],
                 ["run", "-q", "-o", folder / argument.replace("/", "_"), "--report", "/no/such/" + argument, "--", "true"]):
        if any(len(str(a)) > 255 for a in argv):
            continue
        r = gf.gpufeed(*argv, cwd=folder)
        if argument in (AWS_SECRET, PASSWORD, HF):
            continue  # alone, nothing tells that it is one
        clean(r.raw_err + r.raw_out, argv)


def test_the_name_of_a_recording_holds_none(folder):
    """NAME comes from the command."""
    (folder / "bin").mkdir()
    name = f"x?sig={SIG}"
    (folder / "bin" / name).write_text("#!/bin/sh\n")
    (folder / "bin" / name).chmod(0o755)
    (folder / "cwd").mkdir()
    r = gf.gpufeed("run", "--", folder / "bin" / name, cwd=folder / "cwd")
    assert r.code == 0
    clean(r.raw_err, "report")
    clean(" ".join(p.name for p in (folder / "cwd").iterdir()), "name of the recording")


def test_attaching_holds_none(folder, root):
    job = gf.start(gf.TRAIN, "--steps", "100000", "--compute-ms", "5", "--log", f"/tmp/x?sig={SIG}",
                   env=gf.environment(LD_LIBRARY_PATH=gf.SIM, **ENVIRONMENT))
    try:
        gf.wait_for(lambda: gf.maps_libcuda(job.pid))
        r = gf.gpufeed("record", "-p", job.pid, "-d", "1", "-o", folder / "r.gpufeed")
    finally:
        gf.kill_group(job)
        job.communicate()
    assert r.code == 0, r
    clean(r.raw_out + r.raw_err + (folder / "r.gpufeed").read_bytes(), "record -p")


def test_paths_that_hold_one(folder):
    """A data folder whose name carries a token becomes a resource."""
    data = folder / f"c?sig={SIG}"
    data.mkdir()
    for i in range(4):
        (data / str(i)).write_bytes(bytes(50_000))
    gf.record(folder / "r.gpufeed", *gf.SHORT, "--data", data)
    clean((folder / "r.gpufeed").read_bytes(), "recording")
