"""An S3-compatible server on loopback, from the package moto, as a process that can be stopped."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from unittest import mock

import boto3
import requests
import s3fs

from tests.helpers.deadline import DEADLINE

ACCESS = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "something", "AWS_DEFAULT_REGION": "us-east-1"}
# It ends with the process that started it, whose end of the pipe closes then.
CODE = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


class Server:
    def __init__(self, bucket: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", CODE], stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        self.address = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.environment = ACCESS | {"AWS_ENDPOINT_URL": self.address}
        self.client = boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=ACCESS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ACCESS["AWS_SECRET_ACCESS_KEY"],
            region_name=ACCESS["AWS_DEFAULT_REGION"],
        )
        self._bucket = bucket
        self.client.create_bucket(Bucket=bucket)

    def deny(self) -> None:
        """From now on asks for credentials that nobody has."""
        self._ask_for_credentials("0")

    def allow(self) -> None:
        self._ask_for_credentials("inf")

    def _ask_for_credentials(self, after: str) -> None:
        headers = {"Content-Type": "text/plain"}
        answer = requests.post(f"{self.address}/moto-api/reset-auth", data=after, headers=headers, timeout=DEADLINE)
        answer.raise_for_status()

    def keys(self, prefix: str) -> list[str]:
        found = self.client.list_objects_v2(Bucket=self._bucket, Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]

    def hold(self) -> None:
        """From now on takes connections and says nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def serving(bucket: str) -> Iterator[Server]:
    """Runs a server with one bucket, to which the environment of this process and of its children points."""
    server = Server(bucket)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        with mock.patch.dict(os.environ, server.environment):
            yield server
    finally:
        server.end()
        s3fs.S3FileSystem.clear_instance_cache()
