#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An object store over HTTP that takes its time, for trying gpufeed without a cloud.

Every GET is answered with an object of the same size after a set delay, as a store
in another region would; any number of requests wait side by side. It listens on
127.0.0.1 only, prints its URL and ends with Ctrl-C, or with --stdin when its
standard input closes (so that it cannot outlive the script that started it).

    slow_store.py --latency-ms 20 --port 8000 &
    gpufeed run --simulate -- python3 train_images.py --data http://127.0.0.1:8000
"""
import argparse
import http.server
import os
import sys
import threading
import time


def make_handler(latency, body):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay open
        wbufsize = -1                  # head and body leave in one piece
        disable_nagle_algorithm = True

        def do_GET(self):
            time.sleep(latency)
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that went away is no news."""


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("--latency-ms", type=float, default=20, help="before each answer (20)")
    p.add_argument("--size", type=int, default=65536, help="bytes of an object (65536)")
    p.add_argument("--port", type=int, default=0, help="(default: any free one)")
    p.add_argument("--stdin", action="store_true", help="end when standard input closes")
    return p.parse_args(argv)


def main(argv):
    args = parse(argv)
    handler = make_handler(args.latency_ms / 1e3, os.urandom(args.size))
    server = Server(("127.0.0.1", args.port), handler)
    if args.stdin:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)),
                         daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
