#!/usr/bin/python3
"""Names from opmint's leases, minted in this process. Needs the package cryptography."""
import base64, http.client, json, os, socket, sys, threading, time, zlib
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

def digits(number, width):
    return "".join("0123456789abcdefghjkmnpqrstvwxyz"[number >> 5 * i & 31] for i in reversed(range(width)))

def name(lease, seq):
    key = algorithms.AES(base64.urlsafe_b64decode(lease["key"] + "=="))
    tag = Cipher(key, modes.ECB()).encryptor().update(seq.to_bytes(16, "big"))
    text = "-".join([lease["class"] + "1", lease["identity"], digits(lease["epoch"], 8), digits(seq, 8),
                     digits(int.from_bytes(tag[:10], "big"), 16)])
    return text + digits(zlib.crc32(text.encode()) % 1024, 2)

class Minter:
    def __init__(self, path=os.environ.get("OPMINT_SOCKET") or "/run/opmint/opmint.sock", count=1000):
        self.path, self.count = path, count
        self.drop()
        os.register_at_fork(after_in_child=self.drop)  # a lease is void in a child

    def drop(self):
        self.lock, self.seqs, self.socket = threading.Lock(), iter(()), None

    def take(self):
        self.seqs, self.socket = iter(()), socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path)
        daemon = http.client.HTTPConnection("opmint")
        daemon.sock, self.taken = self.socket, (time.monotonic(), time.time())
        daemon.request("POST", "/v1/leases", json.dumps({"count": self.count}))
        answer = daemon.getresponse()
        self.lease = json.load(answer)
        if answer.status != 201:
            raise RuntimeError(self.lease["detail"])
        self.seqs = iter(range(self.lease["first"], self.lease["first"] + self.lease["count"]))

    def good(self):  # neither over, by either clock, nor of a daemon that has gone
        age = max(time.monotonic() - self.taken[0], time.time() - self.taken[1])
        try:
            return age < self.lease["expires_in_ms"] / 1000 and self.socket.recv(1, socket.MSG_DONTWAIT) != b""
        except BlockingIOError:  # nothing to read, and open
            return True
        except OSError:
            return False

    def mint(self):
        with self.lock:
            seq = next(self.seqs, None)
            if seq is None or not self.good():
                self.take()
                seq = next(self.seqs)
            return name(self.lease, seq)

if __name__ == "__main__":
    minter = Minter()
    for _ in range(int(sys.argv[1])):
        print(minter.mint())
