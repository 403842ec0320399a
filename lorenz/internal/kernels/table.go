package kernels

// TableBits is the length of the longest code word of a Huffman code.
const TableBits = 11

// Table maps the next bits of a string to a symbol (high byte) and the bits of its code
// word (low byte).
type Table = [1 << TableBits]uint16

// Apart is the distance of strings that are decoded side by side, in symbols. It is the length of a
// chunk in docs/LORENZ.md, section 8.
const Apart = 512
