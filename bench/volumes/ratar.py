"""ratarmountcore as a command, without FUSE: an index beside a tar file, and members by it.

    python3 ratar.py index|list TAR
    python3 ratar.py get TAR NAME OUT
    python3 ratar.py all TAR FOLDER
"""
import os
import shutil
import stat
import sys

from ratarmountcore.mountsource.factory import open_mount_source

verb, tar, *rest = sys.argv[1:]
source = open_mount_source(tar, indexFilePath=tar + ".index.sqlite", writeIndex=True)


def walk(folder="/"):
    for name, info in source.list(folder).items():
        path = folder.rstrip("/") + "/" + name
        if stat.S_ISDIR(info.mode):
            yield from walk(path)
        else:
            yield path, info


def copy(path, info, to):
    with source.open(info) as f, open(to, "wb") as out:
        shutil.copyfileobj(f, out)


if verb == "list":
    for path, info in walk():
        print(info.size, path)
elif verb == "get":
    copy(rest[0], source.lookup("/" + rest[0]), rest[1])
elif verb == "all":
    for path, info in walk():
        to = rest[0] + path
        os.makedirs(os.path.dirname(to), exist_ok=True)
        copy(path, info, to)
