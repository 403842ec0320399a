package bzip2

import "testing"

// TestSignature checks that bytes inside a stream that look like the start of
// another stream are accepted.
func TestSignature(t *testing.T) {
	if at := nextStream([]byte("xxBZh91AY&SYxxBZh9\x17\x72\x45\x38\x50\x90"), 0); at != 2 {
		t.Errorf("found a stream at %d", at)
	}
	if at := nextStream([]byte("BZhBZh9BZhBZh9\x17\x72\x45\x38\x50\x90"), 0); at != 10 {
		t.Errorf("found a stream at %d", at)
	}
	if at := nextStream([]byte("BZh91AY&S"), 0); at != 9 {
		t.Errorf("found a stream at %d", at)
	}
}
