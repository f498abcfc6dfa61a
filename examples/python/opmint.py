#!/usr/bin/python3
"""Names from opmint's leases, minted in this process. Needs the package cryptography."""
import base64, http.client, json, os, select, socket, sys, threading, time, zlib
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

def digits(number, width):
    return "".join("0123456789abcdefghjkmnpqrstvwxyz"[number >> 5 * i & 31] for i in reversed(range(width)))

def name(lease, seq):
    key = algorithms.AES(base64.urlsafe_b64decode(lease["key"] + "=="))
    tag = Cipher(key, modes.ECB()).encryptor().update(seq.to_bytes(16, "big"))[:10]
    text = f'{lease["class"]}1-{lease["identity"]}-{digits(lease["epoch"], 8)}-{digits(seq, 8)}-'
    text += digits(int.from_bytes(tag, "big"), 16)
    return text + digits(zlib.crc32(text.encode()) % 1024, 2)

class Minter(threading.local):  # each thread has a lease of its own
    seqs = iter(())
    def take(self):
        self.pid, self.taken, self.seqs = os.getpid(), (time.monotonic(), time.time()), iter(())
        self.socket, self.events, daemon = socket.socket(socket.AF_UNIX), select.poll(), http.client.HTTPConnection("opmint")
        self.socket.connect(os.environ.get("OPMINT_SOCKET") or "/run/opmint/opmint.sock")
        self.events.register(self.socket, select.POLLIN)
        daemon.sock = self.socket
        daemon.request("POST", "/v1/leases", '{"count": 1000}')
        answer = daemon.getresponse()
        self.lease = json.load(answer)
        if answer.status != 201:
            raise RuntimeError(self.lease["detail"])
        self.seqs = iter(range(self.lease["first"], self.lease["first"] + self.lease["count"]))
    def good(self):  # not in a child, not over by either clock, nor of a daemon that has gone
        age = max(time.monotonic() - self.taken[0], time.time() - self.taken[1])
        return self.pid == os.getpid() and age < self.lease["expires_in_ms"] / 1000 and not self.events.poll(0)
    def mint(self):
        seq = next(self.seqs, None)
        if seq is None or not self.good():
            self.take()
            seq = next(self.seqs)
        return name(self.lease, seq)

if __name__ == "__main__":
    minter = Minter()
    for _ in range(int(sys.argv[1])):
        print(minter.mint())
