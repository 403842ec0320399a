package cdlgen

import "strconv"

// Kinds of tokens. Punctuation is its own character.
const (
	tokEnd     = -1
	tokName    = 'a' // text is the name without escapes, and bare is set if it had none
	tokNumber  = '0' // text is set if it can also be a name, such as NaN
	tokText    = '"' // the quote; readString reads the rest
	tokLetter  = '\''
	tokSection = '#' // "data:" and so on; text is the word
)

// token is a piece of the text.
type token struct {
	kind int
	text string
	bare bool
	num  constant
	place
}

// words for the kinds of tokens, for messages.
func (t *token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end of the text"
	case tokName:
		return quoted(t.text)
	case tokNumber:
		return "a number"
	case tokText:
		return "text"
	case tokLetter:
		return "a character"
	case tokSection:
		return quoted(t.text + ":")
	}
	return strconv.QuoteRune(rune(t.kind))
}
