# Unpacks one folder of a wheel, flat, and makes its files executable: unpack.py WHEEL FOLDER TARGET
import os
import sys
import zipfile

wheel, folder, target = sys.argv[1:]
os.makedirs(target, exist_ok=True)
with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        parent, _, name = member.filename.rpartition("/")
        if parent == folder and name:
            with archive.open(member) as source, open(os.path.join(target, name), "wb") as copy:
                while block := source.read(1 << 20):
                    copy.write(block)
            os.chmod(copy.name, 0o755)
