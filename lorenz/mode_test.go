package lorenz

import "testing"

func TestModeName(t *testing.T) {
	for mode, want := range map[byte]string{0: "raw", modeGroups: "groups", modeAdaptive: "adaptive", modeReferences: "references", modeText: "text", modeParts: "parts", 8: "unknown", 255: "unknown"} {
		if got := ModeName(mode); got != want {
			t.Errorf("mode %d: found %q, expected %q", mode, got, want)
		}
	}
}
