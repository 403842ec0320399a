"""The manifest, the plan, and their checks ("The manifest", "The plan")."""
import math

from ._checks import M32, MAXBLOCK, MAXHEADER, codecs, hexdigits, levels, members, need, parse_json, parts, path_allowed, text, uint
from ._errors import ArchiveUnsupported
from ._netcdf import SIZES
from ._shared import Forked

MEMBERS, OPTIONAL = "format features writer image block chains rest vars groups", "zarr pools"


class Plan(Forked):
    """What manifest and plan tell about an archive. It reads no bytes."""

    def set_manifest(self, content, end):
        """Reads the manifest, whose local header is at end."""
        man = members(parse_json(content), "size sha256 entries blocks stored front plan header", "name name_hex copies parity loss tree")
        need(not ("name" in man and "name_hex" in man), "name and name_hex")
        text(man.get("name", ""), 2**16), hexdigits(man.get("name_hex", ""), 0), hexdigits(man["sha256"], 64)
        hexdigits(man.get("tree", "0" * 32), 32)
        for m in ("size", "entries", "blocks", "stored"):
            uint(man[m], m)
        uint(man.get("parity", 0), "parity")
        front, plan, head = members(man["front"], "len crc32"), members(man["plan"], "off len crc32"), members(man["header"], "off len crc32", "mask")
        for place in (front, plan, head):
            hexdigits(place["crc32"], 8), uint(place.get("off", 0)), uint(place["len"]), uint(place.get("mask", 0), "mask", M32)
        need(plan["off"] == 45 and plan["off"] + plan["len"] <= front["len"] and plan["len"] <= 2**28
             and head["off"] == front["len"] + 42 + 8 * (head.get("mask", 0) != 0) and head["off"] + head["len"] <= end
             and head["len"] <= MAXHEADER, "manifest: impossible places")
        if "copies" in man:
            copies = members(man["copies"], "plan header")
            need(all(head["off"] + head["len"] <= uint(copies[m]) <= end - man[m]["len"] for m in copies), "manifest: impossible places of copies")
        if "loss" in man:
            loss, last = members(man["loss"], "source_sha256 vars"), -1
            hexdigits(loss["source_sha256"], 64)
            need(type(loss["vars"]) is list and 1 <= len(loss["vars"]) <= 4096, "manifest: rounded variables")
            for v in loss["vars"]:
                members(v, "var filter", "params")
                need(uint(v["var"], "var", 2**31 - 1) > last and uint(v["filter"], "filter", M32) >= 0, "manifest: rounded variables")
                params, last = v.get("params", []), v["var"]
                need(type(params) is list and len(params) <= 256 and all(uint(x, "params", M32) >= 0 for x in params), "manifest: parameters")
        return man

    def refuse_later(self, content):
        """Checks format and features, the first two members, before the rest, which may follow other rules."""
        content, first = bytes(content).decode("utf-8", "surrogateescape"), ["format", "features"]
        for name, at, end in parts(content, 0):
            if name not in (MEMBERS + " " + OPTIONAL).split():
                continue
            need(name == first.pop(0), "format and features are not the first members")
            value = parse_json(content[at:end].encode("utf-8", "surrogateescape"))
            if name == "features":
                need(type(value) is list and len(value) <= 64, "features")
                if [text(f) for f in value]:
                    raise ArchiveUnsupported(f"features {value!r:.200}")
                break
            if uint(value, "format", 2**31 - 1) != 1:
                raise ArchiveUnsupported(f"format {value}")

    def set_plan(self, content):
        self.refuse_later(content)
        self.plan = p = members(parse_json(content), MEMBERS, OPTIONAL)
        need(list(p).index("vars") < list(p).index("groups"), "groups precede vars")
        need(p.get("zarr", "viewed") in ("viewed", "consolidated"), "zarr")
        text(p["writer"]), uint(p["block"])
        members(p["image"], "size header")
        size, header = uint(p["image"]["size"]), uint(p["image"]["header"], "image.header", MAXHEADER)
        need(header <= size, "image.header")
        need(type(p["chains"]) is list and len(p["chains"]) <= 4096, "chains")
        for c in p["chains"]:
            need(type(c) is list and len(c) <= 32, "chain of more than 32 filters")
            for f in c:
                members(f, "id", "params optional name codec")
                uint(f["id"], "id", M32), [uint(x, "parameter", M32) for x in f.setdefault("params", [])]
                need(type(f.get("optional", False)) is bool and type(f.get("codec", {})) is dict, "optional or codec")
                need(levels(f.get("codec", {})) <= 32, "a codec of more than 32 levels")
                text(f.get("name", ""))
        filters = [f for c in p["chains"] for f in c]
        need(len(filters) <= 4096 and sum(len(f["params"]) for f in filters) <= 2**16, "filters or parameters of all chains")
        if len(content) > 4096 and any("codec" in f for f in filters):
            need(all(len(c.encode()) <= 4096 for c in codecs(bytes(content).decode())), "a codec of more than 4096 bytes")
        self.vars, self.pools, self.nblocks, total, last = p["vars"], p.get("pools", []), 0, 0, -1
        for v in self.vars:
            members(v, "var path type shape block chain segment", "view")
            members(v["segment"], "off len stride count")
            need(last < uint(v["var"], "var", 2**31 - 1) and v["type"] in SIZES, "order of variables, or type")
            need(v.get("view", "no-codec") in ("path", "no-codec", "optional", "unaligned"), "view")
            path_allowed(v)
            last = v["var"]
            self.set_blocks(v)
            off, length, stride, count = (uint(v["segment"][x], x) for x in ("off", "len", "stride", "count"))
            need(length * count == v["bytes"], "segment and shape differ")
            need(stride == 0 if count <= 1 else stride >= length and count == v["shape"][0], "stride")
            total += v["bytes"]
        need(type(self.pools) is list and len(self.pools) <= 4096, "pools")
        for v in self.pools:
            members(v, "vars type shape block chain")
            need(v["type"] in SIZES and v["vars"] and all(uint(i, "var", 2**31 - 1) >= 0 for i in v["vars"]), "pool")
            self.set_blocks(v)
            need(v["bytes"] > 0, "a pool without a byte")
            total += v["bytes"]
        arrays = self.vars + self.pools
        need(sum(len(v["shape"]) + len(v["block"]) for v in arrays) <= 2**18 + len(content) // 16, "dimensions of all variables and pools")
        need(all(p["groups"]) and sorted(i for g in p["groups"] for i in g) == list(range(len(self.vars))), "groups")
        r = members(p["rest"], "len first block chain", "head")
        length, first, block = uint(r["len"]), uint(r["first"], "first", MAXBLOCK), uint(r["block"], "block", MAXBLOCK)
        self.head = uint(r.get("head", r["chain"]))
        need(total + length == size, "variables and rest are not the image")
        need(header <= first <= length and first <= max(header, 2**21) and block > 0
             and max(uint(r["chain"]), self.head) < len(p["chains"]), "rest")
        self.rest0 = self.nblocks
        self.nblocks += 1 + -(-(length - first) // block)

    def set_blocks(self, v):
        """Blocks of a variable or a pool: "Blocks of variables and pools"."""
        n, b, es = v["shape"], v["block"], SIZES[v["type"]]
        need(len(n) == len(b) <= 1024, "rank")
        need(all(1 <= uint(y) <= max(1, uint(x)) for x, y in zip(n, b)), "block shape")
        j = max([i for i in range(len(n)) if b[i] != max(1, n[i])], default=0)
        need(all(x == 1 for x in b[:j]), "block shape is not contiguous")
        v["grid"] = [-(-x // y) for x, y in zip(n, b)]
        v["nblocks"], v["first"], v["bytes"] = math.prod(v["grid"]), self.nblocks, es * math.prod(n)
        v["inner"], v["cut"], v["k"] = es * math.prod(n[j + 1:]), *((n[j], b[j]) if n else (1, 1))
        need(v["k"] * v["inner"] <= MAXBLOCK and uint(v["chain"]) < len(self.plan["chains"]), "block size or chain")
        self.nblocks += v["nblocks"]

    def compare(self, header):
        """Compares the plan with the netCDF header."""
        length, found = header.length, [(v.type, v.shape, v.segment) for v in header.vars]
        need(length == self.plan["image"]["header"], "another length of the netCDF header")
        for v in self.vars:
            need(v["var"] < len(found), "a variable that the netCDF header does not have")
            seg = tuple(v["segment"][x] for x in ("off", "len", "stride", "count"))
            need((v["type"], v["shape"], seg) == found[v["var"]], f"variable {v['path']} differs from the netCDF header")
        seen = {v["var"] for v in self.vars}                                            # "Pools"
        for p in self.pools:
            need(all(i < len(found) for i in p["vars"]), "a variable that the netCDF header does not have")
            need(len(seen) + len(p["vars"]) == len(seen | set(p["vars"])), "a variable is named twice")
            seen |= set(p["vars"])
            need(all(found[i][0] == p["type"] for i in p["vars"]), "a pool of another type than its variables")
            p["segments"] = [found[i][2] for i in p["vars"]]
            need(all(n * count > 0 for _, n, _, count in p["segments"]), "a variable without a byte in a pool")
            need(sum(n * count for _, n, _, count in p["segments"]) == p["bytes"], "a pool and its variables differ in length")
        self.check_segments([tuple(v["segment"][x] for x in ("off", "len", "stride", "count")) for v in self.vars]
                            + [s for p in self.pools for s in p["segments"]])

    def check_segments(self, segments):
        """"Checks" of the permutation."""
        header, size, recs, fixed = self.plan["image"]["header"], self.plan["image"]["size"], [], []
        for off, length, stride, count in segments:
            if length * count:
                need(stride == 0 if count <= 1 else stride >= length, "stride")
                need(header <= off and off + stride * (count - 1) + length <= size, "segment outside of the image")
                (recs if count > 1 else fixed).append((off, off + length, stride, count))
        if recs:
            need(len({r[2:] for r in recs}) == 1, "records differ")
            start, end, (_, _, stride, count) = min(r[0] for r in recs), max(r[1] for r in recs), recs[0]
            need(end - start <= stride, "records overlap")
            fixed.append((start, end + stride * (count - 1), stride, count))
        for runs in sorted(recs), sorted(fixed):
            need(all(a[1] <= b[0] for a, b in zip(runs, runs[1:])), "segments overlap")
