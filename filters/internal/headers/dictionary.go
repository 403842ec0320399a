package headers

import _ "embed"

// dictionary1 is made from words.txt by gen. It is part of the format and never changes.
//
//go:embed dictionary1.bin
var dictionary1 string

// Numbers of dictionaries.
const (
	None   = 0 // without a dictionary
	Latest = 1
)

// Known reports whether there is a dictionary of that number.
func Known(number uint32) bool { return number <= Latest }

func dictionary(number uint32) string {
	if number == None {
		return ""
	}
	return dictionary1
}
