package formats

// SetPieces sets the amounts held in memory, for tests. Zeros change nothing.
func SetPieces(piece, batch, rows int64) (undo func()) {
	p, b, r := pieceLen, batchLen, rowsAtOnce
	if piece != 0 {
		pieceLen, batchLen, rowsAtOnce = piece, batch, rows
	}
	return func() { pieceLen, batchLen, rowsAtOnce = p, b, r }
}

// KeepsLast reports whether the last dimension is kept.
func (x *Values) KeepsLast() bool { return len(x.axes) > 0 && x.axes[len(x.axes)-1].keep }
