package cdlgen

import (
	"fmt"
	"strconv"
	"strings"
)

// SyntaxError reports an error in the text.
type SyntaxError struct {
	Line, Col int // of the character at fault, from 1
	Msg       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("cdl: line %d, column %d: %s", e.Line, e.Col, e.Msg)
}

// numberError is the reason why something is not a number.
type numberError string

func (e numberError) Error() string { return string(e) }

// errValue is the error for a wrong value of a special attribute.
type errValue string

func (e errValue) Error() string { return "expected " + string(e) }

// quoted quotes a piece of the text for a message, and shortens it.
func quoted(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}

// trimPackage returns the text of an error without the name of its package.
func trimPackage(err error) string {
	_, msg, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err.Error()
	}
	return msg
}
