"""Queues a notice over HTTP: python3 send.py ORDER PHONE"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("NOTICES_URL", "http://127.0.0.1:4011") + "/api/v1/notices"
KEY = os.environ["NOTICES_KEY"]
REPEATED = {429, 502, 503, 504}


def send(notice, idempotency_key, tries=7):
    request = urllib.request.Request(
        URL,
        data=json.dumps({"notice": notice}).encode(),
        headers={
            "Authorization": f"Bearer {KEY}",
            "Idempotency-Key": idempotency_key,
            "Content-Type": "application/json",
        },
    )
    for count in range(tries):
        is_last = count == tries - 1
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if is_last or error.code not in REPEATED:
                raise RuntimeError(f"{error.code}: {error.read().decode()}") from error
        except OSError:
            if is_last:
                raise
        time.sleep(2**count / 2)


if __name__ == "__main__":
    order, phone = sys.argv[1:]
    notice = {
        "templateCode": "ORDER_SHIPPED",
        "contacts": [{"contact": phone, "var1": order}],
    }
    print(json.dumps(send(notice, f"order-{order}-shipped")))
