package retry

import (
	"strings"
	"unicode/utf8"
)

// MaxReasonBytes bounds each text that comes from elsewhere: error texts reach
// megabytes.
const MaxReasonBytes = 256

// bounded makes text valid UTF-8 and cuts it to MaxReasonBytes at a rune.
func bounded(text string) string {
	// Cut twice: what replaces an invalid byte is longer than it, and megabytes
	// need not be looked through for the sake of their beginning.
	return cut(strings.ToValidUTF8(cut(text), "\uFFFD"))
}

func cut(text string) string {
	if len(text) <= MaxReasonBytes {
		return text
	}
	end := MaxReasonBytes
	for end > MaxReasonBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
