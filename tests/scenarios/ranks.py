#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts one command as two ranks, each in a network namespace of its own, and waits for both.

    ranks.py NAMESPACE,ADDRESS,LINK NAMESPACE,ADDRESS,LINK -- COMMAND...
"""
import os
import subprocess
import sys


def environment(rank, link, master):
    return {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
            "MASTER_ADDR": master, "MASTER_PORT": "29511", "GLOO_SOCKET_IFNAME": link}


def main():
    at = sys.argv.index("--")
    places = [a.split(",") for a in sys.argv[1:at]]
    ranks = [subprocess.Popen(["ip", "netns", "exec", name, *sys.argv[at + 1:]],
                              env=environment(i, link, places[0][1]))
             for i, (name, _, link) in enumerate(places)]
    sys.exit(max(abs(r.wait()) for r in ranks))


if __name__ == "__main__":
    main()
