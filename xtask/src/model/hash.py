# Prints the SHA-256 of a file: hash.py FILE
import hashlib
import sys

with open(sys.argv[1], "rb") as file:
    print(hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read()).hexdigest())
