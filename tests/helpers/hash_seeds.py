"""What a program prints in processes that hash texts differently."""

import os
import subprocess
import sys


def said_by_processes(code: str) -> set[bytes]:
    """Run a program in two processes, each with another hash of texts, and return the different things they print."""
    command = [sys.executable, "-c", code]
    seeds = ({"PYTHONHASHSEED": seed} for seed in "12")
    return {subprocess.run(command, env=os.environ | seed, capture_output=True, check=True).stdout for seed in seeds}
