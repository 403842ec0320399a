"""A decoder of zstd in plain Python, for where no library for it is installed. A megabyte takes it a second or two, and a netCDF
header, which is all that zstd compresses in most archives, milliseconds. The names are those of RFC 8878."""

LL_BASE = [*range(16), 16, 18, 20, 22, 24, 28, 32, 40, 48, *(1 << n for n in range(6, 17))]
LL_BITS = [0] * 16 + [1, 1, 1, 1, 2, 2, 3, 3, 4, *range(6, 17)]
ML_BASE = [*range(3, 35), 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, *((1 << n) + 3 for n in range(7, 17))]
ML_BITS = [0] * 32 + [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, *range(7, 17)]
# Of literal lengths, offsets and match lengths: the largest code, the largest accuracy, and the default distribution with its.
TABLES = (
    (35, 9, 6, [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    (31, 8, 5, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    (52, 9, 6, [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7),
)
BLOCK = 1 << 17  # the most bytes that a block decodes to


class Backward:
    """Reads bits from the end of data, where a bit of 1 marks the first one."""

    def __init__(self, data):
        if not data or not data[-1]:
            raise ValueError("zstd: expected a bit that marks the end of the bits, found none")
        self.data = bytes(8) + data  # zeros are before the first bit
        self.left = len(data) * 8 - 9 + data[-1].bit_length()

    def peek(self, n):
        """Returns the next n bits, at most 56."""
        if self.left <= 0:
            return 0
        end = (self.left + 7) >> 3
        word = int.from_bytes(self.data[end:end + 8], "little")
        return word >> (self.left - n - end * 8 + 64) & (1 << n) - 1

    def read(self, n):
        value = self.peek(n)
        self.left -= n
        return value


def distribution(data, most, accuracy):
    """Returns a distribution of codes up to most, its accuracy, and how many bytes it takes."""
    bits, at = int.from_bytes(data[:512], "little"), 4  # none is longer
    log = (bits & 15) + 5
    if log > accuracy:
        raise ValueError(f"zstd: expected an accuracy of at most {accuracy}, found {log}")
    counts, left = [], 1 << log
    while left > 0:
        n = (left + 1).bit_length()
        value, low, spare = bits >> at & (1 << n) - 1, (1 << n - 1) - 1, (1 << n) - 2 - left
        at += n
        if value & low < spare:
            at, value = at - 1, value & low
        elif value > low:
            value -= spare
        counts.append(value - 1)
        left -= abs(value - 1)
        while value == 1:
            zeros = bits >> at & 3
            at += 2
            counts += [0] * zeros
            if zeros < 3 or len(counts) > most:
                break
        if len(counts) > most + 1:
            break
    if left or len(counts) > most + 1 or at > len(data) * 8:
        raise ValueError("zstd: malformed distribution")
    return counts, log, (at + 7) // 8


def states(counts, log):
    """Returns the decoding table of a distribution: for each state its code, and the number of bits and what to add to them
    for the next state."""
    size = 1 << log
    high, codes, at = size, [0] * size, 0
    for code, n in enumerate(counts):
        if n < 0:
            high -= 1
            codes[high] = code
    for code, n in enumerate(counts):
        for _ in range(n):
            codes[at] = code
            at = (at + (size >> 1) + (size >> 3) + 3) & size - 1
            while at >= high:
                at = (at + (size >> 1) + (size >> 3) + 3) & size - 1
    following, table = [abs(n) for n in counts], []
    for code in codes:
        n = following[code]
        following[code] += 1
        bits = log + 1 - n.bit_length()
        table.append((code, bits, (n << bits) - size))
    return table


DEFAULTS = [states(counts, log) for _, _, log, counts in TABLES]


def weights(data):
    """Returns the weights of a description of a Huffman code but the last, and how many bytes it takes."""
    head = data[0]
    if head >= 128:
        n = head - 127
        packed = data[1:1 + (n + 1) // 2]
        if len(packed) < (n + 1) // 2:
            raise ValueError("zstd: the description of a Huffman code is cut off")
        return [w for b in packed for w in (b >> 4, b & 15)][:n], 1 + len(packed)
    if len(data) <= head:
        raise ValueError("zstd: the description of a Huffman code is cut off")
    counts, log, used = distribution(data[1:1 + head], 255, 6)
    table, bits, found = states(counts, log), Backward(data[1 + used:1 + head]), []
    now, other = bits.read(log), bits.read(log)
    while len(found) < 255:
        code, n, base = table[now]
        found.append(code)
        now, other = other, base + bits.read(n)
        if bits.left < 0:
            return found + [table[now][0]], 1 + head
    raise ValueError("zstd: expected at most 255 weights, found more")


def huffman(data):
    """Returns the table of a Huffman code: for each sequence of bits the byte and its length; the length of the sequences; and
    how many bytes the description takes."""
    found, used = weights(data)
    total = sum(1 << w >> 1 for w in found)
    log = total.bit_length()
    rest = (1 << log) - total
    if not 0 < log <= 11 or rest & rest - 1 or len(found) > 255 or max(found) > log:
        raise ValueError("zstd: malformed Huffman code")
    found.append(rest.bit_length())
    table = []
    for w in range(1, log + 1):
        for byte, of in enumerate(found):
            if of == w:
                table += [(byte, log + 1 - w)] * (1 << w - 1)
    return table, log, used


def symbols(data, code, count, out):
    """Decodes count bytes."""
    table, log, _ = code
    bits = Backward(data)
    for _ in range(count):
        byte, n = table[bits.peek(log)]
        bits.left -= n
        out.append(byte)
    if bits.left:
        raise ValueError("zstd: literals do not end with their bits")


def literals(data, code):
    """Returns the literals of a block, how many bytes they take in it, and the Huffman code for the next block."""
    kind, form = data[0] & 3, data[0] >> 2 & 3
    if kind < 2:
        head, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[form]
        size = int.from_bytes(data[:head], "little") >> shift
        found = data[head:head + size] if kind == 0 else data[head:head + 1] * size
        if size > BLOCK or len(found) < size:
            raise ValueError("zstd: literals are cut off")
        return found, head + (size if kind == 0 else 1), code
    head, width = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    both = int.from_bytes(data[:head], "little") >> 4
    size, length = both & (1 << width) - 1, both >> width
    body = data[head:head + length]
    if size > BLOCK or len(body) < length or not body:
        raise ValueError("zstd: literals are cut off")
    if kind == 2:
        code = huffman(body)
        body = body[code[2]:]
    elif code is None:
        raise ValueError("zstd: the first block has no Huffman code")
    out = bytearray()
    if form == 0:
        symbols(body, code, size, out)
    else:
        each, at = (size + 3) // 4, 6
        for i in range(3):
            n = int.from_bytes(body[2 * i:2 * i + 2], "little")
            symbols(body[at:at + n], code, each, out)
            at += n
        symbols(body[at:], code, size - 3 * each, out)
    return out, head + length, code


class Decoder:
    """What blocks of a frame leave for later ones."""

    def __init__(self):
        self.out, self.code, self.tables, self.recent = bytearray(), None, [None] * 3, [1, 4, 8]

    def block(self, data):
        found, at, self.code = literals(data, self.code)
        count, at = data[at], at + 1
        if count == 255:
            count, at = int.from_bytes(data[at:at + 2], "little") + 0x7F00, at + 2
        elif count >= 128:
            count, at = (count - 128 << 8) + data[at], at + 1
        end, used = len(self.out) + BLOCK, 0
        if count:
            modes, at = data[at], at + 1
            if modes & 3:
                raise ValueError(f"zstd: expected modes without reserved bits, found {modes:#x}")
            for i in range(3):
                at = self.table(i, modes >> 6 - 2 * i & 3, data, at)
            used = self.sequences(count, Backward(data[at:]), found, end)
        elif at != len(data):
            raise ValueError("zstd: a block goes on after its end")
        self.out += found[used:]
        if len(self.out) > end:
            raise ValueError("zstd: a block is too large")

    def table(self, i, mode, data, at):
        """Sets one of the three tables, from its description at a place in data. Returns the place after that."""
        most, accuracy, log, _ = TABLES[i]
        if mode == 0:
            self.tables[i] = DEFAULTS[i], log
        elif mode == 1:
            if data[at] > most:
                raise ValueError(f"zstd: expected a code of at most {most}, found {data[at]}")
            self.tables[i] = [(data[at], 0, 0)], 0
            at += 1
        elif mode == 2:
            counts, log, used = distribution(data[at:], most, accuracy)
            self.tables[i] = states(counts, log), log
            at += used
        elif self.tables[i] is None:
            raise ValueError("zstd: the first block has no table")
        return at

    def sequences(self, count, bits, found, end):
        """Copies literals and what was decoded before. Returns how many literals are used."""
        out, recent, used = self.out, self.recent, 0
        (lls, ll_log), (ofs, of_log), (mls, ml_log) = self.tables
        ll, of, ml = bits.read(ll_log), bits.read(of_log), bits.read(ml_log)
        for left in range(count - 1, -1, -1):
            (ll_code, ll_bits, ll_next), (of_code, of_bits, of_next), (ml_code, ml_bits, ml_next) = lls[ll], ofs[of], mls[ml]
            value = (1 << of_code) + bits.read(of_code)
            length = ML_BASE[ml_code] + bits.read(ML_BITS[ml_code])
            literal = LL_BASE[ll_code] + bits.read(LL_BITS[ll_code])
            if left:
                ll, ml, of = ll_next + bits.read(ll_bits), ml_next + bits.read(ml_bits), of_next + bits.read(of_bits)
            if bits.left < 0:
                raise ValueError("zstd: sequences are cut off")
            if value > 3:
                offset = value - 3
                recent.insert(0, offset)
            else:
                which = value - 1 + (literal == 0)
                offset = recent[0] - 1 if which == 3 else recent[which]
                recent.insert(0, recent.pop(which) if which < 3 else offset)
            del recent[3:]
            out += found[used:used + literal]
            used += literal
            if used > len(found) or not 0 < offset <= len(out) or len(out) + length > end:
                raise ValueError("zstd: a sequence names bytes that are not there")
            start = len(out) - offset
            piece = out[start:start + length]
            out += (piece * (length // len(piece) + 1))[:length]
        if bits.left:
            raise ValueError("zstd: sequences do not end with their bits")
        return used


def decompress(data, size):
    """Decodes a frame to size bytes. It raises ValueError or IndexError for damage."""
    flags = data[4]
    if data[:4] != b"\x28\xb5\x2f\xfd" or flags & 0b1111:
        raise ValueError("zstd: expected a frame without dictionary and checksum")
    single = flags >> 5 & 1
    at = 6 - single + (single, 2, 4, 8)[flags >> 6]
    decoder, last = Decoder(), 0
    while not last:
        if len(data) < at + 3:
            raise ValueError("zstd: the last block is missing")
        head = int.from_bytes(data[at:at + 3], "little")
        at += 3
        last, kind, n = head & 1, head >> 1 & 3, head >> 3
        stored = 1 if kind == 1 else n
        body = data[at:at + stored]
        at += stored
        if kind == 3 or n > BLOCK or len(body) < stored:
            raise ValueError("zstd: malformed block")
        if kind == 2:
            decoder.block(body)
        else:
            decoder.out += body if kind == 0 else body * n
        if len(decoder.out) > size:
            break
    if len(decoder.out) != size or at != len(data):
        raise ValueError(f"zstd: expected {size} bytes in a frame, found {len(decoder.out)}")
    return bytes(decoder.out)
